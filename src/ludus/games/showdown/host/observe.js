'use strict';
/**
 * Observations of one seat: named leaves packed into one row of bytes (docs/games/showdown.md).
 *
 * They come from the public lines of the battle log and from the seat's own requests only. Each seat keeps its row, and
 * only changed parts are written again, so a decision costs microseconds.
 */

const {Effects} = require('./effects');
const {Rules, Tracker} = require('./tracker');
const {Seat} = require('./seat');
const {Places, Shelf} = require('./seat/shelf');
const {Damage} = require('./damage');
const {tablesOf, columns, BOOSTS} = require('./tables');
const {EVIDENCE, FORM, PAIR, SPEEDS, pokemonColumns, fieldColumns, MOVE_STATE, MATCHUP, DUEL} = require('./columns');
const {formsOf} = require('./forms');
const {schemaOf, without} = require('./groups');
const {LAST_TURN} = require('./tracking/events');
const {Beliefs} = require('./beliefs/sets');

const TEAM = 6;
const MOVES = 4;
const BYTES = {uint8: 1, int8: 1, uint16: 2, fixed8: 1, fixed16: 2};
const ROW_ALIGNMENT = 8;
const SPLIT_LENGTH = '|split|p1'.length;

/** The layout of observations in one format, shared by all matches of that format. */
class Observer {
	/**
	 * `actionSet` has `slots` and `variants`; `feature_set` is "raw" or "full". `sets` are those of each species, as
	 * Beliefs takes them; without them, rows hold no beliefs about the foe, and neither do those of "raw". `leave_out`
	 * are groups of contents that rows do without (groups.js); `areGenerated`: the sets are those of a generator.
	 */
	constructor(dex, actionSet, {
		feature_set: featureSet = 'full', gen = dex.gen, sets = null, leave_out: leftOut = [], areGenerated = true,
	} = {}) {
		this.gen = gen;
		this.slots = actionSet.slots;
		this.variants = actionSet.variants;
		this.full = featureSet === 'full';
		this.groups = without(leftOut);
		this.leftOut = leftOut;
		this.data = tablesOf(dex);
		this.effects = new Effects(dex);
		this.damage = new Damage(this.data, this.slots > 1);
		const hasBeliefs = this.full && sets !== null && this.groups.has('beliefs');
		const usesEvidence = this.groups.has('evidence');
		this.beliefs = hasBeliefs ? new Beliefs(this.data, sets, {usesEvidence, areGenerated}) : null;
		this.pokemonColumns = pokemonColumns(this.variants, gen, this.beliefs !== null, this.groups);
		this.fieldColumns = fieldColumns(this.effects, this.slots, this.variants);
		this.dynamaxedAt = this.pokemonColumns.indexOf('dynamaxed'); // -1 if the format has no such column
		this.terastallizedAt = this.pokemonColumns.indexOf('terastallized');
		this.abilityChanceAt = this.pokemonColumns.indexOf('ability_chance');
		this.itemChanceAt = this.pokemonColumns.indexOf('item_chance');
		this.teraChanceAt = this.pokemonColumns.indexOf('tera_chance');
		this.speedsAt = this.pokemonColumns.indexOf(SPEEDS[0]);
		this.evidenceAt = this.pokemonColumns.indexOf(EVIDENCE[0][0]);
		this.offsets = {};
		this.nbytes = 0;
		for (const [name, dtype, shape] of this.leaves()) {
			const item = BYTES[dtype];
			this.nbytes = Math.ceil(this.nbytes / item) * item;
			this.offsets[name] = this.nbytes;
			this.nbytes += item * shape.reduce((a, b) => a * b, 1);
		}
		this.nbytes = Math.ceil(this.nbytes / ROW_ALIGNMENT) * ROW_ALIGNMENT;
		this.at = new Places(this.offsets, this.nbytes, this.fieldColumns, 0); // in a row by itself
		this.shelf = new Shelf(this);
		this.rules = new Rules(this.data);
		this.blanks = this.full && !this.groups.has('ko') ? this.#placesOf('ko') : null;
	}

	get schema() {
		return schemaOf(this.groups);
	}

