'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const { test } = require('node:test');
const path = require('node:path');
const frames = require(path.join(__dirname, '../../src/ludus/sdk/javascript/frames.js'));

const { RowMemory } = require(path.join(__dirname, '../../src/ludus/sdk/javascript/memory.js'));
const { ArrivalBuffer, FrameReader, FrameWriter, KIND, MAX_BODY, ProtocolError } = frames;

function readAll(bytes, step) {
	const reader = new FrameReader(16);
	const seen = [];
	for (let at = 0; at < bytes.length; at += step) {
		const part = bytes.subarray(at, at + step);
		part.copy(reader.space(part.length));
		reader.pushed(part.length);
		for (let frame = reader.next(); frame; frame = reader.next()) seen.push([frame.kind, Buffer.from(frame.body)]);
	}
	reader.close();
	return seen;
}

function written(fill) {
	const writer = new FrameWriter(16);
	fill(writer);
	return Buffer.concat(writer.take());
}

function header(magic, version, kind, bytes) {
	const out = Buffer.alloc(8);
	out.writeUInt16LE(magic, 0);
	out[2] = version;
	out[3] = kind;
	out.writeUInt32LE(bytes, 4);
	return out;
}

test('frames come back whole, however the bytes are cut', () => {
	const bytes = written(writer => {
		writer.json(KIND.ERROR, { message: 'é' });
		writer.open(KIND.STOP, 0);
		writer.json(KIND.HELLO, { long: 'x'.repeat(5000) });
	});
	for (const step of [1, 3, 8, 4096, bytes.length]) {
		const seen = readAll(bytes, step);
		assert.deepEqual(seen.map(([kind]) => kind), [KIND.ERROR, KIND.STOP, KIND.HELLO]);
		assert.equal(JSON.parse(seen[0][1]).message, 'é');
		assert.equal(seen[1][1].length, 0);
	}
});

test('bytes that are no frame are refused with what was seen', () => {
	assert.throws(() => readAll(header(0x1234, 2, 4, 0), 8), /0x1234/);
	assert.throws(() => readAll(header(0x554c, 9, 4, 0), 8), /version 9/);
	assert.throws(() => readAll(header(0x554c, 2, 99, 0), 8), /kind 99/);
	assert.throws(() => readAll(header(0x554c, 2, 4, MAX_BODY + 1), 8), /67108865 bytes/);
	assert.throws(() => readAll(header(0x554c, 2, 4, 10), 8), /inside a frame/);
});

test('an actions frame must have the size its count asks for', () => {
	const body = Buffer.alloc(32);
	body.writeUInt32LE(3, 0);
	body.writeInt32LE(7, 8);
	body.writeInt32LE(9, 24);
	assert.throws(() => frames.decodeActions(body), ProtocolError);
	body.writeUInt32LE(2, 0);
	assert.throws(() => frames.decodeActions(body), ProtocolError);
	body.writeUInt32LE(1, 0);
	assert.throws(() => frames.decodeActions(body), ProtocolError);
	const exact = Buffer.alloc(20);
	exact.writeUInt32LE(1, 0);
	exact.writeInt32LE(7, 8);
	exact.writeInt32LE(9, 16);
	const { rows, actions } = frames.decodeActions(exact);
	assert.deepEqual([rows[0], actions[0]], [7, 9]);
	assert.throws(() => frames.decodeActions(Buffer.alloc(4)), /its head alone/);
});

test('a wrong configuration is refused with its field', () => {
	const good = { protocol: 2, matches: 2, options: {}, seed: 5, schedule: [[0, 3]], keep_log: true };
	const decode = change => frames.decodeConfigure(Buffer.from(JSON.stringify({ ...good, ...change })));
	assert.deepEqual(decode({}), {
		matches: 2, options: {}, seed: 5, schedule: [[0, 3]], resume: null, timesS: null, parts: 1, memory: null,
		keepLog: true, events: false,
	});
	assert.equal(decode({ times_s: 0.5 }).timesS, 0.5);
	assert.equal(decode({ parts: 2 }).parts, 2);
	assert.throws(() => decode({ parts: 0 }), /parts/);
	assert.throws(() => decode({ times_s: 'often' }), /times_s/);
	assert.deepEqual([decode({}).memory, decode({ memory: 3 }).memory], [null, 3]);
	assert.throws(() => decode({ memory: 'here' }), /memory/);
	assert.throws(() => decode({ protocol: 1 }), /protocol/);
	assert.throws(() => decode({ matches: 0 }), /matches/);
	assert.throws(() => decode({ seed: -1 }), /seed/);
	assert.throws(() => decode({ options: null }), /options/);
	assert.throws(() => decode({ schedule: [[1]] }), /schedule/);
	const resume = { open: [4, null], following: 6 };
	assert.deepEqual(decode({ schedule: null, resume }).resume, resume);
	assert.throws(() => decode({ resume }), /exclude/);
	assert.throws(() => decode({ schedule: null, resume: { ...resume, open: [4] } }), /resume.open/);
	assert.throws(() => frames.decodeConfigure(Buffer.from('{')), /not valid JSON/);
});

