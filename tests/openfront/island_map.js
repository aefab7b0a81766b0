'use strict';
// A small map of our own: two islands in a sea, with a mountain, a lake and impassable rock.

const path = require('node:path');

const HOST = path.join(__dirname, '../../src/ludus/games/openfront/host');
const { IMPASSABLE, LAND, MapFile, OCEAN, SHORE } = require(path.join(HOST, 'maps.js'));

const WIDTH = 120;
const HEIGHT = 80;

/** Return the map as a MapFile. `nations` are [x, y] of the map's nations. */
function islandMap(nations = []) {
	const map = Object.create(MapFile.prototype);
	const { bytes, size } = drawn(WIDTH, HEIGHT, isLand, 1);
	const small = drawn(WIDTH / 2, HEIGHT / 2, isLand, 2);
	return Object.assign(map, {
		name: 'islands', title: 'Onion', bytes, size, miniBytes: small.bytes, miniSize: small.size,
		nations: nations.map(([x, y], i) => ({ name: `Nation ${i}`, coordinates: [x, y] })), additionalNations: [],
		coast: null,
	});
}

function isLand(x, y) {
	const isWest = (x - 35) ** 2 + (y - 40) ** 2 < 30 ** 2;
	const isEast = (x - 92) ** 2 / 1.2 + (y - 40) ** 2 < 20 ** 2;
	const isLake = (x - 30) ** 2 + (y - 45) ** 2 < 6 ** 2;
	return (isWest || isEast) && !isLake;
}

function drawn(width, height, land, scale) {
	const is = (x, y) => x >= 0 && y >= 0 && x < width && y < height && land(x * scale, y * scale);
	const bytes = new Uint8Array(width * height);
	let count = 0;
	for (let y = 0; y < height; y++) {
		for (let x = 0; x < width; x++) {
			const around = [[x - 1, y], [x + 1, y], [x, y - 1], [x, y + 1]];
			if (!is(x, y)) {
				bytes[y * width + x] = OCEAN | (around.some(([a, b]) => is(a, b)) ? SHORE : 0);
				continue;
			}
			const isShore = around.some(([a, b]) => !is(a, b));
			const isMountain = x * scale > 40 && x * scale < 50 && y * scale < 40;
			const isRock = x * scale >= 44 && x * scale < 46 && y * scale >= 50 && y * scale < 54;
			bytes[y * width + x] = LAND | (isShore ? SHORE : 0) | (isRock ? IMPASSABLE : isMountain ? 22 : 3);
			if (!isRock) count++;
		}
	}
	return { bytes, size: { width, height, num_land_tiles: count } };
}

module.exports = { HEIGHT, WIDTH, islandMap };