	/** Return [[name, dtype, shape], ...] in the order in which the leaves are packed. */
	leaves() {
		const S = this.slots;
		const leaves = [
			['species', 'uint16', [2 * TEAM]],
			['ability', 'uint16', [2 * TEAM]],
			['item', 'uint16', [2 * TEAM]],
			['types', 'uint8', [2 * TEAM, 3]],
			['moves', 'uint16', [2 * TEAM, MOVES]],
			['pokemon', 'fixed16', [2 * TEAM, this.pokemonColumns.length]],
			['move_state', 'fixed8', [2 * TEAM, MOVES, MOVE_STATE.length]],
			['boosts', 'int8', [2 * S, BOOSTS.length]],
			['volatiles', 'uint8', [2 * S, this.effects.volatiles.length]],
			['field', 'fixed16', [this.fieldColumns.length]],
		];
		if (this.full) {
			leaves.push(
				['matchup', 'fixed8', [TEAM, MOVES, S, MATCHUP.length]],
				['threat', 'fixed8', [S, MOVES, TEAM, MATCHUP.length]],
				['duel', 'fixed8', [TEAM, S, DUEL.length]]);
		}
		if (this.groups.has('last_turn')) {
			leaves.push(['last_move', 'uint16', [2 * TEAM]], ['last_turn', 'fixed8', [2 * S, LAST_TURN.length]]);
		}
		if (this.full && this.groups.has('pairs')) leaves.push(['pairs', 'fixed8', [TEAM, TEAM, PAIR.length]]);
		const forms = formsOf(this.variants).length;
		if (this.full && this.groups.has('forms') && forms > 0) {
			const shape = [forms, S, MOVES, S, FORM.length];
			leaves.push(['form_matchup', 'fixed8', shape], ['form_threat', 'fixed8', shape]);
		}
		return leaves;
	}

	/** Return the bytes of a row that hold a column of `matchup` and `threat`. */
	#placesOf(column) {
		const places = [];
		for (const [name, , shape] of this.leaves()) {
			if (name !== 'matchup' && name !== 'threat') continue;
			const size = shape.reduce((a, b) => a * b, 1);
			for (let i = MATCHUP.indexOf(column); i < size; i += MATCHUP.length) places.push(this.offsets[name] + i);
		}
		return places;
	}

	/** Return the tables that id leaves index into: name -> {shape, data: Float32Array}. */
	tables() {
		return this.data.published();
	}

	/** Return the names of all columns and ids, for the spec's `layout`. */
	layout() {
		return {
			pokemon: this.pokemonColumns,
			move_state: MOVE_STATE,
			boosts: BOOSTS,
			volatiles: this.effects.volatiles,
			field: this.fieldColumns,
			...(this.full ? {matchup: MATCHUP, threat: MATCHUP, duel: DUEL} : {}),
			...(this.groups.has('last_turn') ? {last_turn: LAST_TURN} : {}),
			...(this.full && this.groups.has('pairs') ? {pairs: PAIR} : {}),
			...(this.full && this.groups.has('forms') ? {forms: formsOf(this.variants), form: FORM} : {}),
			...(this.leftOut.length && this.schema > 4 ? {left_out: [...this.leftOut].sort()} : {}),
			types: this.data.types,
			columns,
			species_names: this.data.species.names(),
			move_names: this.data.moves.names(),
			item_names: this.data.items.names(),
			ability_names: this.data.abilities.names(),
		};
	}
}

/** The observations of one match: the public state, which both seats share, and the private state of each seat. */
class View {
	/** Only `battle.log` is read. With a `tracker`, the view goes on from its state. */
	constructor(observer, battle, tracker = new Tracker(observer.data, observer.slots, observer.effects, observer.rules)) {
		this.observer = observer;
		this.battle = battle;
		this.cursor = 0;
		this.lead = 0; // strength of seat 0 minus that of seat 1, after the last read
		this.tracker = tracker;
		this.seats = [new Seat(observer, this.tracker, 0), new Seat(observer, this.tracker, 1)];
	}

	/** Read the lines logged since the last call. After |split| come two lines: one for a player, one for everybody. */
	read() {
		const {log} = this.battle;
		const {tracker} = this;
		let at = this.cursor;
		for (; at < log.length; at++) {
			let line = log[at];
			if (typeof line === 'string' && line.length === SPLIT_LENGTH && line.startsWith('|split|')) line = log[at += 2];
			if (typeof line === 'string') tracker.line(line);
			else tracker.told(line.parts);
		}
		this.cursor = log.length;
		this.lead = strengthOf(tracker.sides[0]) - strengthOf(tracker.sides[1]);
	}

	/**
	 * Write the seat's row into `out` at `offset`, from its own request and the lines read so far. Returns a bit set: bit
	 * i is set if the Pokemon in place i of the request is alive.
	 */
	encode(seat, request, out, offset) {
		const own = this.seats[seat];
		own.update(request);
		out.set(own.row, offset);
		const {blanks} = this.observer;
		if (blanks !== null) for (const place of blanks) out[offset + place] = 0;
		return own.team.alive;
	}

	/** Return the shaping potential in [-1, 1]: own strength minus the foe's, from the public state. */
	potential(seat) {
		return seat === 0 ? this.lead : 0 - this.lead;
	}
}

/** Return the strength of a side in [0, 1]: the mean of its share of HP left and its share of Pokemon alive. */
function strengthOf(side) {
	if (!side.hurt) return side.strength;
	let sum = side.size;
	for (const mon of side.mons) {
		if (mon.fainted) sum--;
		else sum -= (1 - mon.hp) / 2;
	}
	side.hurt = false;
	side.strength = Math.max(0, sum) / side.size;
	return side.strength;
}

module.exports = {Observer, View, strengthOf};
