'use strict';
// Whatever a server sends costs at most a match or the connection, never the host.
// Quick as it stands; FUZZ_RUNS=100000 FUZZ_SEED=7 node --test tests/js/fuzz.test.js tries more.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { mock, test } = require('node:test');
const { HOST, HOSTING } = require('./simulator.js');
const {
	Draw, RUNS, SEED, fuzz, spoilBytes, spoilFields, spoilJson, spoilLine, spoilLines, spoilText,
} = require('./fuzzing.js');
const { actionsOf, decoded } = require('./spoken.js');
const { transcripts } = require('./transcripts.js');
const { FrameReader: HostReader, HostError, ProtocolError } = require(path.join(HOSTING, 'frames.js'));
const { Connection, parseMessage } = require(path.join(HOST, 'server', 'connection.js'));
const { whyUnlisted } = require(path.join(HOST, 'server', 'formats.js'));
const { ServerHost } = require(path.join(HOST, 'server', 'host.js'));
const { isTalk, mayBeMeant } = require(path.join(HOST, 'server', 'lines.js'));
const { RequestReader } = require(path.join(HOST, 'server', 'requests.js'));
const { PlayHost } = require(path.join(HOST, 'play', 'host.js'));
const { Unknown, kindOf } = require(path.join(HOST, 'play', 'messages.js'));
const { BrokenFrame, FrameReader, OPCODE } = require(path.join(HOST, 'websocket', 'frames.js'));
const { headEnd, whyRefused } = require(path.join(HOST, 'websocket', 'handshake.js'));

const RECORDED = path.join(__dirname, '../data/showdown-requests');
const REQUESTS = fs.readdirSync(RECORDED).filter(name => name !== 'expected.json')
	.map(name => JSON.parse(fs.readFileSync(path.join(RECORDED, name), 'utf8')).request);
const FORMATS = ['gen1randombattle', 'gen9randomdoublesbattle', ...(RUNS ? ['gen9randombattle'] : [])];
const BATTLES = new Map(FORMATS.map(format => [format, [1, 2].map(seed => transcripts(format, seed))]));
const MOST_BYTES = 4096; // of a WebSocket's message

// -- bytes

/** A frame as a server writes it. */
function frame(draw) {
	const opcode = draw.of([...Object.values(OPCODE), OPCODE.TEXT]);
	const length = draw.of([0, 1, 2, 125, 126, 300]);
	const body = Buffer.alloc(length, 'é');
	const head = length < 126 ? [length] : [126, length >> 8, length & 255];
	return Buffer.concat([Buffer.from([(draw.chance(0.8) ? 0x80 : 0) | opcode, ...head]), body]);
}

/** What a reader makes of bytes that come in these pieces. */
function readFrames(pieces) {
	const heard = [];
	const reader = new FrameReader({
		message: data => heard.push(['message', String(data)]),
		ping: payload => heard.push(['ping', payload.toString('hex')]),
		close: (code, reason) => heard.push(['close', code, reason]),
	}, MOST_BYTES);
	try {
		for (const piece of pieces) {
			reader.push(piece);
			assert.ok(reader.held.length + reader.parts.length <= 2 * MOST_BYTES + 100, 'it keeps more than a message');
		}
	} catch (error) {
		if (!(error instanceof BrokenFrame)) throw error;
		heard.push(['broken', error.code, error.message]);
	}
	return heard;
}

function inPieces(draw, bytes) {
	const pieces = [];
	for (let at = 0; at < bytes.length;) {
		const end = at + 1 + draw.below(draw.chance(0.5) ? 4 : 200);
		pieces.push(Buffer.from(bytes.subarray(at, end)));
		at = end;
	}
	return pieces;
}

test('frames of a WebSocket mean the same in whatever pieces they come, or break it', () => fuzz(1000, draw => {
	const bytes = spoilBytes(draw, Buffer.concat(Array.from({ length: 1 + draw.below(6) }, () => frame(draw))));
	assert.deepEqual(readFrames(inPieces(draw, bytes)), readFrames([bytes]));
}));

test('the answer to a request for a WebSocket is understood or refused', () => fuzz(1000, draw => {
	const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Sec-WebSocket-Accept: x'];
	const bytes = spoilBytes(draw, Buffer.from(`${lines.join('\r\n')}\r\n\r\n`));
	const end = headEnd(bytes);
	if (end >= 0) assert.equal(typeof whyRefused(bytes.toString('latin1', 0, end), 'key'), 'string');
}));

