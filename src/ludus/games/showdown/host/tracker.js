'use strict';
/**
 * The public state of a battle, from protocol lines alone.
 *
 * Feed it the lines a spectator sees, in order, once; or, for one player, the lines the server sends to that player:
 * they differ in the HP of the player's own Pokemon only, which observations take from the request.
 */

const {Effects} = require('./effects');
const {Side} = require('./tracking/state');

const BAR = 124; // '|'
const COLON = 58;
const LETTER_A = 97;
const DIGIT_0 = 48;
const DIGIT_1 = 49;
const MAX_FIELDS = 32;
const LOCKING = ['outrage', 'petaldance', 'thrash', 'ragingfury'];
const BINDING = ['bind', 'wrap', 'clamp', 'firespin'];

/** What all battles of a format share: the rows of moves and abilities that the tracker treats apart, and a scratch. */
class Rules {
	constructor({moves, abilities}) {
		this.locking = new Set(LOCKING.map(id => moves.row(id)));
		this.binding = new Set(BINDING.map(id => moves.row(id)));
		this.pressure = abilities.row('pressure');
		this.asOne = new Set(['asoneglastrier', 'asonespectrier'].map(id => abilities.byId.get(id)));
		this.struggle = moves.row('struggle');
		this.bars = new Int32Array(MAX_FIELDS + 1); // where the fields of the line in hand begin
	}
}

class Tracker {
	/** `effects` and `rules` can be shared by all battles of a format. */
	constructor(tables, slots, effects = new Effects(tables.dex), rules = new Rules(tables)) {
		this.tables = tables;
		this.gen = tables.gen;
		this.effects = effects;
		this.ids = effects.volatile;
		this.slots = slots;
		this.sides = [new Side(0, slots, effects), new Side(1, slots, effects)];
		this.turn = 0;
		this.started = false;
		this.weather = -1;
		this.weatherSince = 0;
		this.terrain = -1;
		this.terrainSince = 0;
		this.rooms = new Uint8Array(effects.rooms.length);
		this.roomSince = new Uint16Array(effects.rooms.length);
		this.fieldVersion = 1;
		this.mover = null;
		this.guarded = false; // somebody may have what passes with the turn, or has stalled
		this.text = '';
		this.bars = rules.bars;
		this.fields = 0;
		this.locking = rules.locking;
		this.binding = rules.binding;
		this.pressure = rules.pressure;
		this.asOne = rules.asOne;
		this.struggle = rules.struggle;
	}

	/** Takes one line. Lines it has no use for are ignored. */
	line(text) {
		const {length} = text;
		if (length < 4) return;
		const {bars} = this;
		let hash = 0;
		let at = 1;
		for (let code; at < length && (code = text.charCodeAt(at)) !== BAR; at++) hash = Math.imul(hash, 31) + code | 0;
		const handle = HANDLERS.get(hash);
		if (handle === undefined) return;
		let fields = 0;
		while (at < length && fields < MAX_FIELDS) {
			bars[fields++] = at;
			at = text.indexOf('|', at + 1);
			if (at < 0) break;
		}
		bars[fields] = length;
		this.fields = fields;
		this.text = text;
		handle(this);
	}

	/** Field `i` of the line after its name, '' if there are fewer. */
	field(i) {
		return i < this.fields ? this.text.slice(this.bars[i] + 1, this.bars[i + 1]) : '';
	}

	/** Field `i`, which is digits, as a number. */
	count(i) {
		let count = 0;
		for (let at = this.bars[i] + 1; at < this.bars[i + 1]; at++) count = 10 * count + this.text.charCodeAt(at) - DIGIT_0;
		return count;
	}

	/** The value of `[key]` at the end of the line, '' if it has none. */
	keyword(key) {
		const at = this.text.indexOf(key);
		if (at < 0) return '';
		const end = this.text.indexOf('|', at + key.length);
		return this.text.slice(at + key.length, end < 0 ? undefined : end).trim();
	}

	from() {
		return this.keyword('|[from]');
	}

	of() {
		const at = this.text.indexOf('|[of] ');
		return at < 0 ? null : this.monAt(at + 6);
	}

	has(text) {
		return this.text.indexOf(text) >= 0;
	}

	/** The Pokemon that field `i` names, or null. */
	mon(i) {
		return i < this.fields ? this.monAt(this.bars[i] + 1) : null;
	}

	monAt(at) {
		const {text} = this;
		if (text.charCodeAt(at) !== 112) return null;
		const side = this.sides[text.charCodeAt(at + 1) - DIGIT_1];
		if (side === undefined) return null;
		const position = text.charCodeAt(at + 2);
		if (position !== COLON) return side.active[position - LETTER_A] ?? null;
		const end = text.indexOf('|', at);
		return named(side, text.slice(at + 4, end < 0 ? undefined : end));
	}

	sideOf(i) {
		return this.sides[this.text.charCodeAt(this.bars[i] + 2) - DIGIT_1];
	}
}

function named(side, name) {
	for (const mon of side.mons) if (mon.name === name) return mon;
	return null;
}

function hashOf(name) {
	let hash = 0;
	for (let i = 0; i < name.length; i++) hash = Math.imul(hash, 31) + name.charCodeAt(i) | 0;
	return hash;
}

// A line's name is looked up by hash, so that no string is made for the many lines nobody needs.
const PARTS = ['roster', 'moves', 'volatiles', 'belongings', 'body', 'field'];
const HANDLERS = new Map(PARTS.flatMap(part =>
	Object.entries(require(`./tracking/${part}`).handlers).map(([name, handle]) => [hashOf(name), handle])));

module.exports = {Rules, Tracker};
