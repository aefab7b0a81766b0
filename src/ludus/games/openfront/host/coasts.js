'use strict';
// Where boats can land: the shores of a map, the water that each lies at, and the nearest shore of every owner.

const { SHORE, isOwnable } = require('./maps.js');

const SOURCES = 24; // own shore tiles that distances are measured from
const TARGETS = 600; // foreign shore tiles looked at per decision; the offset rotates, so that all have their turn
const NO_WATER = -1;

/**
 * Return the shore tiles of a map, their coordinates and their water components: the same for all matches on a map.
 * Boats find their way on the map of half the size, so a tile counts only if it lies at water there, too.
 */
function coastOf(mapFile, game) {
	const tiles = [];
	const waters = [];
	const mini = game.miniMap();
	const isAtWater = tile => {
		const place = mini.ref(Math.floor(tile % mapFile.width / 2), Math.floor(tile / mapFile.width / 2));
		return mini.isWater(place) || mini.neighbors(place).some(each => mini.isWater(each));
	};
	mapFile.bytes.forEach((terrain, tile) => {
		if ((terrain & SHORE) === 0 || !isOwnable(terrain)) return;
		tiles.push(tile);
		waters.push(isAtWater(tile) ? game.getWaterComponent(tile) ?? NO_WATER : NO_WATER);
	});
	const xs = Int32Array.from(tiles, tile => tile % mapFile.width);
	const ys = Int32Array.from(tiles, tile => Math.floor(tile / mapFile.width));
	return { tiles: Int32Array.from(tiles), waters: Int32Array.from(waters), xs, ys };
}

/**
 * Return {found, source}: for each owner that a player can reach by boat, the nearest of the examined shore tiles, as a
 * Map of {tile, distance, from}, with an own shore tile at the same water; and any own shore tile. Owner 0: free land.
 */
function landings(territory, coast, me, ticks) {
	const { tiles, waters, xs, ys } = coast;
	const own = [];
	const reachable = new Set();
	for (let i = 0; i < tiles.length; i++) {
		if (territory.ownerOf(tiles[i]) !== me || waters[i] === NO_WATER) continue;
		own.push(i);
		reachable.add(waters[i]);
	}
	const found = new Map();
	if (own.length === 0) return { found, source: 0 };
	const sources = thinned(own, SOURCES);
	const step = Math.max(1, Math.floor(tiles.length / TARGETS));
	for (let i = ticks % step; i < tiles.length; i += step) {
		const owner = territory.ownerOf(tiles[i]);
		if (owner === me || !reachable.has(waters[i])) continue;
		let nearest = Infinity;
		let source = -1;
		for (const from of sources) {
			if (waters[from] !== waters[i]) continue;
			const squared = (xs[from] - xs[i]) ** 2 + (ys[from] - ys[i]) ** 2;
			if (squared < nearest) [nearest, source] = [squared, from];
		}
		const best = found.get(owner);
		if (best !== undefined && nearest >= best.squared) continue;
		if (source < 0) source = own.find(each => waters[each] === waters[i]);
		found.set(owner, { tile: tiles[i], squared: nearest, from: tiles[source] });
	}
	const farthest = territory.width ** 2 + territory.height ** 2; // if no source lies at that water
	for (const each of found.values()) each.distance = Math.sqrt(Math.min(each.squared, farthest));
	return { found, source: tiles[own[0]] };
}

function thinned(list, most) {
	if (list.length <= most) return list;
	return Array.from({ length: most }, (_, i) => list[Math.floor(i * list.length / most)]);
}

module.exports = { NO_WATER, coastOf, landings };