test('frames of a fleet are read, waited for or refused', () => fuzz(1000, draw => {
	const body = Buffer.alloc(draw.below(40));
	const head = Buffer.from([0x4c, 0x55, 2, 1 + draw.below(7), body.length, 0, 0, 0]);
	const reader = new HostReader(16);
	try {
		for (const piece of inPieces(draw, spoilBytes(draw, Buffer.concat([head, body, head, body])))) {
			reader.push(piece);
			while (reader.next());
		}
		reader.close();
	} catch (error) {
		assert.ok(error instanceof ProtocolError, error.stack);
	}
}));

// -- messages

test('a request is what JSON says it is, or a fault of its match', () => {
	const reader = new RequestReader(); // one for all: it remembers what came before
	fuzz(500, draw => {
		const whole = { ...draw.of(REQUESTS), rqid: draw.below(100) };
		const isNested = draw.chance(0.02);
		const text = isNested ? '[{"pokemon":'.repeat(50_000) :
			draw.chance(0.5) ? JSON.stringify(spoilJson(draw, whole)) : spoilText(draw, JSON.stringify(whole));
		let request;
		try {
			request = reader.read(text);
		} catch (error) {
			assert.ok(error instanceof HostError && error.kind === 'match', error.stack);
			assert.ok(error.message.length < 200);
			return;
		}
		assert.deepEqual(request, JSON.parse(text));
	});
});

test('lines, kinds and rooms are told apart whatever they hold', () => {
	const told = [];
	const unknown = new Unknown(event => told.push(event));
	const lines = [...BATTLES.values()].flat(3).flat();
	fuzz(2000, draw => {
		const line = draw.chance(0.5) ? spoilFields(draw, draw.of(lines)) : spoilText(draw, draw.of(lines));
		assert.equal(typeof isTalk(line), 'boolean');
		assert.equal(typeof mayBeMeant(line), 'boolean');
		assert.equal(typeof kindOf(line), 'string');
		unknown.see(line, draw.chance(0.5));
		const { room, lines: parts } = parseMessage(draw.chance(0.5) ? line : `>${line}`);
		assert.ok(typeof room === 'string' && parts.every(part => typeof part === 'string'));
		const listed = spoilText(draw, '|formats|,1|S/V|[Gen 1] OU,e|[Gen 9] OU,e');
		const why = whyUnlisted({ id: 'gen1ou', searchShow: true }, listed);
		assert.ok(why === null || typeof why === 'string');
	});
	assert.ok(told.length <= 100);
	assert.ok(told.every(({ kind }) => kind.length <= 40));
});

// -- hosts

/** A server that lets everybody log in at once. */
class Socket {
	static open = [];

	constructor() {
		Socket.open.push(this);
		this.name = '';
		queueMicrotask(() => this.say('|challstr|4|abc'));
	}

	send(text) {
		const found = /^\|\/trn (.*),0,/.exec(text);
		if (!found) return;
		[, this.name] = found;
		queueMicrotask(() => this.say(`|updateuser| ${this.name}|1|1|{}`));
	}

	say(data) {
		this.onmessage?.({ data });
	}

	close() {
		Socket.open = Socket.open.filter(socket => socket !== this);
	}
}

/** A host whose fleet answers every row; `ended` counts what came of its matches. */
class Driven {
	constructor(Host, options) {
		this.ended = { ENDING: 0, ERROR: 0, refused: 0, dropped: 0 };
		this.mistake = null; // that would have ended the host
		this.draw = new Draw(SEED);
		this.rows = [];
		this.host = new Host(process.env.LUDUS_TEST_SIMULATOR, pieces => this.#collect(pieces), text => this.#note(text));
		this.host.guard = act => this.#guard(act);
		this.message = { protocol: 2, matches: 2, seed: 9, schedule: null, keep_log: true, options };
	}

	async start() {
		await this.host.configure(Buffer.from(JSON.stringify(this.message)));
		this.host.faultsAllowed = Infinity; // the fleet would start another
	}

	#note(text) {
		if (text.includes('cannot be dealt with')) this.ended.dropped++;
		if (process.env.FUZZ_SHOW && /cannot be dealt|\w+Error: /.test(text)) console.error(text.slice(0, 600));
		const isForged = text.split('\n').some(line => line.startsWith('@') && !line.startsWith('@ {"event":'));
		if (isForged) this.mistake ??= new Error(`the log has a forged line: ${text}`);
	}

