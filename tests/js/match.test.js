'use strict';
// One match on the simulator in this process, with and without a record of its lines.

const assert = require('node:assert/strict');
const path = require('node:path');
const { test } = require('node:test');
const { HOST, HOSTING, SplitMix } = require('./simulator.js');
const { ArrivalBuffer } = require(path.join(HOSTING, 'frames.js'));
const { Match } = require(path.join(HOST, 'matches.js'));
const { setUp } = require(path.join(HOST, 'setup.js'));

const MATCHES = Number(process.env.LUDUS_TEST_MATCHES ?? 2); // of each format; by hand, some hundreds

/** Plays one match with random legal actions; `look(match, arrivals)` is called whenever seats were asked. */
function play(setup, seed, look) {
	const random = new SplitMix(seed);
	const arrivals = new ArrivalBuffer(2, setup.actionSet.maskBytes, setup.observer.nbytes);
	const match = new Match(setup, 0, 0, seed);
	match.open(arrivals);
	while (!match.ending) {
		look(match, arrivals);
		const chosen = Array.from({ length: arrivals.count }, (_, i) => [arrivals.row[i], pick(arrivals.masks[i], random)]);
		arrivals.count = 0;
		for (const [seat, action] of chosen) match.act(seat, action, arrivals);
	}
	return match.ending;
}

function pick(mask, random) {
	const legal = [];
	for (let i = 0; i < 8 * mask.length; i++) if (mask[i >> 3] >> (i & 7) & 1) legal.push(i);
	return legal[random.nextBelow(legal.length)];
}

/** All that is staged, in one buffer. */
function staged({ count, row, reward, obs, obsBytes, legal, maskBytes }) {
	return Buffer.concat([
		Buffer.from(row.slice(0, count).buffer), Buffer.from(reward.slice(0, count).buffer),
		obs.subarray(0, count * obsBytes), legal.subarray(0, count * maskBytes),
	]);
}

const FORMATS = [
	'gen1randombattle', 'gen2randombattle', 'gen3randombattle', 'gen4randombattle', 'gen5randombattle', 'gen6randombattle',
	'gen7randombattle', 'gen8randombattle', 'gen9randombattle', 'gen9randomdoublesbattle',
];

for (const format of FORMATS) {
	test(`${format}: a match that nobody records keeps no lines and shows the rows of one that is recorded`, () => {
		const recorded = setUp(process.env.LUDUS_TEST_SIMULATOR, { format }, true);
		const forgetful = setUp(process.env.LUDUS_TEST_SIMULATOR, { format }, false);
		for (let seed = 1; seed <= MATCHES; seed++) {
			const rows = [];
			const { log, ...ending } = play(recorded, seed, (match, arrivals) => rows.push(staged(arrivals)));
			let stop = 0;
			const other = play(forgetful, seed, (match, arrivals) => {
				assert.equal(match.battle.log.length, 0);
				assert.ok(rows[stop++].equals(staged(arrivals)));
			});
			assert.equal(stop, rows.length);
			assert.deepEqual(other, ending);
			assert.ok(log.split('\n').length > rows.length);
		}
	});
}
