'use strict';
// Logging in to a server, its formats and its requests, without a server: what it says is made up, faults included.

const assert = require('node:assert/strict');
const path = require('node:path');
const { mock, test } = require('node:test');
const { HOST } = require('./simulator.js');
const { FakeSocket, withFakeSockets } = require('./fake_server.js');
const { Connection, inventName, parseMessage, userId } = require(path.join(HOST, 'server', 'connection.js'));
const { listedFormats, whyUnlisted } = require(path.join(HOST, 'server', 'formats.js'));
const { RequestReader } = require(path.join(HOST, 'server', 'requests.js'));

// -- messages and names

test('a message is its room and its lines', () => {
	assert.deepEqual(parseMessage('|challstr|4|abc'), { room: '', lines: ['|challstr|4|abc'] });
	const lines = ['|init|battle', '|j|x'];
	assert.deepEqual(parseMessage('>battle-gen1-1\n|init|battle\n|j|x'), { room: 'battle-gen1-1', lines });
	assert.deepEqual(parseMessage('>battle-gen1-1'), { room: 'battle-gen1-1', lines: [] });
});

test('invented names differ and fit a server', () => {
	const names = Array.from({ length: 50 }, () => inventName('a long wish'));
	assert.equal(new Set(names.map(userId)).size, 50);
	for (const name of names) assert.ok(name.length <= 18);
});

// -- logging in

/** What `act(socket)` does to somebody who logs in: the connection, its socket and how it ended. */
function logIn(act, handlers = {}) {
	return withFakeSockets(async () => {
		mock.timers.enable({ apis: ['setTimeout'] });
		try {
			const connection = new Connection('ws://x', { hear() {}, lost() {}, ...handlers }, async () => 'ECONNREFUSED');
			const opened = connection.open('wish', 1000).then(() => 'in', error => error.message);
			act(FakeSocket.last);
			return { connection, socket: FakeSocket.last, outcome: await opened };
		} finally {
			mock.timers.reset();
		}
	});
}

const lastName = socket => /^\|\/trn (.*),0,$/.exec(socket.sent.at(-1))[1];

test('a name that is taken is replaced by another', async () => {
	const { connection, socket, outcome } = await logIn(socket => {
		socket.say('|updateuser| Guest 1|0|1|{}');
		socket.say('|challstr|4|abc');
		socket.say(`|nametaken|${lastName(socket)}|Someone is already using it.`);
		socket.say(`|updateuser| ${lastName(socket)}|1|1|{}\n|formats|x`);
	});
	assert.equal(outcome, 'in');
	assert.equal(new Set(socket.sent).size, 2);
	assert.equal(connection.id, userId(lastName(socket)));
});

test('who cannot log in is told why', async () => {
	const outcomeOf = async act => (await logIn(act)).outcome;
	const nobody = await outcomeOf(socket => socket.onerror({}));
	assert.match(nobody, /ws:\/\/x: no Showdown server answers there \(ECONNREFUSED\)/);
	assert.match(await outcomeOf(socket => socket.onclose({})), /closed the connection before/);
	assert.match(await outcomeOf(socket => socket.say(new ArrayBuffer(4))), /does not speak the Showdown protocol/);
	assert.match(await outcomeOf(() => mock.timers.tick(1000)), /nobody could log in within 1 s/);
	assert.match(await outcomeOf(socket => {
		socket.say('|challstr|4|abc');
		for (let i = 0; i < 5; i++) socket.say('|nametaken|wish|Names are locked.');
	}), /the server refused the name wish: Names are locked/);
});

test('an open connection passes on text and tells when it is lost', async () => {
	const told = [];
	const { socket } = await logIn(socket => {
		socket.say('|challstr|4|abc');
		socket.say(`|updateuser| ${lastName(socket)}|1|1|{}`);
	}, { hear: message => told.push(message.room), lost: why => told.push(why) });
	socket.say('>battle-1\n|turn|1');
	socket.say(new ArrayBuffer(4));
	socket.onclose({ code: 1006, reason: '' });
	assert.equal(told[0], 'battle-1');
	assert.match(told[1], /the connection of wish \w+ was lost \(1006 no reason given\)/);
	assert.equal(told.length, 2);
});