	/** As a host leaves: refused by the server, or by a mistake, which is what these tests look for. */
	#guard(act) {
		try {
			act();
		} catch (error) {
			if (error instanceof HostError && error.kind === 'configuration') this.ended.refused++;
			else this.mistake ??= error;
		}
	}

	#collect(pieces) {
		const reader = new HostReader();
		for (const piece of pieces) reader.push(piece);
		for (let frame = reader.next(); frame; frame = reader.next()) {
			const said = decoded(frame, this.host);
			if (said.frame in this.ended) this.ended[said.frame]++;
			if (said.frame === 'ENDING') {
				const numbers = [...said.score, ...said.reward, ...Object.values(said.facts)];
				const words = JSON.stringify({ ...said, log: '' });
				if (!numbers.every(Number.isFinite)) this.mistake ??= new Error(`an ending has no numbers: ${words}`);
			}
			this.rows.push(...said.rows ?? []);
		}
	}

	/** Let the host send what is ready, and answer it. */
	async turn() {
		await new Promise(resolve => setImmediate(resolve));
		mock.timers.tick(10);
		const rows = this.rows.splice(0).filter(({ row, match }) => this.host.slots[row >> 1]?.number === match);
		if (rows.length > 0) this.host.act(actionsOf(rows, legal => this.draw.of(legal)));
		if (this.mistake !== null) throw this.mistake;
	}
}

/** Play spoiled battles; `greet(socket, room)` does what makes the host expect one in that room. */
async function playSpoiled(Host, format, options, battles, greet) {
	const original = Connection.Socket;
	Connection.Socket = Socket;
	Socket.open = [];
	mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
	const driven = new Driven(Host, { format, feature_set: 'full', name: 'Agent', ...options });
	const listeners = process.listeners('SIGTERM');
	try {
		await driven.start();
		for (let number = 0; number < (RUNS || battles); number++) {
			const draw = new Draw(SEED * 7919 + number);
			try {
				await playOne(driven, draw, draw.of(BATTLES.get(format)), `battle-${format}-${number}`, greet);
			} catch (error) {
				throw new Error(`FUZZ_SEED=${SEED}, ${format}, battle ${number}: ${error.stack}`);
			}
		}
		if (RUNS) console.error(format, JSON.stringify(driven.ended));
		return driven.ended;
	} finally {
		for (const each of process.listeners('SIGTERM')) if (!listeners.includes(each)) process.off('SIGTERM', each);
		clearInterval(driven.host.watch);
		mock.timers.reset();
		Connection.Socket = original;
	}
}

async function playOne(driven, draw, told, room, greet) {
	mock.timers.tick(draw.of([0, 1000, 20_000])); // lost connections are made again, and what is overdue is given up
	await driven.turn();
	await greet(room, draw);
	await driven.turn();
	const share = draw.of([0, 0.05, 0.2]); // of messages with faults
	for (let i = 0; i < told[0].length; i++) {
		for (const [seat, socket] of Socket.open.entries()) {
			const lines = told[seat % 2][i] ?? [];
			const said = draw.chance(share) ? spoilLines(draw, spoilLines(draw, lines)) : lines;
			socket.say(`>${room}\n${said.join('\n')}`);
			if (draw.chance(share / 4)) socket.say(spoilText(draw, `>${room}\n${lines.join('\n')}`));
			if (draw.chance(share / 2)) socket.say(strange(draw, socket.name));
		}
		await driven.turn();
	}
	for (const socket of Socket.open) socket.say(`>${room}\n|t:|9\n|win|Agent`);
	await driven.turn();
}

/** What a server says outside of battles, spoiled. */
function strange(draw, name) {
	const known = [
		`|pm| Stranger| ${name}|/challenge gen1randombattle|gen1randombattle|||`, `|pm| ${name}| ${name}|/error no`,
		'|popup|You are challenging too quickly', `|updateuser| ${name}|1|1|{}`, `|nametaken|${name}|it is taken`,
		'|challstr|4|abc', '|formats|,1|S/V|[Gen 1] OU,e', '|updatechallenges|{"challengesFrom":{}}',
		'|updatesearch|{"searching":[]}', '>', '>lobby',
	];
	return spoilLine(draw, draw.of(known));
}

const strangers = async (room, draw) => {
	const [socket] = Socket.open;
	socket?.say(`|pm| Stranger ${draw.below(9)}| ${socket.name}|/challenge ${room.split('-')[1]}|||`);
};

const twoAccounts = async () => {
	const [one, two] = Socket.open;
	two?.say(`|pm| ${one.name}| ${two.name}|/challenge x|||`);
};

for (const format of FORMATS) {
	test(`a host that plays strangers outlives what a server says in ${format}`, async () => {
		const options = { server: 'ws://x', reconnect_deadline_s: 1e6 };
		const ended = await playSpoiled(PlayHost, format, options, 2, strangers);
		assert.ok(ended.ENDING > 0, JSON.stringify(ended));
	});

	test(`a host with two accounts outlives what a server says in ${format}`, async () => {
		const ended = await playSpoiled(ServerHost, format, { servers: ['ws://x'] }, 2, twoAccounts);
		assert.ok(ended.ENDING > 0, JSON.stringify(ended));
	});
}
