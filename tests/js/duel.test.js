'use strict';
// What an observation says about two Pokemon that face each other, against the simulator's own figures.

const assert = require('node:assert/strict');
const path = require('node:path');
const { test } = require('node:test');
const { Setting } = require('./battles.js');
const { HOST } = require('./simulator.js');
const { DUEL, MATCHUP, ONE8 } = require(path.join(HOST, 'columns.js'));

const FASTER = DUEL.indexOf('faster');
const DANGER = DUEL.indexOf('danger');
const SHARE = MATCHUP.indexOf('share');
const KILLS = MATCHUP.indexOf('kills');

/** Plays battles and calls `look(battle, numbers, at, seat)` with the packed numbers of every choice of a move. */
function each(format, battles, look) {
	const setting = new Setting(process.env.LUDUS_TEST_SIMULATOR, format);
	const { observer } = setting;
	const row = new Uint8Array(observer.nbytes);
	const numbers = new Int8Array(row.buffer);
	for (let seed = 1; seed <= battles; seed++) {
		setting.play(seed, (battle, view, seat, request) => {
			view.encode(seat, request, row, 0);
			if (request.active) look(battle, numbers, observer.at, seat);
		});
	}
}

for (const [format, least] of [['gen1randombattle', 0.95], ['gen4randombattle', 0.9], ['gen9randombattle', 0.9]]) {
	test(`${format}: who is said to be faster moves first by the simulator's speed`, () => {
		let right = 0, asked = 0;
		each(format, 6, (battle, numbers, at, seat) => {
			const [own, foe] = [battle.sides[seat].active[0], battle.sides[1 - seat].active[0]];
			const difference = own.getActionSpeed() - foe.getActionSpeed();
			if (foe.fainted || Math.abs(difference) < 3) return; // estimates of the foe's are off by a point or two
			asked++;
			if (Math.sign(difference) === Math.sign(numbers[at.duel + FASTER])) right++;
		});
		assert.ok(asked > 100, `${asked} decisions`);
		assert.ok(right >= least * asked, `${right} of ${asked}`);
	});
}

test('a share of the HP left is whole exactly where the hit kills, and danger stays within its bounds', () => {
	let shares = 0;
	each('gen9randombattle', 4, (battle, numbers, at) => {
		for (const leaf of [at.matchup, at.threat]) {
			for (let i = 0; i < 24; i++) {
				const share = numbers[leaf + i * MATCHUP.length + SHARE];
				if (share > 0) shares++;
				assert.ok(share >= 0 && share <= ONE8);
				assert.equal(numbers[leaf + i * MATCHUP.length + KILLS], share === ONE8 ? ONE8 : 0);
			}
		}
		for (let i = 0; i < 6; i++) {
			const danger = numbers[at.duel + i * DUEL.length + DANGER];
			assert.ok(danger >= 0 && danger <= ONE8);
		}
	});
	assert.ok(shares > 1000);
});
