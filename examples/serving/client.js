'use strict';
// A client of a policy server in JavaScript (docs/serving.md), without dependencies.
//
//   ludus serve runs/nim --port 5555
//   node client.js 127.0.0.1 5555 nim [TOKEN]
//
// It reads the game from WELCOME, asks for random observations with all actions legal, and prints one JSON line per
// decision. Replace `observe` with the observations of your own program.

const net = require('node:net');
const {randomBytes} = require('node:crypto');

const HELLO = 1;
const WELCOME = 2;
const ASK = 3;
const ANSWER = 4;
const REFUSED = 5;
const BYE = 8;
const MAGIC = 0x534c;
const VERSION = 1;
const DEADLINE_MS = 10_000;

const padded = size => Math.ceil(size / 8) * 8;

function frame(kind, body) {
	const header = Buffer.alloc(8);
	header.writeUInt16LE(MAGIC, 0);
	header.writeUInt8(VERSION, 2);
	header.writeUInt8(kind, 3);
	header.writeUInt32LE(body.length, 4);
	return Buffer.concat([header, body]);
}

/** The bytes of columns, each padded with zeros to a multiple of 8. The last one, the observations, has no padding. */
function columns(...buffers) {
	return Buffer.concat(buffers.map((buffer, at) =>
		at === buffers.length - 1 ? buffer : Buffer.concat([buffer, Buffer.alloc(padded(buffer.length) - buffer.length)])));
}

/** An ASK for rows [{row, number, opens, legal: [bool per action], obs: Buffer}]. */
function encodeAsk(batch, rows, actions) {
	const n = rows.length;
	const mask = Math.ceil(actions / 8);
	const [row, number, opens] = [Buffer.alloc(4 * n), Buffer.alloc(4 * n), Buffer.alloc(n)];
	const legal = Buffer.alloc(n * mask);
	rows.forEach((each, at) => {
		row.writeUInt32LE(each.row, 4 * at);
		number.writeUInt32LE(each.number, 4 * at);
		opens[at] = each.opens ? 1 : 0;
		each.legal.forEach((isLegal, action) => {
			if (isLegal) legal[at * mask + (action >> 3)] |= 1 << (action & 7);
		});
	});
	const counts = Buffer.alloc(8);
	counts.writeUInt32LE(n, 0);
	counts.writeUInt32LE(batch, 4);
	return frame(ASK, columns(counts, row, number, opens, legal, Buffer.concat(rows.map(each => each.obs))));
}

function decodeAnswer(body) {
	const n = body.readUInt32LE(0);
	const column = padded(4 * n);
	const answer = {batch: body.readUInt32LE(4), version: Number(body.readBigUInt64LE(8)), rows: []};
	for (let at = 0; at < n; at++) {
		const place = 16 + 4 * at;
		answer.rows.push({
			row: body.readUInt32LE(place),
			number: body.readUInt32LE(place + column),
			action: body.readInt32LE(place + 2 * column),
			logp: body.readFloatLE(place + 3 * column),
			value: body.readFloatLE(place + 4 * column),
		});
	}
	return answer;
}

class PolicyClient {
	/** Connect and say HELLO. `this.policy` describes the policy and its game afterwards. */
	static async connect(host, port, policy, token = '') {
		const client = new PolicyClient();
		client.socket = net.connect(port, host);
		client.socket.setNoDelay(true);
		client.received = Buffer.alloc(0);
		client.waiting = [];
		client.batch = 0;
		client.socket.on('data', data => client.read(data));
		for (const event of ['error', 'close']) client.socket.on(event, error => client.fail(error));
		const hello = {protocol: VERSION, client: randomBytes(12).toString('hex'), token, policy};
		client.socket.write(frame(HELLO, Buffer.from(JSON.stringify(hello))));
		const [kind, body] = await client.next();
		if (kind !== WELCOME) throw new Error(`expected WELCOME, got kind ${kind}`);
		client.policy = JSON.parse(body).policy;
		return client;
	}

	/** Send rows that need an action, and wait for their actions. */
	async act(rows) {
		this.batch = (this.batch + 1) % 2 ** 32;
		this.socket.write(encodeAsk(this.batch, rows, this.policy.game.actions));
		const [kind, body] = await this.next();
		if (kind !== ANSWER) throw new Error(`expected ANSWER, got kind ${kind}`);
		const answer = decodeAnswer(body);
		const isOurs = answer.batch === this.batch && answer.rows.length === rows.length &&
			answer.rows.every((each, at) => each.row === rows[at].row && each.number === rows[at].number);
		if (!isOurs) throw new Error('the answer is for other decisions');
		return answer;
	}

	/** Leave, so that the server frees the rows at once. */
	close() {
		this.socket.removeAllListeners('close');
		this.socket.end(frame(BYE, Buffer.alloc(0)));
	}

	read(data) {
		this.received = Buffer.concat([this.received, data]);
		while (this.received.length >= 8) {
			const end = 8 + this.received.readUInt32LE(4);
			if (this.received.length < end) return;
			const kind = this.received.readUInt8(3);
			const body = this.received.subarray(8, end);
			this.received = this.received.subarray(end);
			const waiting = this.waiting.shift();
			if (kind === REFUSED) {
				const refusal = JSON.parse(body);
				waiting?.reject(new Error(`${refusal.code}: ${refusal.message}`));
			} else waiting?.resolve([kind, body]);
		}
	}

	next() {
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => reject(new Error(`no answer within ${DEADLINE_MS} ms`)), DEADLINE_MS);
			const settle = done => value => {
				clearTimeout(timer);
				done(value);
			};
			this.waiting.push({resolve: settle(resolve), reject: settle(reject)});
		});
	}

	fail(error) {
		for (const waiting of this.waiting.splice(0)) waiting.reject(error || new Error('the server closed the connection'));
	}
}

/** An observation: here, the first item of the first float32 leaf of each row is its own number. */
function observe(game, value) {
	const obs = Buffer.alloc(game.row_bytes);
	const leaf = game.leaves.find(([, dtype]) => dtype === 'float32');
	if (leaf) obs.writeFloatLE(value, leaf[3]);
	return obs;
}

async function main([host, port, policy, token]) {
	const client = await PolicyClient.connect(host, Number(port), policy, token);
	const {game} = client.policy;
	for (let number = 0; number < 3; number++) {
		const rows = [0, 1, 2].map(row => ({
			row, number, opens: number === 0, legal: new Array(game.actions).fill(true), obs: observe(game, row),
		}));
		console.log(JSON.stringify(await client.act(rows)));
	}
	client.close();
}

main(process.argv.slice(2)).catch(error => {
	console.error(error.message);
	process.exitCode = 1;
});
