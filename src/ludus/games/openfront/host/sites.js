'use strict';
// Where structures can be built, by rules of our own: the core's own answer costs milliseconds.

const { SHORE } = require('./maps.js');

const SPACING_SQUARED = 15 * 15; // structures are at least this far from each other, whoever owns them
const LATTICE = 64; // the sites that are examined first, on a side; if none is legal, every tile is
const SMALL = 1500; // tiles: below, every tile is examined

/** Return {inner, border, port}: the best tile for a structure inside, near the border, and at a shore; -1 if none. */
function sites(territory, coast, player, structures) {
	const me = player.smallID();
	const isLegal = tile => isSite(territory, me, tile, structures);
	let land = onLand(territory, me, candidates(territory, player, me), isLegal);
	if (land.inner < 0 && player.numTilesOwned() > SMALL) land = onLand(territory, me, player.tiles(), isLegal);
	let port = -1;
	for (let i = 0; i < coast.tiles.length && port < 0; i++) {
		const tile = coast.tiles[i];
		if (coast.waters[i] >= 0 && isLegal(tile) && (territory.terrain[tile] & SHORE)) port = tile;
	}
	return { ...land, port };
}

/** Return {inner, border}: the legal tile with the most own land around it, and the one nearest to other players. */
function onLand(territory, me, tiles, isLegal) {
	let [inner, border] = [-1, -1];
	let [innerScore, borderScore] = [-Infinity, -Infinity];
	for (const tile of tiles) {
		if (!isLegal(tile)) continue;
		const { own, foreign } = surroundings(territory, tile, me);
		if (own - 2 * foreign > innerScore) [inner, innerScore] = [tile, own - 2 * foreign];
		const exposed = Math.min(foreign, 3) * 2 + own / 8;
		if (foreign > 0 && exposed > borderScore) [border, borderScore] = [tile, exposed];
	}
	return { inner, border: border < 0 ? inner : border };
}

/** Return whether a player can build at a tile: it owns the tile, and no structure is too near. */
function isSite(territory, me, tile, structures) {
	return territory.ownerOf(tile) === me && isSpaced(tile, structures, territory.width);
}

function candidates(territory, player, me) {
	const { width, height } = territory;
	if (player.numTilesOwned() <= SMALL) return player.tiles();
	const tiles = [];
	const step = Math.max(1, Math.floor(Math.max(width, height) / LATTICE));
	for (let y = step >> 1; y < height; y += step) {
		for (let x = step >> 1; x < width; x += step) {
			if (territory.ownerOf(y * width + x) === me) tiles.push(y * width + x);
		}
	}
	return tiles;
}

/** Count, at 16 points around a tile, which are its owner's and which another player's. */
function surroundings(territory, tile, me) {
	const { width, height } = territory;
	const [x, y] = [tile % width, Math.floor(tile / width)];
	let [own, foreign] = [0, 0];
	for (const [dx, dy] of AROUND) {
		const [at, row] = [x + dx, y + dy];
		if (at < 0 || row < 0 || at >= width || row >= height) continue;
		const owner = territory.ownerOf(row * width + at);
		if (owner === me) own++;
		else if (owner !== 0) foreign++;
	}
	return { own, foreign };
}

const AROUND = [6, 16].flatMap(far => [
	[far, 0], [-far, 0], [0, far], [0, -far], [far, far], [far, -far], [-far, far], [-far, -far],
]);

/** Return whether no structure is too near to a tile. `structures` are {tile}, of all players. */
function isSpaced(tile, structures, width) {
	const [x, y] = [tile % width, Math.floor(tile / width)];
	for (const { tile: other } of structures) {
		const [dx, dy] = [other % width - x, Math.floor(other / width) - y];
		if (dx * dx + dy * dy < SPACING_SQUARED) return false;
	}
	return true;
}

module.exports = { SPACING_SQUARED, isSite, isSpaced, sites };
