'use strict';
// A host made of a game written in JavaScript: what it sends, and what becomes of turns that cannot be.

const assert = require('node:assert/strict');
const path = require('node:path');
const { mock, test } = require('node:test');

const HOSTING = path.join(__dirname, '../../src/ludus/sdk/javascript');
const { FrameReader, KIND, ProtocolError } = require(path.join(HOSTING, 'frames.js'));
const { TurnHost, refuse } = require(path.join(HOSTING, 'serve.js'));
const { Layout } = require(path.join(HOSTING, 'layout.js'));
const { checkedOptions } = require(path.join(HOSTING, 'options.js'));
const { matchSeed } = require(path.join(HOSTING, 'seeds.js'));

const GOOD = {
	seats: [0, 1], obs: [{ turn: [1] }, { turn: [2] }], legal: [[true, false, true], [1, 1, 0]], reward: [0, 1],
};
const OVER = { score: [1, 0], reward: [1, -1], facts: { turns: 2 }, log: 'all of it' };
const NEVER = new Promise(() => {});

/** A host whose matches give these turns, by slot and in order, and the frames it sends. */
async function hosting(turns, message = {}) {
	const said = [];
	const reader = new FrameReader();
	const collect = pieces => {
		for (const piece of pieces) reader.push(piece);
		for (let frame = reader.next(); frame; frame = reader.next()) said.push(decoded(frame));
	};
	let made = 0;
	const newMatch = () => {
		const left = [...turns[made++ % turns.length]];
		const next = () => {
			const turn = left.length > 0 ? left.shift() : GOOD;
			if (turn instanceof Error) throw turn;
			return turn;
		};
		return { start: next, advance: next };
	};
	const spec = { name: 'odd', seats: 2, actions: 3, schema: 1, obs: [['turn', 'float32', [1]]], newMatch };
	const host = new TurnHost({ options: {}, setUp: () => spec }, collect, () => {});
	const whole = { protocol: 2, matches: turns.length, options: {}, seed: 3, schedule: null, ...message };
	await host.configure(Buffer.from(JSON.stringify(whole)));
	return { host, said, take: () => said.splice(0) };
}

function decoded({ kind, body }) {
	if (kind === KIND.ARRIVALS) {
		const n = body.readUInt32LE(0);
		return { rows: Array.from({ length: n }, (_, i) => body.readInt32LE(8 + 4 * i)), done: body[4] === 1 };
	}
	if (kind === KIND.ENDING) return { ending: JSON.parse(body.subarray(8, 8 + body.readUInt32LE(0))) };
	if (kind === KIND.EVENT) return { event: JSON.parse(body) };
	return kind === KIND.ERROR ? { error: JSON.parse(body) } : { hello: JSON.parse(body) };
}

function actions(choices) {
	const rows = Object.keys(choices).map(Number);
	const at = (8 + 4 * rows.length + 7) & ~7;
	const body = Buffer.alloc((at + 4 * rows.length + 7) & ~7);
	body.writeUInt32LE(rows.length, 0);
	rows.forEach((row, i) => {
		body.writeInt32LE(row, 8 + 4 * i);
		body.writeInt32LE(choices[row], at + 4 * i);
	});
	return body;
}

const settled = () => new Promise(resolve => setImmediate(() => setImmediate(resolve)));

test('a game says hello, asks, and ends its match with what its seats earned since they were asked', async () => {
	const { host, take } = await hosting([[GOOD, GOOD, OVER]], { schedule: [[7, 70]], keep_log: true });
	const [{ hello }, opening] = take();
	assert.deepEqual([hello.name, hello.seats, hello.actions, hello.obs], ['odd', 2, 3, [['turn', 'float32', [1]]]]);
	assert.deepEqual(opening, { rows: [0, 1], done: true });
	host.act(actions({ 0: 2 }));
	assert.deepEqual(take(), [{ rows: [], done: true }]);
	host.act(actions({ 1: 0 }));
	assert.deepEqual(take(), [{ rows: [0, 1], done: true }]);
	host.act(actions({ 0: 0, 1: 1 }));
	const [{ ending }, last] = take();
	assert.deepEqual(ending, {
		slot: 0, number: 7, score: [1, 0], reward: [1, -1], truncated: false, seed: 70, facts: { turns: 2 }, log: 'all of it',
	});
	assert.deepEqual(last, { rows: [], done: true });
});

