'use strict';
// How accounts come back after a lost connection, with a clock that the tests move.

const assert = require('node:assert/strict');
const path = require('node:path');
const { mock, test } = require('node:test');
const { HOST } = require('./simulator.js');
const { BackOff, LeftRooms, Rejoin } = require(path.join(HOST, 'server', 'rejoining.js'));

test('pauses double up to a limit and begin anew after a success', () => {
	mock.timers.enable({ apis: ['setTimeout'] });
	try {
		const backOff = new BackOff();
		const pauses = Array.from({ length: 7 }, () => {
			const { pauseMs } = backOff;
			backOff.later(() => {});
			return pauseMs;
		});
		assert.deepEqual(pauses, [250, 500, 1000, 2000, 4000, 5000, 5000]);
		backOff.reset();
		assert.equal(backOff.pauseMs, 250);
	} finally {
		mock.timers.reset();
	}
});

test('a connection that is lost again gives the server the whole time once more', async () => {
	mock.timers.enable({ apis: ['setTimeout'] });
	try {
		const missing = [];
		const events = { failed: () => true, back() {}, missing: room => missing.push(room) };
		const rejoin = new Rejoin({ open: async () => {} }, 'fake', new BackOff(), events);
		const loseAndReturn = async () => {
			rejoin.lose(['battle-1']);
			mock.timers.tick(250);
			await Promise.resolve();
			await Promise.resolve();
		};
		await loseAndReturn();
		mock.timers.tick(4000);
		await loseAndReturn();
		mock.timers.tick(4000);
		assert.deepEqual(missing, []);
		mock.timers.tick(1000);
		assert.deepEqual(missing, ['battle-1']);
	} finally {
		mock.timers.reset();
	}
});

test('only the latest rooms that were left are remembered', () => {
	const left = new LeftRooms();
	for (let i = 0; i <= 1000; i++) left.add(`battle-${i}`);
	assert.deepEqual([left.has('battle-0'), left.has('battle-1'), left.has('battle-1000')], [false, true, true]);
});