// -- formats

const LISTED = '|formats|,1|S/V Singles|[Gen 9] Random Battle,f|[Gen 9] OU,e' +
	'|,2|Past|[Gen 1] Random Battle, Blitz,f|[Gen 1] OU,e';

test('the formats of a server are its list without the headings', () => {
	assert.deepEqual(listedFormats(LISTED), ['gen9randombattle', 'gen9ou', 'gen1randombattleblitz', 'gen1ou']);
});

test('a format that is not in the list is refused with the nearest, unless it is one that servers hide', () => {
	const shown = { id: 'gen1randombattle', searchShow: true };
	assert.equal(whyUnlisted(shown, LISTED),
		'the server does not know the format gen1randombattle, ' +
		'did you mean gen9randombattle, gen1randombattleblitz or gen1ou?');
	assert.equal(whyUnlisted({ ...shown, id: 'gen9ou' }, LISTED), null);
	assert.equal(whyUnlisted({ id: 'gen1hidden', searchShow: false }, LISTED), null);
	assert.equal(whyUnlisted(shown, '|formats'), null);
});

test('a flood before the login and endless lists of formats are cut short', async () => {
	const { outcome } = await logIn(socket => {
		for (let i = 0; i < 8; i++) socket.say(`>lobby\n${'x'.repeat(10 ** 7)}`);
	});
	assert.match(outcome, /it says too much before anybody is logged in/);
	const endless = `|formats|,1|S/V|${'x'.repeat(10 ** 7)},e|${'[Gen 1] OU,e|'.repeat(10 ** 5)}`;
	assert.equal(listedFormats(endless).length, 10_000);
});

// -- requests

test('Pokemon that are as they were are the same objects again, also when they have changed places', () => {
	const mon = (name, condition) => ({ ident: `p1: ${name}`, condition, stats: { atk: 1 }, moves: ['surf'] });
	const asked = (rqid, pokemon) => JSON.stringify({ active: [{}], side: { name: 'x', id: 'p1', pokemon }, rqid });
	const reader = new RequestReader();
	const first = reader.read(asked(2, [mon('Mew', '10/10'), mon('Muk', '20/20'), mon('Onix', '30/30')]));
	const text = asked(4, [mon('Onix', '30/30'), mon('Muk', '11/20'), mon('Mew', '10/10')]);
	const second = reader.read(text);
	assert.deepEqual(second, JSON.parse(text));
	const [mew, muk, onix] = first.side.pokemon;
	assert.equal(second.side.pokemon[0], onix);
	assert.notEqual(second.side.pokemon[1], muk);
	assert.equal(second.side.pokemon[2], mew);
	assert.equal(reader.read(asked(6, [])).side.pokemon.length, 0);
});

test('requests are read whatever names are in them and however they are written', () => {
	const names = ['a}]b', 'a}]}b', '},{"ident":', '"pokemon":[{"ident":', '\\', 'é☆', ']', ','];
	const reader = new RequestReader();
	for (const name of [...names, ...names]) {
		const pokemon = [name, 'Mew', name].map(each => ({ ident: `p2: ${each}`, condition: '1/1', moves: [] }));
		const request = { wait: true, side: { id: 'p2', name, pokemon }, rqid: 3 };
		const turned = { rqid: 3, side: { pokemon, id: 'p2' }, noCancel: true };
		for (const said of [request, turned]) {
			for (const text of [JSON.stringify(said), JSON.stringify(said, null, 1)]) assert.deepEqual(reader.read(text), said);
		}
	}
	const ally = { side: { id: 'p1', pokemon: [{ ident: 'p1: x' }] }, ally: { pokemon: [{ ident: 'p3: y' }] }, rqid: 1 };
	assert.deepEqual(reader.read(JSON.stringify(ally)), ally);
});