test('terms of the reward are added up as facts, and sent before each turn to whoever asked for events', async () => {
	const turns = [GOOD, { ...GOOD, terms: { goal: [1, 0], touch: [0, 0.5] } }, { ...OVER, terms: { goal: [0.5, -1] } }];
	for (const events of [true, false]) {
		const { host, take } = await hosting([turns], { schedule: [[7, 70]], events });
		take();
		host.act(actions({ 0: 0, 1: 0 }));
		const first = { match: 7, terms: { goal: [1, 0], touch: [0, 0.5] } };
		const asked = { rows: [0, 1], done: true };
		assert.deepEqual(take(), events ? [{ event: { reward_terms: first } }, asked] : [asked]);
		host.act(actions({ 0: 0, 1: 0 }));
		const last = take();
		if (events) assert.deepEqual(last.shift(), { event: { reward_terms: { match: 7, terms: { goal: [0.5, -1] } } } });
		assert.deepEqual(last[0].ending.facts, {
			'reward_goal@0': 1.5, 'reward_goal@1': -1, 'reward_touch@0': 0, 'reward_touch@1': 0.5, turns: 2,
		});
	}
});

test('a match that waits keeps nobody waiting, and its answer open', async () => {
	const { host, take } = await hosting([[GOOD, NEVER], [GOOD, Promise.resolve(GOOD), GOOD]]);
	take();
	mock.timers.enable({ apis: ['setTimeout'] });
	try {
		host.act(actions({ 0: 0, 1: 0, 2: 0, 3: 0 }));
		await settled();
		mock.timers.tick(4);
		assert.deepEqual(take(), [{ rows: [2, 3], done: false }]);
		host.act(actions({ 2: 0, 3: 0 }));
		await settled();
		mock.timers.tick(4);
		assert.deepEqual(take(), [{ rows: [2, 3], done: true }]);
		mock.timers.tick(20_000);
		await settled();
		const [{ error }, rest] = take();
		assert.match(error.message, /returned no turn within 20 s/);
		assert.deepEqual(rest, { rows: [0, 1], done: true });
	} finally {
		mock.timers.reset();
	}
});

test('an answer comes in the parts that were asked for', async () => {
	const { take } = await hosting([[], [], [], []], { parts: 2 });
	assert.deepEqual(take().slice(1), [{ rows: [0, 1, 2, 3], done: false }, { rows: [4, 5, 6, 7], done: true }]);
});

const CANNOT_BE = {
	'reward term goal is 1': [{ ...GOOD, terms: { goal: [1] } }, { ...GOOD, terms: { goal: 1 } }],
	'expected 2 numbers': [null, 5, { ...GOOD, reward: [0] }, { ...GOOD, reward: [0, NaN] }],
	'no seat must choose': [{ ...GOOD, seats: [] }],
	'seat 2 must choose, there are 2': [{ ...GOOD, seats: [0, 2] }],
	'asked twice': [{ ...GOOD, seats: [1, 1] }],
	'no action is legal': [{ ...GOOD, legal: [[0, 0, 0], [1, 1, 1]] }],
	'a mask has 2 entries, expected 3': [{ ...GOOD, legal: [[1, 1, 1], [1, 1]] }],
	'leaf turn has 2 values, expected 1': [{ ...GOOD, obs: [{ turn: [1] }, { turn: [1, 2] }] }],
	'leaf turn has undefined values': [{ ...GOOD, obs: [{ turn: [1] }, {}] }],
	'leaf turn holds NaN at 0': [{ ...GOOD, obs: [{ turn: [1] }, { turn: [NaN] }] }],
	'over before any seat': [OVER],
	'a bug': [new Error('a bug')],
};

for (const [words, turns] of Object.entries(CANNOT_BE)) {
	test(`a first turn that cannot be loses its match: ${words}`, async () => {
		for (const turn of turns) {
			const { take } = await hosting([[turn, GOOD], [GOOD]]);
			const [, { error }, opening] = take();
			assert.deepEqual([error.kind, error.slot, error.number], ['match', 0, 0]);
			assert.ok(error.message.includes(words), error.message);
			assert.deepEqual(opening, { rows: [0, 1, 2, 3], done: true });
		}
	});
}

const ENDINGS = {
	'score is 1, expected 2 numbers': { ...OVER, score: [1] },
	'score is 2,-1': { ...OVER, score: [2, -1] },
	'expected finite numbers': { ...OVER, facts: { turns: 'many' } },
	'has undefined observations, expected 2': { ...OVER, truncated: true },
};

