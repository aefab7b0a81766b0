'use strict';
// When the server host sends what it has: a frame for every message would cost the fleet more than the message.

const assert = require('node:assert/strict');
const path = require('node:path');
const { mock, test } = require('node:test');
const { HOST, HOSTING } = require('./simulator.js');
const { FrameReader, KIND } = require(path.join(HOSTING, 'frames.js'));
const { setUp } = require(path.join(HOST, 'setup.js'));
const { ServerHost } = require(path.join(HOST, 'server', 'host.js'));

const MATCHES = 8;
const root = process.env.LUDUS_TEST_SIMULATOR;
const setup = setUp(root, { feature_set: 'raw', format: 'gen1randombattle' }, false, { engine: 'server', options: {} });
const settled = () => new Promise(resolve => setImmediate(resolve));

/** A host with rows of that many matches staged, the others being worked on; `sent` gets [rows, done] of its frames. */
function hostWith(staged, owed = 1) {
	const sent = [];
	const reader = new FrameReader();
	const send = pieces => {
		for (const piece of pieces) reader.push(piece);
		for (let frame = reader.next(); frame; frame = reader.next()) {
			if (frame.kind === KIND.ARRIVALS) sent.push([frame.body.readUInt32LE(0), frame.body[4]]);
		}
	};
	const host = new ServerHost(root, send, () => {});
	host.prepare({ matches: MATCHES, seed: 1, schedule: [], resume: null, timesS: null }, setup);
	host.slots = Array.from({ length: MATCHES }, (_, slot) => ({ slot, owed: slot < staged }));
	host.owed = owed;
	for (let slot = 0; slot < staged; slot++) {
		for (const seat of [0, 1]) host.arrivals.add(2 * slot + seat, slot, 0, false);
	}
	host.settleSoon();
	return { host, sent };
}

async function timed(act) {
	mock.timers.enable({ apis: ['setTimeout'] });
	try {
		await act();
	} finally {
		mock.timers.reset();
	}
}

test('the rows of one match wait a moment for more while a server works on others', () => timed(async () => {
	const { host, sent } = hostWith(1);
	await settled();
	assert.deepEqual(sent, []);
	host.settleSoon();
	await settled();
	mock.timers.tick(10);
	assert.deepEqual(sent, [[2, 0]]);
	mock.timers.tick(10);
	assert.equal(sent.length, 1);
}));

test('half of all rows is sent at once, and less is not', () => timed(async () => {
	const { sent: less } = hostWith(MATCHES / 2 - 1);
	const { sent } = hostWith(MATCHES / 2);
	await settled();
	assert.deepEqual([less, sent], [[], [[MATCHES, 0]]]);
}));

test('nothing waits when no server works on a match', () => timed(async () => {
	const { sent } = hostWith(MATCHES);
	await settled();
	assert.deepEqual(sent, [[2 * MATCHES, 1]]);
}));

test('choices are answered a moment later where nobody new has to choose', () => timed(async () => {
	const { sent } = hostWith(0, 2);
	await settled();
	assert.deepEqual(sent, []);
	mock.timers.tick(10);
	assert.deepEqual(sent, [[0, 1]]);
}));
