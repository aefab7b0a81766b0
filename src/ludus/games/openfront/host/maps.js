'use strict';
// Reads OpenFront's binary maps. A map is mutable, so each match gets copies of its bytes.

const fs = require('node:fs');
const path = require('node:path');
const { MAPS } = require('./checkout.js');

const LAND = 0x80;
const SHORE = 0x40;
const OCEAN = 0x20;
const MAGNITUDE = 0x1f;
const IMPASSABLE = 31; // the magnitude of land that nobody can own

class MapError extends Error {}

/** The bytes and the manifest of one map in one size, shared by all matches on it. */
class MapFile {
	/** `folder` contains manifest.json and the .bin files. Throws MapError, in one line. */
	constructor(folder, isCompact) {
		this.name = path.basename(folder);
		const manifest = JSON.parse(read(folder, 'manifest.json').toString('utf8'));
		const [large, small] = isCompact ? ['map4x', 'map16x'] : ['map', 'map4x'];
		this.title = manifest.id ?? manifest.name;
		this.size = manifest[large];
		this.miniSize = manifest[small];
		this.bytes = checked(read(folder, `${large}.bin`), this.size, folder);
		this.miniBytes = checked(read(folder, `${small}.bin`), this.miniSize, folder);
		const half = each => (isCompact ? halved(each) : each);
		this.nations = (manifest.nations ?? []).map(half);
		this.additionalNations = (manifest.additionalNations ?? []).map(half);
		this.coast = null; // shore tiles and the water they lie at: computed in the first match (coasts.js)
	}

	get width() {
		return this.size.width;
	}

	get height() {
		return this.size.height;
	}

	/** Return new maps for one match. */
	fresh({ GameMapImpl }) {
		const make = ({ width, height, num_land_tiles: land }, bytes) =>
			new GameMapImpl(width, height, Uint8Array.from(bytes), land);
		return { map: make(this.size, this.bytes), mini: make(this.miniSize, this.miniBytes) };
	}
}

/** Find the maps with these names in a checkout. Throws MapError with similar names for an unknown one. */
function openMaps(root, names, isCompact) {
	const folder = path.join(root, MAPS);
	const known = fs.readdirSync(folder).filter(name => fs.existsSync(path.join(folder, name, 'manifest.json')));
	return names.map(name => {
		const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '');
		if (!known.includes(plain)) {
			const near = known.filter(each => each.startsWith(plain.slice(0, 3)) || each.includes(plain)).slice(0, 5);
			const others = near.length > 0 ? `similar: ${near.join(', ')}` : `there are ${known.length}, such as onion`;
			throw new MapError(`there is no map ${name}; ${others}`);
		}
		return new MapFile(path.join(folder, plain), isCompact);
	});
}

function read(folder, file) {
	try {
		return fs.readFileSync(path.join(folder, file));
	} catch (error) {
		throw new MapError(`the map in ${folder} has no ${file} (${error.code})`);
	}
}

function checked(bytes, { width, height }, folder) {
	if (bytes.length !== width * height) {
		throw new MapError(`the map in ${folder} has ${bytes.length} bytes for ${width} x ${height} tiles`);
	}
	return bytes;
}

function halved(nation) {
	if (nation.coordinates === undefined) return nation;
	return { ...nation, coordinates: nation.coordinates.map(each => Math.floor(each / 2)) };
}

/** Return whether a terrain byte is land that can be owned. */
function isOwnable(terrain) {
	return (terrain & LAND) !== 0 && (terrain & MAGNITUDE) !== IMPASSABLE;
}

module.exports = { IMPASSABLE, LAND, MAGNITUDE, MapError, MapFile, OCEAN, SHORE, isOwnable, openMaps };
