'use strict';
// The map as one seat sees it: a grid of cells with channels, in the bytes of a fixed8 leaf. Only changed cells are
// made anew.

const CHANNELS = [
	'own', 'friendly', 'rival', 'bot', 'free', // share of the cell's tiles; the rest is water or impassable
	'height', 'fallout', 'own_structures', 'other_structures', 'own_defence', 'other_defence',
];
const [FREE, OWN, FRIENDLY, RIVAL, BOT] = [0, 1, 2, 3, 4]; // classes of owners
const CLASSES = 5;
const AT = Object.fromEntries(CHANNELS.map((name, i) => [name, i]));
const CLASS_CHANNEL = [AT.free, AT.own, AT.friendly, AT.rival, AT.bot];
const ONE = 64; // fixed8
const MOST_STRUCTURES = 4; // in a cell; more look the same

class View {
	/** `classOf` [players + 1] has the class of each owner at the beginning; see `reclass`. */
	constructor(territory, classOf) {
		this.territory = territory;
		this.classOf = Uint8Array.from(classOf);
		this.bytes = new Int8Array(territory.cells.count * CHANNELS.length);
		this.marked = []; // cells with structures or defence
		territory.views.push(this);
		this.rebuild();
	}

	/** Make everything anew. */
	rebuild() {
		const { cells, owned, stride } = this.territory;
		this.counts = new Uint32Array(cells.count * CLASSES);
		for (let cell = 0; cell < cells.count; cell++) {
			for (let owner = 0; owner < stride; owner++) {
				this.counts[cell * CLASSES + this.classOf[owner]] += owned[cell * stride + owner];
			}
		}
		this.isDirty = new Uint8Array(cells.count).fill(1);
		this.dirty = Array.from({ length: cells.count }, (_, cell) => cell);
	}

	/** A tile of the cell changed its owner, or its fallout. */
	changed(cell, from, to) {
		const { counts, classOf } = this;
		counts[cell * CLASSES + classOf[from]]--;
		counts[cell * CLASSES + classOf[to]]++;
		this.#soil(cell);
	}

	#soil(cell) {
		if (this.isDirty[cell]) return;
		this.isDirty[cell] = 1;
		this.dirty.push(cell);
	}

	/** Owners may have changed their class, as by an alliance: move what they own. */
	reclass(classOf) {
		const { owned, stride, cells } = this.territory;
		for (let owner = 0; owner < stride; owner++) {
			const [before, after] = [this.classOf[owner], classOf[owner]];
			if (before === after) continue;
			this.classOf[owner] = after;
			for (let cell = 0; cell < cells.count; cell++) {
				const tiles = owned[cell * stride + owner];
				if (tiles === 0) continue;
				this.counts[cell * CLASSES + before] -= tiles;
				this.counts[cell * CLASSES + after] += tiles;
				this.#soil(cell);
			}
		}
	}

	/** Bring the bytes up to date. `structures` are {tile, isOwn, range}: range in tiles for defence posts, else 0. */
	refresh(structures) {
		const { territory, counts, bytes } = this;
		const { tiles } = territory.cells;
		for (const cell of this.dirty) {
			const at = cell * CHANNELS.length;
			const unit = ONE / tiles[cell];
			for (let each = 0; each < CLASSES; each++) {
				bytes[at + CLASS_CHANNEL[each]] = Math.round(counts[cell * CLASSES + each] * unit);
			}
			const land = territory.land[cell];
			bytes[at + AT.height] = land > 0 ? Math.round(territory.heights[cell] / land * ONE / 31) : 0;
			bytes[at + AT.fallout] = Math.round(territory.fallout[cell] * unit);
			this.isDirty[cell] = 0;
		}
		this.dirty.length = 0;
		this.#mark(structures);
		return bytes;
	}

	#mark(structures) {
		const { bytes, territory: { cells } } = this;
		for (const cell of this.marked) {
			bytes.fill(0, cell * CHANNELS.length + AT.own_structures, (cell + 1) * CHANNELS.length);
		}
		this.marked.length = 0;
		for (const { tile, isOwn, range } of structures) {
			const cell = cells.of(tile);
			const at = cell * CHANNELS.length + (isOwn ? AT.own_structures : AT.other_structures);
			bytes[at] = Math.min(ONE, bytes[at] + ONE / MOST_STRUCTURES);
			this.marked.push(cell);
			if (range > 0) this.#defend(tile, range, isOwn ? AT.own_defence : AT.other_defence);
		}
	}

	/** Mark the cells whose centre is within a defence post's range. */
	#defend(tile, range, channel) {
		const { bytes, territory: { cells: { side, width, height } } } = this;
		const [x, y] = [tile % width, Math.floor(tile / width)];
		const [wide, high] = [width / side, height / side];
		const first = (place, size) => Math.max(0, Math.floor((place - range) / size));
		const last = (place, size) => Math.min(side - 1, Math.floor((place + range) / size));
		for (let row = first(y, high); row <= last(y, high); row++) {
			for (let column = first(x, wide); column <= last(x, wide); column++) {
				const [dx, dy] = [(column + 0.5) * wide - x, (row + 0.5) * high - y];
				if (dx * dx + dy * dy > range * range) continue;
				bytes[(row * side + column) * CHANNELS.length + channel] = ONE;
				this.marked.push(row * side + column);
			}
		}
	}
}

module.exports = { BOT, CHANNELS, FREE, FRIENDLY, OWN, RIVAL, View };
