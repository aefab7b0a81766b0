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
const KO = MATCHUP.indexOf('ko');
const MOST = 1.98; // of a share

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

test('shares, chances of a KO and danger stay within bounds, and a sure KO needs only the least roll', () => {
	let shares = 0;
	each('gen9randombattle', 4, (battle, numbers, at) => {
		for (const leaf of [at.matchup, at.threat]) {
			for (let i = 0; i < 24; i++) {
				const share = numbers[leaf + i * MATCHUP.length + SHARE];
				const ko = numbers[leaf + i * MATCHUP.length + KO];
				if (share > 0) shares++;
				assert.ok(share >= 0 && share <= MOST * ONE8 + 1);
				assert.ok(ko >= 0 && ko <= ONE8);
				if (ko === ONE8) assert.ok(share * 0.85 / 0.925 >= ONE8 - 2, `${share}`);
			}
		}
		for (let i = 0; i < 6; i++) {
			const danger = numbers[at.duel + i * DUEL.length + DANGER];
			assert.ok(danger >= 0 && danger <= ONE8);
		}
	});
	assert.ok(shares > 1000);
});

/** The Pokemon hit by the first move of the lines that a turn added, what hit it, and whether it fainted at once. */
function firstMove(lines) {
	const start = lines.findIndex(line => /^\|(move|switch|cant)\|/.test(line));
	if (start < 0 || !lines[start].startsWith('|move|')) return null;
	const [, , user, move, target] = lines[start].split('|');
	if (!user || !target || user.slice(0, 2) === target.slice(0, 2)) return null;
	const rest = lines.slice(start + 1);
	const next = rest.findIndex(line => line.startsWith('|move|') || line.startsWith('|cant|') || line === '|');
	const own = next < 0 ? rest : rest.slice(0, next);
	return { seat: user[1] - 1, move, isKo: own.some(line => line.startsWith(`|-damage|${target}|0 fnt`)) };
}

test('the chance of a KO is how often the simulator knocks out', () => {
	const setting = new Setting(process.env.LUDUS_TEST_SIMULATOR, 'gen1randombattle');
	const { observer } = setting;
	const row = new Uint8Array(observer.nbytes);
	const numbers = new Int8Array(row.buffer);
	const words = new Uint16Array(row.buffer);
	const bins = Array.from({ length: 4 }, () => ({ count: 0, chance: 0, knockouts: 0 }));
	for (let seed = 1; seed <= 120; seed++) {
		let seen = 0;
		const chances = [new Map(), new Map()]; // by move, of the decision before
		setting.play(seed, (battle, view, seat, request) => {
			const lines = battle.log.slice(seen).filter(line => typeof line === 'string');
			const turn = firstMove(lines);
			if (turn !== null) {
				const chance = chances[turn.seat].get(observer.data.moves.row(turn.move));
				if (chance !== undefined) {
					const bin = bins[Math.min(3, Math.floor(chance * 4))];
					bin.count++;
					bin.chance += chance;
					bin.knockouts += turn.isKo ? 1 : 0;
				}
				chances.forEach(each => each.clear());
			}
			if (lines.length > 0) chances.forEach(each => each.clear());
			seen = battle.log.length;
			if (!request.active) return;
			view.encode(seat, request, row, 0);
			const { at } = observer;
			for (let m = 0; m < 4; m++) {
				const ko = numbers[at.matchup + m * MATCHUP.length + KO] / ONE8;
				if (ko > 0.02) chances[seat].set(words[at.moves + m], ko);
			}
		});
	}
	for (const { count, chance, knockouts } of bins) {
		assert.ok(count > 25, `${count} hits`);
		const spread = 4 * Math.sqrt(0.25 / count);
		assert.ok(Math.abs(chance - knockouts) / count < spread, JSON.stringify(bins));
	}
});
