'use strict';
// Matches on the real core: seeds, territory, ends, teams, maps and memory. On a small map of our own.

const assert = require('node:assert/strict');
const path = require('node:path');
const { test } = require('node:test');

const {
	EASY, HOST, SplitMix, chosen, core, map, newMatch, newMatchStarted, onion, play,
} = require('./playing.js');
const { wholeMap } = require(path.join(HOST, 'match.js'));
const { GLOBALS } = require(path.join(HOST, 'observe.js'));
const { Territory } = require(path.join(HOST, 'territory.js'));
const { View } = require(path.join(HOST, 'view.js'));

test('the same seed and choices give the same match, whatever else runs in the process', () => {
	const other = newMatch({ seats: 2, bots: 5 });
	const random = new SplitMix(3);
	let turn = other.start(99);
	let compared = 0;
	for (const seed of [11, 12, 13, 14]) {
		const hashes = [[], []];
		play(newMatch(EASY), seed, 250, match => hashes[0].push(match.world.hash()), 7);
		play(newMatch(EASY), seed, 250, match => {
			if (!turn.score) turn = other.advance(chosen(turn, random));
			hashes[1].push(match.world.hash());
		}, 7);
		assert.deepEqual(hashes[0], hashes[1]);
		assert.equal(new Set(hashes[0]).size, hashes[0].length, 'the hash sees every change');
		compared += hashes[0].length;
	}
	assert.ok(compared > 200, `${compared} states`);
});

test('territory, borders and grid are what a full count of the map gives', () => {
	let compared = 0;
	const compare = (match, _, i) => {
		if (i % 7 > 0) return;
		const { world: { territory, game }, views, seats } = match;
		const whole = new Territory(territory.cells, map.bytes, territory.players);
		whole.update(wholeMap(match.world.map));
		for (const name of ['state', 'owned', 'borders', 'fallout', 'land', 'total']) {
			assert.deepEqual(territory[name], whole[name], name);
		}
		for (const seat of seats.filter(each => each.isAlive)) {
			const view = new View(whole, views[seat.number].classOf);
			const before = Int8Array.from(views[seat.number].bytes);
			view.refresh(match.world.structures.map(each => ({ ...each, isOwn: each.owner === seat.id })));
			assert.deepEqual(before, view.bytes);
			for (const other of game.players()) {
				if (other === seat.player) continue;
				assert.equal(territory.border(seat.id, other.smallID()) > 0, seat.player.sharesBorderWith(other));
			}
			compared++;
		}
	};
	for (const seed of [5, 6, 7, 8]) play(newMatch({ ...EASY, seats: 2 }), seed, 250, compare, 7);
	assert.ok(compared > 50, `${compared} views`);
});

test('a match is truncated at its limit, with the last observations', () => {
	const turn = play(newMatch({ max_minutes: 0.3 }), 4, 1000, () => {}, 1000);
	assert.equal(turn.truncated, true);
	assert.equal(turn.obs.length, 1);
	assert.deepEqual(turn.score, [0.5]);
});

test('teams share what they see as friendly, and win together', () => {
	const match = newMatchStarted({ seats: 4, team_size: 2, nations: 0, bots: 2 });
	const teams = match.world.players.map(player => player.team());
	assert.equal(teams[0], teams[1]);
	assert.equal(teams[2], teams[3]);
	assert.notEqual(teams[0], teams[2]);
	assert.ok(match.seats[0].player.isFriendly(match.seats[1].player));
	const turn = play(newMatch({ seats: 4, team_size: 2, nations: 0, bots: 2, max_minutes: 40 }), 4, 8000);
	assert.ok(turn.score, 'the match ended');
	assert.equal(turn.score[0], turn.score[1]);
	assert.equal(turn.score[2], turn.score[3]);
});

test('a seat against nations only has humans and nations as teams', () => {
	const match = newMatchStarted({ seats: 2, team_size: 2, nations: 2 });
	assert.deepEqual(match.world.players.map(player => player.team()), ['Humans', 'Humans']);
});

test('memory stays flat over many matches', () => {
	const match = newMatch();
	for (let seed = 0; seed < 8; seed++) play(match, seed, 12);
	global.gc?.();
	const before = process.memoryUsage().heapUsed;
	for (let seed = 8; seed < 60; seed++) play(match, seed, 12);
	global.gc?.();
	const grown = (process.memoryUsage().heapUsed - before) / 2 ** 20;
	assert.ok(grown < 25, `${grown.toFixed(1)} MiB more after 52 matches`);
});

test('with overtime, less land is needed to win as time passes', () => {
	const bars = [];
	const match = newMatch({ nations: 0, bots: 1, overtime_minutes: 1, max_minutes: 4 });
	play(match, 4, 1000, ({ seats: [seat], observers: [observer] }) => {
		if (!seat.isSpawning) bars.push(observer.globals[GLOBALS.indexOf('bar')]);
	}, 1000);
	assert.equal(bars[0], 0.8);
	assert.ok(bars.at(-1) < 0.79, `${bars.at(-1)}`);
	assert.ok(bars.every((bar, i) => i === 0 || bar <= bars[i - 1]));
});

test('the seed chooses among the maps, and a match leaves its map as it was', () => {
	const maps = [map, ...onion];
	const before = maps.map(each => Uint8Array.from(each.bytes));
	const played = new Set();
	for (let seed = 0; seed < 8; seed++) {
		const match = newMatch({}, maps);
		play(match, seed, 20);
		played.add(match.world.mapFile.name);
		assert.equal(match.world.territory.state.length, match.world.mapFile.bytes.length);
	}
	assert.deepEqual([...played].sort(), ['islands', 'onion']);
	assert.deepEqual(maps.map(each => Uint8Array.from(each.bytes)), before);
});
