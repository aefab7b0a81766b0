'use strict';
// Who owns what, kept incrementally from the core's packed tile updates: tiles by cell and owner, and common borders.

const { MAGNITUDE, isOwnable } = require('./maps.js');

const OWNER = 0xfff; // bits of a tile's state
const FALLOUT = 1 << 13;
const TERRAIN_SHIFT = 16; // of the terrain byte in a packed update

/** A map divided into side x side cells. */
class Cells {
	constructor(width, height, side) {
		this.side = side;
		this.count = side * side;
		this.width = width;
		this.height = height;
		this.column = Uint16Array.from({ length: width }, (_, x) => Math.floor(x * side / width));
		this.row = Uint16Array.from({ length: height }, (_, y) => Math.floor(y * side / height) * side);
		this.tiles = new Uint32Array(this.count);
		for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) this.tiles[this.row[y] + this.column[x]]++;
	}

	of(tile) {
		const { width } = this;
		return this.row[(tile / width) | 0] + this.column[tile % width];
	}
}

/**
 * `players` is the highest smallID. Owner 0 is nobody: free land. `views` are told of each change of a tile:
 * `changed(cell, from, to)` with its owners before and after, which are equal if only its fallout changed.
 */
class Territory {
	constructor(cells, terrain, players) {
		Object.assign(this, { cells, players, width: cells.width, height: cells.height });
		this.stride = players + 1;
		this.terrain = Uint8Array.from(terrain);
		this.state = new Uint16Array(terrain.length);
		this.views = [];
		this.#count();
	}

	/** Count everything anew, from `terrain` and `state`. */
	#count() {
		const { cells, stride, terrain, state } = this;
		this.owned = new Uint32Array(cells.count * stride); // tiles of each owner in each cell
		this.fallout = new Uint32Array(cells.count);
		this.borders = new Int32Array(stride * stride); // pairs of tiles of two owners that touch
		this.land = new Uint32Array(cells.count); // tiles that can be owned
		this.heights = new Uint32Array(cells.count); // sums of their magnitudes
		this.total = 0;
		for (let tile = 0; tile < state.length; tile++) {
			if (!isOwnable(terrain[tile])) continue;
			const cell = cells.of(tile);
			this.total++;
			this.land[cell]++;
			this.heights[cell] += terrain[tile] & MAGNITUDE;
			this.owned[cell * stride + (state[tile] & OWNER)]++;
			if (state[tile] & FALLOUT) this.fallout[cell]++;
			if ((tile + 1) % this.width !== 0) this.#touch(tile, tile + 1);
			if (tile + this.width < state.length) this.#touch(tile, tile + this.width);
		}
	}

	#touch(a, b) {
		if (!isOwnable(this.terrain[b])) return;
		const [one, other] = [this.state[a] & OWNER, this.state[b] & OWNER];
		if (one === other) return;
		this.borders[one * this.stride + other]++;
		this.borders[other * this.stride + one]++;
	}

	/** Take packed updates: pairs of a tile and its state, with the terrain byte in the upper bits. */
	update(packed) {
		const { state, terrain } = this;
		let isRebuilt = false;
		for (let i = 0; i < packed.length; i += 2) {
			const tile = packed[i];
			const after = packed[i + 1] & 0xffff;
			const land = (packed[i + 1] >>> TERRAIN_SHIFT) & 0xff;
			if (terrain[tile] !== land) {
				isRebuilt ||= isOwnable(terrain[tile]) !== isOwnable(land);
				terrain[tile] = land;
			}
			if (isRebuilt || !isOwnable(land)) state[tile] = after;
			else if (state[tile] !== after) this.#change(tile, after);
		}
		if (!isRebuilt) return;
		this.#count();
		for (const view of this.views) view.rebuild();
	}

	#change(tile, after) {
		const { state, stride, cells, owned } = this;
		const was = state[tile];
		const [from, to] = [was & OWNER, after & OWNER];
		const cell = cells.of(tile);
		state[tile] = after;
		if ((was ^ after) & FALLOUT) this.fallout[cell] += after & FALLOUT ? 1 : -1;
		if (from !== to) {
			if (to > this.players) throw new Error(`tile ${tile} belongs to player ${to}, there are ${this.players}`);
			owned[cell * stride + from]--;
			owned[cell * stride + to]++;
			const x = tile % this.width;
			if (x > 0) this.#exchange(tile - 1, from, to);
			if (x < this.width - 1) this.#exchange(tile + 1, from, to);
			if (tile >= this.width) this.#exchange(tile - this.width, from, to);
			if (tile + this.width < state.length) this.#exchange(tile + this.width, from, to);
		}
		for (const view of this.views) view.changed(cell, from, to);
	}

	/** Correct the common borders with a neighbouring tile. */
	#exchange(neighbour, from, to) {
		if (!isOwnable(this.terrain[neighbour])) return;
		const { borders, stride } = this;
		const other = this.state[neighbour] & OWNER;
		if (other !== from) {
			borders[from * stride + other]--;
			borders[other * stride + from]--;
		}
		if (other !== to) {
			borders[to * stride + other]++;
			borders[other * stride + to]++;
		}
	}

	/** Return how many pairs of tiles of two owners touch; with owner 0, free land. */
	border(one, other) {
		return this.borders[one * this.stride + other];
	}

	ownerOf(tile) {
		return this.state[tile] & OWNER;
	}

	/** Return whether a tile is free land that can be attacked. */
	isFree(tile) {
		return isOwnable(this.terrain[tile]) && (this.state[tile] & OWNER) === 0;
	}
}

module.exports = { Cells, FALLOUT, OWNER, TERRAIN_SHIFT, Territory };
