'use strict';
// Territory, borders and the grid of a view, kept from packed updates: always what a full count gives.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const zlib = require('node:zlib');

const { HEIGHT, WIDTH, islandMap } = require('../openfront/island_map.js');

const HOST = path.join(__dirname, '../../src/ludus/games/openfront/host');
const { Cells, Territory } = require(path.join(HOST, 'territory.js'));
const { BOT, CHANNELS, FREE, FRIENDLY, OWN, RIVAL, View } = require(path.join(HOST, 'view.js'));
const { isOwnable } = require(path.join(HOST, 'maps.js'));
const { SplitMix } = require('../../src/ludus/sdk/javascript');

const RECORDED = path.join(__dirname, '../data/openfront/updates.json.gz');
const CLASSES = [FREE, OWN, RIVAL, BOT, BOT, FRIENDLY];
const map = islandMap();

function newTerritory(players = 5, side = 16) {
	return new Territory(new Cells(WIDTH, HEIGHT, side), map.bytes, players);
}

/** A territory in which everything is counted anew from the state of another one. */
function counted(territory) {
	const whole = new Territory(territory.cells, territory.terrain, territory.players);
	whole.update(packed(territory));
	return whole;
}

function packed({ state, terrain }) {
	const value = i => state[i] | (terrain[i] << 16);
	return Uint32Array.from({ length: 2 * state.length }, (_, i) => (i % 2 ? value(i >> 1) : i >> 1));
}

function assertCounted(territory, views = []) {
	const whole = counted(territory);
	for (const name of ['owned', 'borders', 'fallout', 'land', 'heights', 'total']) {
		assert.deepEqual(territory[name], whole[name], name);
	}
	for (const view of views) {
		const fresh = new View(whole, view.classOf);
		assert.deepEqual(view.refresh(STRUCTURES), fresh.refresh(STRUCTURES));
	}
}

const STRUCTURES = [
	{ tile: 40 * WIDTH + 20, isOwn: true, range: 0 }, { tile: 30 * WIDTH + 92, isOwn: false, range: 12 },
];

test('any updates keep the counts right, also fallout and land that becomes water', () => {
	const random = new SplitMix(4);
	const territory = newTerritory();
	const views = [new View(territory, CLASSES), new View(territory, [FREE, RIVAL, OWN, BOT, BOT, RIVAL])];
	const land = [...map.bytes.keys()].filter(tile => isOwnable(map.bytes[tile]));
	for (let round = 0; round < 60; round++) {
		const updates = [];
		for (let i = 0; i < 80; i++) {
			const tile = land[random.nextBelow(land.length)];
			const owner = random.nextBelow(6);
			const fallout = owner === 0 && random.nextBelow(4) === 0 ? 1 << 13 : 0;
			const terrain = round === 30 && i < 5 ? 0x20 : territory.terrain[tile];
			updates.push(tile, (isOwnable(terrain) ? owner | fallout : 0) | (terrain << 16));
		}
		territory.update(Uint32Array.from(updates));
		if (round % 10 === 5) views[0].reclass([FREE, OWN, round % 20 ? FRIENDLY : RIVAL, BOT, BOT, FRIENDLY]);
		assertCounted(territory, views);
	}
});

test('the recorded updates of a match give what a full count gives, and the land that the game counted', () => {
	const { players, ticks, tiles } = JSON.parse(zlib.gunzipSync(fs.readFileSync(RECORDED)));
	const territory = newTerritory(players, 32);
	const view = new View(territory, [FREE, OWN, ...Array(players - 1).fill(RIVAL)]);
	assert.ok(ticks.length > 200);
	for (const [i, updates] of ticks.entries()) {
		territory.update(Uint32Array.from(updates));
		if (i % 40 === 0) assertCounted(territory, [view]);
	}
	assertCounted(territory, [view]);
	const owned = Array(players + 1).fill(0);
	map.bytes.forEach((terrain, tile) => { if (isOwnable(terrain)) owned[territory.ownerOf(tile)]++; });
	assert.deepEqual(owned.slice(1), tiles);
});

test('a border is the number of pairs of tiles that touch, and water separates', () => {
	const territory = newTerritory();
	const at = (x, y) => y * WIDTH + x;
	const own = (x, y, owner) => [at(x, y), owner | (territory.terrain[at(x, y)] << 16)];
	territory.update(Uint32Array.from([...own(20, 30, 1), ...own(21, 30, 1), ...own(22, 30, 2), ...own(92, 40, 3)]));
	assert.equal(territory.border(1, 2), 1);
	assert.equal(territory.border(2, 1), 1);
	assert.equal(territory.border(1, 3), 0);
	assert.equal(territory.border(1, 0), 5); // three edges of the first tile, two of the second
	assert.equal(territory.isFree(at(23, 30)), true);
	assert.equal(territory.isFree(at(22, 30)), false);
	assert.equal(territory.isFree(at(0, 0)), false);
});

test('an owner that cannot be is refused', () => {
	const update = Uint32Array.from([40 * WIDTH + 20, 9 | (3 | 0x80) << 16]);
	assert.throws(() => newTerritory().update(update), /player 9, there are 5/);
});

test('channels are shares of a cell, in sixty-fourths', () => {
	const territory = newTerritory();
	const view = new View(territory, CLASSES);
	const tile = 40 * WIDTH + 20;
	const cell = territory.cells.of(tile);
	const tiles = [...territory.state.keys()].filter(each => territory.cells.of(each) === cell);
	const half = (each, i) => [each, (i % 2 ? 1 : 3) | (territory.terrain[each] << 16)];
	territory.update(Uint32Array.from(tiles.flatMap(half)));
	const bytes = view.refresh([{ tile, isOwn: true, range: 0 }]);
	const value = name => bytes[cell * CHANNELS.length + CHANNELS.indexOf(name)];
	assert.ok(Math.abs(value('own') - 32) <= 2);
	assert.ok(Math.abs(value('bot') - 32) <= 2);
	assert.equal(value('free'), 0);
	assert.equal(value('own_structures'), 16);
	view.refresh([]);
	assert.equal(value('own_structures'), 0);
});
