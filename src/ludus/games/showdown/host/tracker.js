'use strict';
/**
 * The public state of a battle, from protocol lines alone.
 *
 * Feed it the lines a spectator sees, in order, once; or, for one player, the lines the server sends to that player:
 * they differ in the HP of the player's own Pokemon only, which observations take from the request. A line is a text,
 * or already in its parts, as a simulator in this process tells it.
 */

const {Effects} = require('./effects');
const {Events} = require('./tracking/events');
const {Order} = require('./tracking/order');
const {Side} = require('./tracking/state');

const BAR = 124; // '|'
const BRACKET = 91; // '['
const COLON = 58;
const LETTER_A = 97;
const LETTER_P = 112;
const DIGIT_0 = 48;
const DIGIT_1 = 49;
const LOCKING = ['outrage', 'petaldance', 'thrash', 'ragingfury'];
const BINDING = ['bind', 'wrap', 'clamp', 'firespin'];

/** What all battles of a format share: the rows of moves and abilities that the tracker treats apart. */
class Rules {
	constructor({dex, moves, abilities}) {
		this.locking = new Set(LOCKING.map(id => moves.row(id)));
		this.binding = new Set(BINDING.map(id => moves.row(id)));
		this.pressure = abilities.row('pressure');
		this.gas = abilities.byId.get('neutralizinggas') ?? -1;
		this.asOne = new Set(['asoneglastrier', 'asonespectrier'].map(id => abilities.byId.get(id)));
		this.unnerve = abilities.byId.get('unnerve') ?? -1;
		this.unscathed = new Set(['magicguard', 'longreach'].map(id => abilities.byId.get(id))); // by a Rocky Helmet
		this.struggle = moves.row('struggle');
		this.floors = dex.currentMod.startsWith('champions'); // how HP becomes a percentage
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
		this.spender = null; // who used up an item since the last move, and which
		this.spent = 0;
		this.gas = false; // Neutralizing Gas has been seen
		this.awaiting = []; // whose items would show themselves before the next action
		this.events = new Events(slots);
		this.orders = new Order(tables);
		this.guarded = false; // somebody may have what passes with the turn, or has stalled
		this.parts = []; // of the line in hand
		this.first = 0; // where its fields begin among them, after its name
		this.locking = rules.locking;
		this.binding = rules.binding;
		this.pressure = rules.pressure;
		this.asOne = rules.asOne;
		this.struggle = rules.struggle;
		this.floors = rules.floors;
		this.gasRow = rules.gas;
		this.unnerve = rules.unnerve;
		this.unscathed = rules.unscathed;
	}

	/** Takes one line. Lines it has no use for are ignored. */
	line(text) {
		const {length} = text;
		if (length < 4) return;
		let hash = 0;
		for (let at = 1; at < length && text.charCodeAt(at) !== BAR; at++) {
			hash = Math.imul(hash, 31) + text.charCodeAt(at) | 0;
		}
		const handle = BY_HASH.get(hash);
		if (handle === undefined) return;
		this.parts = text.split('|');
		this.first = 2; // after the name and what stands before the first bar
		handle(this);
	}

	/** Takes one line in its parts, the name of the line first. */
	told(parts) {
		const handle = HANDLERS.get(parts[0]);
		if (handle === undefined) return;
		this.parts = parts;
		this.first = 1;
		handle(this);
	}

	/** How many fields the line has after its name. */
	get fields() {
		return this.parts.length - this.first;
	}

	/** Field `i` of the line after its name, '' if there are fewer. */
	field(i) {
		const at = this.first + i;
		return at < this.parts.length ? this.parts[at] : '';
	}

	/** Field `i`, which is digits, as a number. */
	count(i) {
		const text = this.field(i);
		let count = 0;
		for (let at = 0; at < text.length; at++) count = 10 * count + text.charCodeAt(at) - DIGIT_0;
		return count;
	}

	/** The value of `[key]` at the end of the line, '' if it has none. */
	keyword(key) {
		const {parts} = this;
		for (let at = this.first; at < parts.length; at++) {
			if (parts[at].startsWith(key)) return parts[at].slice(key.length).trim();
		}
		return '';
	}

	from() {
		return this.keyword('[from]');
	}

	of() {
		const ident = this.keyword('[of] ');
		return ident === '' ? null : this.named(ident);
	}

	/** Whether a field begins with this. */
	has(text) {
		const {parts} = this;
		for (let at = this.first; at < parts.length; at++) if (parts[at].startsWith(text)) return true;
		return false;
	}

	/** Whether the line ends with a keyword, such as `[from] item: Leftovers`. */
	get hasKeyword() {
		return this.parts[this.parts.length - 1].charCodeAt(0) === BRACKET;
	}

	/** The Pokemon that field `i` names, or null. */
	mon(i) {
		const at = this.first + i;
		return at < this.parts.length ? this.named(this.parts[at]) : null;
	}

	/** The Pokemon that lines call `p1a: Pikachu`, or `p1: Pikachu` on the bench; or null. */
	named(ident) {
		if (ident.charCodeAt(0) !== LETTER_P) return null;
		const side = this.sides[ident.charCodeAt(1) - DIGIT_1];
		if (side === undefined) return null;
		const position = ident.charCodeAt(2);
		if (position !== COLON) return side.active[position - LETTER_A] ?? null;
		side.bench++; // whoever is called by a line may change by it
		return benched(side, ident.slice(4));
	}

	/** The side that field `i` names, or whose Pokemon it names. */
	sideOf(i) {
		return this.sides[this.field(i).charCodeAt(1) - DIGIT_1];
	}

	/** The place on the field that field `i` names, `b` of `p1b: Pikachu` being 1. */
	slotOf(i) {
		return this.field(i).charCodeAt(2) - LETTER_A;
	}
}

function benched(side, name) {
	for (const mon of side.mons) if (mon.name === name) return mon;
	return null;
}

function hashOf(name) {
	let hash = 0;
	for (let i = 0; i < name.length; i++) hash = Math.imul(hash, 31) + name.charCodeAt(i) | 0;
	return hash;
}

const PARTS = ['roster', 'moves', 'volatiles', 'belongings', 'body', 'field', 'events'];
const HANDLERS = new Map(PARTS.flatMap(part => Object.entries(require(`./tracking/${part}`).handlers)));
// A text's name is looked up by hash, so that no string is made for the many lines nobody needs.
const BY_HASH = new Map([...HANDLERS].map(([name, handle]) => [hashOf(name), handle]));

module.exports = {Rules, Tracker};
