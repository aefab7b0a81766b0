'use strict';
// Where a host's time goes: laps, buckets, and what is said of them.

const assert = require('node:assert');
const path = require('node:path');
const { test } = require('node:test');

const HOSTING = path.join(__dirname, '../../src/ludus/sdk/javascript');
const { BUCKETS, ENCODE, SEND, SIMULATE, ActivityClock, WAIT, bucketOf } = require(path.join(HOSTING, 'clock.js'));

/** As the protocol's page has it. */
function plainBucket(ns) {
	const bits = BigInt(ns).toString(2).length;
	const bucket = ns < 4 ? ns : 4 * (bits - 2) + Number((BigInt(ns) >> BigInt(bits - 3)) % 4n);
	return Math.min(BUCKETS - 1, bucket);
}

test('buckets are those of the protocol', () => {
	const seen = [0, 1, 2, 3, 4, 5, 7, 8];
	for (let power = 4; power < 46; power++) {
		seen.push(2 ** power - 1, 2 ** power, 2 ** power + 1, 2 ** power * 1.25, 2 ** power * 1.75);
	}
	for (const ns of seen.map(Math.round)) assert.equal(bucketOf(ns), plainBucket(ns), `${ns} ns`);
});

test('all time belongs to an activity, and what is said begins anew', () => {
	let ms = 0;
	const clock = new ActivityClock(0.5, 1, () => ms);
	const pass = (activity, by) => {
		ms += by;
		clock.lap(activity);
	};
	pass(WAIT, 100);
	pass(SIMULATE, 300);
	assert.equal(clock.due(), null);
	pass(SIMULATE, 200);
	pass(ENCODE, 0.05);
	const said = clock.due();
	assert.equal(said.wall_ns, 600_050_000);
	assert.equal(Object.values(said.stages).reduce((sum, activity) => sum + activity.total_ns, 0), said.wall_ns);
	assert.deepEqual(said.stages.encode, { total_ns: 50_000, passes: 1, buckets: { [plainBucket(50_000)]: 1 } });
	assert.equal(said.stages.simulate.passes, 2);
	assert.equal(said.stages.mask, undefined);
	pass(WAIT, 600);
	assert.deepEqual(Object.keys(clock.due().stages), ['wait']);
});

test('answers that are not timed activity by activity share their time as those that are', () => {
	let ms = 0;
	const clock = new ActivityClock(0.5, 2, () => ms);
	for (const [simulate, encode, send] of [[30, 10, 10], [300, 50, 50]]) {
		for (const [activity, by] of [[WAIT, 50], [SIMULATE, simulate], [ENCODE, encode], [SEND, send]]) {
			ms += by;
			clock.lap(activity);
		}
	}
	const said = clock.due();
	const shares = Object.entries(said.stages).map(([name, { total_ns, passes }]) => [name, total_ns / 1e6, passes]);
	assert.deepEqual(shares, [['wait', 100, 2], ['simulate', 270, 1], ['encode', 90, 1], ['send', 90, 1]]);
	assert.equal(said.wall_ns, 550e6);
});

test('what was not timed waits to be told until it is known how to share it', () => {
	let ms = 0;
	const clock = new ActivityClock(0.01, 2, () => ms);
	const answer = () => {
		for (const activity of [WAIT, SIMULATE, SEND]) {
			ms += 10;
			clock.lap(activity);
		}
	};
	answer();
	assert.equal(clock.due().wall_ns, 30e6);
	answer();
	assert.equal(clock.due(), null);
	answer();
	const said = clock.due();
	assert.equal(said.wall_ns, 60e6);
	assert.equal(Object.values(said.stages).reduce((sum, activity) => sum + activity.total_ns, 0), said.wall_ns);
});