for (const [words, turn] of Object.entries(ENDINGS)) {
	test(`an ending that cannot be loses its match: ${words}`, async () => {
		const { host, take } = await hosting([[GOOD, turn]]);
		take();
		host.act(actions({ 0: 0, 1: 0 }));
		const [{ error }, rest] = take();
		assert.ok(error.message.includes(words), error.message);
		assert.deepEqual(rest, { rows: [0, 1], done: true });
	});
}

test('what the fleet may not send ends the host', async () => {
	for (const choices of [{ 4: 0 }, { 0: 1 }, { 0: 3 }, { 0: -1 }]) {
		const { host } = await hosting([[]]);
		assert.throws(() => host.act(actions(choices)), ProtocolError);
	}
});

test('rows are packed as the protocol says', () => {
	const leaves = [['flag', 'uint8', [1]], ['id', 'uint16', [2]], ['x', 'float32', [1, 2]], ['n', 'int8', []]];
	const layout = new Layout(leaves);
	assert.equal(layout.bytes, 24);
	const out = new Uint8Array(32).fill(9);
	layout.pack({ flag: [true], id: [1, 258], x: [0.5, -2], n: [-1] }, out, 8);
	const view = new DataView(out.buffer, 8);
	assert.deepEqual(
		[
			view.getUint8(0), view.getUint16(2, true), view.getUint16(4, true),
			view.getFloat32(8, true), view.getFloat32(12, true),
		],
		[1, 1, 258, 0.5, -2],
	);
	assert.equal(view.getInt8(16), -1);
	const measures = new Layout([['m', 'fixed8', [3]], ['n', 'fixed16', [2]]]);
	measures.pack({ m: [0.5, -2, 1.98], n: [-8, 1.0001] }, out, 0);
	const stored = new DataView(out.buffer);
	assert.deepEqual([0, 1, 2].map(i => stored.getInt8(i)), [32, -128, 127]);
	assert.deepEqual([4, 6].map(i => stored.getInt16(i, true)), [-32768, 4096]);
	assert.throws(() => measures.pack({ m: [0, 2, 0], n: [0, 0] }, out, 0), /leaf m holds 2, expected -2 to 1.98/);
	assert.throws(() => new Layout([['x', 'float64', [1]]]), /dtype float64/);
});

test('options are checked against what is known, and refused in words', () => {
	const known = { size: { fallback: 3, valid: Number.isInteger, expected: 'an integer' } };
	assert.deepEqual(checkedOptions({}, known), { size: 3 });
	assert.throws(() => checkedOptions({ sice: 3 }, known), /unknown option sice, did you mean size\?/);
	assert.throws(() => checkedOptions({ toString: 1 }, {}), /unknown option toString, there are none/);
	assert.throws(() => checkedOptions({ size: 'x' }, known), /size must be an integer, seen "x"/);
	assert.equal(refuse('no').kind, 'configuration');
});

test('matches that were under way are opened again, with their seeds', async () => {
	const { host, take } = await hosting([[], []], { resume: { open: [4, null], following: 6 } });
	take();
	assert.deepEqual(host.slots.map(({ number, seed }) => [number, seed]), [[4, matchSeed(3, 4)], [6, matchSeed(3, 6)]]);
});

test('a drained host ends its matches, begins no others and completes its answers', async () => {
	const { host, take } = await hosting([[GOOD, OVER], [GOOD, GOOD, OVER]]);
	const [{ hello }] = take();
	assert.equal(hello.drains, true);
	host.drain();
	await settled();
	assert.deepEqual(take(), []);
	host.act(actions({ 0: 0, 1: 0, 2: 0, 3: 0 }));
	const [first, asked] = take();
	assert.deepEqual([first.ending.number, asked], [0, { rows: [2, 3], done: true }]);
	host.act(actions({ 2: 0, 3: 0 }));
	const [second, last] = take();
	assert.deepEqual([second.ending.number, last], [1, { rows: [], done: true }]);
	assert.throws(() => new TurnHost({}, () => {}, () => {}).drain(), /DRAIN came before CONFIGURE/);
});

test('events are sent if the fleet asked for them, and are not too large', async () => {
	const silent = await hosting([[GOOD]]);
	silent.take();
	silent.host.event({ event: 'back' });
	await settled();
	assert.deepEqual(silent.take(), []);
	const { host, take } = await hosting([[GOOD]], { events: true });
	take();
	host.event({ event: 'back', after: 2 });
	await settled();
	assert.deepEqual(take(), [{ event: { event: 'back', after: 2 } }]);
	assert.throws(() => host.event({ text: 'x'.repeat(1 << 16) }), RangeError);
});