test('arrivals lie in columns at multiples of eight', () => {
	const arrivals = new ArrivalBuffer(4, 2, 8);
	for (const row of [3, 1, 2]) {
		arrivals.nextMask().set([row, 128]);
		arrivals.obs.fill(row, arrivals.nextObsOffset(), arrivals.nextObsOffset() + 8);
		arrivals.add(row, 70 + row, row / 2, row === 1);
	}
	const [[kind, body]] = readAll(written(writer => arrivals.flush(writer, true)), 64);
	assert.equal(kind, KIND.ARRIVALS);
	assert.equal(body.readUInt32LE(0), 3);
	assert.equal(body[4], 1);
	assert.deepEqual([0, 1, 2].map(i => body.readInt32LE(8 + 4 * i)), [3, 1, 2]);
	assert.deepEqual([0, 1, 2].map(i => body.readUInt32LE(24 + 4 * i)), [73, 71, 72]);
	assert.deepEqual([0, 1, 2].map(i => body.readFloatLE(40 + 4 * i)), [1.5, 0.5, 1]);
	assert.deepEqual([...body.subarray(56, 59)], [0, 1, 0]);
	assert.deepEqual([...body.subarray(64, 70)], [3, 128, 1, 128, 2, 128]);
	assert.deepEqual([...body.subarray(72)], [3, 1, 2].flatMap(row => Array(8).fill(row)));
	assert.equal(arrivals.count, 0);
});

test('frames keep their order around observations that are sent from where they are', () => {
	const arrivals = new ArrivalBuffer(4, 1, 8);
	const writer = new FrameWriter(16);
	writer.json(KIND.ERROR, { message: 'before' });
	arrivals.obs.fill(7);
	arrivals.add(0, 1, 0, true);
	arrivals.flush(writer, true);
	arrivals.flush(writer, true);
	writer.json(KIND.ERROR, { message: 'after' });
	const pieces = writer.take();
	assert.ok(pieces.some(piece => piece.buffer === arrivals.obs.buffer));
	const seen = readAll(Buffer.concat(pieces), 5);
	assert.deepEqual(seen.map(([kind]) => kind), [KIND.ERROR, KIND.ARRIVALS, KIND.ARRIVALS, KIND.ERROR]);
	assert.deepEqual([...seen[1][1].subarray(-8)], Array(8).fill(7));
	assert.deepEqual(JSON.parse(seen[3][1]), { message: 'after' });
	assert.ok(writer.isEmpty);
	assert.deepEqual(writer.take(), []);
});

test('observations that were left in shared memory are not in the frame', () => {
	const arrivals = new ArrivalBuffer(4, 1, 8);
	const left = [];
	let hasRoom = true;
	arrivals.leave = bytes => hasRoom && left.push([...bytes]) > 0;
	const flushed = () => {
		arrivals.obs.fill(7);
		arrivals.add(2, 5, 1, true);
		return readAll(written(writer => arrivals.flush(writer, true)), 99)[0][1];
	};
	const elsewhere = flushed();
	hasRoom = false;
	const sent = flushed();
	assert.deepEqual(left, [Array(8).fill(7)]);
	assert.deepEqual([elsewhere[5], sent[5]], [1, 0]);
	assert.deepEqual([...sent.subarray(-8)], Array(8).fill(7));
	assert.deepEqual([...elsewhere.subarray(8)], [...sent.subarray(8, -8)]);
});

test('observations may be left before their frame is made, and only where there is room', () => {
	for (const hasRoom of [true, false]) {
		const arrivals = new ArrivalBuffer(4, 1, 8);
		const left = [];
		arrivals.leave = bytes => hasRoom && left.push(...bytes) > 0;
		for (const row of [0, 1, 2]) {
			arrivals.obs.fill(row + 1, arrivals.nextObsOffset(), arrivals.nextObsOffset() + 8);
			arrivals.add(row, 5, 0, false);
			arrivals.leaveEarly(2);
		}
		const [[, body]] = readAll(written(writer => arrivals.flush(writer, true)), 99);
		const rows = [1, 2, 3].flatMap(value => Array(8).fill(value));
		assert.equal(body.readUInt32LE(0), 3);
		assert.equal(body[5], hasRoom ? 1 : 0);
		assert.deepEqual(hasRoom ? left : [...body.subarray(-24)], rows);
		assert.equal(arrivals.nextObsOffset(), 0);
	}
});

test('rows are left one after the other in the room of their answer', () => {
	const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ludus-memory-'));
	try {
		const file = fs.openSync(path.join(folder, 'rows'), 'w+');
		const memory = new RowMemory(file, 3, 2000); // two pages a room
		memory.enter(2);
		assert.ok(memory.leave(new Uint8Array(4).fill(1)));
		assert.ok(memory.leave(new Uint8Array(4).fill(2)));
		memory.enter(0);
		assert.ok(!memory.leave(new Uint8Array(4).fill(3)));
		const seen = Buffer.alloc(8);
		assert.equal(fs.readSync(file, seen, 0, 8, 8192), 8);
		assert.deepEqual([...seen], [1, 1, 1, 1, 2, 2, 2, 2]);
		assert.equal(fs.fstatSync(file).size, 8200);
		fs.closeSync(file);
	} finally {
		fs.rmSync(folder, { recursive: true });
	}
});

test('an ending carries observations only where it was truncated', () => {
	const [[, plain]] = readAll(written(writer => writer.ending({ slot: 1 }, null)), 99);
	assert.deepEqual(JSON.parse(plain.subarray(8, 8 + plain.readUInt32LE(0))), { slot: 1 });
	assert.equal(plain.length % 8, 0);
	const observations = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
	const [[, truncated]] = readAll(written(writer => writer.ending({ slot: 1 }, observations)), 99);
	assert.deepEqual([...truncated.subarray(plain.length)], [1, 2, 3, 4, 5, 6, 7, 8]);
});
