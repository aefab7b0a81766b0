'use strict';
/**
 * What a row of an observation says about a battle, by name. Search starts from it, so it knows nothing else.
 *
 * Only singles are read.
 */

const {BOOSTS, NONE, STATUSES} = require('../tables');
const {EVIDENCE, MOVE_STATE, ONE, ONE8} = require('../columns');
const {EFFECTIVE, FIRST_SHARE, LAST_SHARE, LAST_TURN, ORDER} = require('../tracking/events');

const TEAM = 6;
const MOVES = 4;
const STAT_UNIT = 500; // of the columns of stats
const STATS = ['atk', 'def', 'spa', 'spd', 'spe'];

/** Reads rows of one observer. */
class Reader {
	constructor(observer) {
		this.observer = observer;
		this.columns = placesOf(observer.pokemonColumns);
		this.fields = placesOf(observer.fieldColumns);
		this.states = placesOf(MOVE_STATE);
	}

	/** Return the position that a row describes. `row` begins at a multiple of 8 bytes. */
	read(row) {
		const field = this.#field(row);
		const own = this.#team(row, 0, field);
		const foe = this.#team(row, TEAM, field);
		return {
			turn: Math.round(field.turn * 100),
			isSwitch: field.request_switch > 0,
			isPreview: field.request_preview > 0,
			can: this.#named(field, 'can_', '_0'),
			spent: this.#named(field, 'foe_spent_', ''),
			hidden: Math.round(field.foe_unrevealed * TEAM),
			lastTurn: this.#lastTurn(row),
			field: this.#conditions(field),
			sides: [
				{team: own, boosts: this.#boosts(row, 0), volatiles: this.#volatiles(row, 0), conditions: this.#side(field, 'own')},
				{team: foe, boosts: this.#boosts(row, 1), volatiles: this.#volatiles(row, 1), conditions: this.#side(field, 'foe')},
			],
		};
	}

	#field(row) {
		const {observer} = this;
		const numbers = view(Int16Array, row, observer.offsets.field, observer.fieldColumns.length);
		return Object.fromEntries(observer.fieldColumns.map((name, i) => [name, numbers[i] / ONE]));
	}

	/** The columns that begin with `prefix` and end with `suffix`, by what is between. */
	#named(field, prefix, suffix) {
		const found = {};
		for (const [name, value] of Object.entries(field)) {
			if (!name.startsWith(prefix) || !name.endsWith(suffix)) continue;
			found[name.slice(prefix.length, name.length - suffix.length)] = value > 0;
		}
		return found;
	}

	/** Weather, terrain and rooms: [{name, turns}]. */
	#conditions(field) {
		const {effects} = this.observer;
		const of = (names, prefix, turns) => names
			.filter(name => field[prefix + name] > 0)
			.map(name => ({name, turns: turnsOf(field[turns])}));
		return {
			weather: of(effects.weathers, 'weather_', 'weather_turns')[0] ?? null,
			terrain: of(effects.terrains, 'terrain_', 'terrain_turns')[0] ?? null,
			rooms: of(effects.rooms, '', 'trickroom_turns'),
		};
	}

	#side(field, side) {
		return this.observer.effects.sideConditions
			.filter(({name}) => field[`${side}_${name}`] > 0)
			.map(({name, layers = 1}) => ({
				name, layers: Math.round(field[`${side}_${name}`] * layers), turns: turnsOf(field[`${side}_${name}_turns`] ?? 0),
			}));
	}

	/** What happened last turn, own place first: {numbers, moves}, or null if rows do not say. */
	#lastTurn(row) {
		const {groups, offsets, slots} = this.observer;
		if (!groups.has('last_turn')) return null;
		const numbers = view(Int8Array, row, offsets.last_turn, 2 * slots * LAST_TURN.length);
		const moves = view(Uint16Array, row, offsets.last_move, 2 * TEAM);
		return {
			numbers: Array.from(numbers, (value, i) => happened(i % LAST_TURN.length, value)),
			moves: [...moves.subarray(0, slots), ...moves.subarray(TEAM, TEAM + slots)],
		};
	}

	#boosts(row, slot) {
		const values = view(Int8Array, row, this.observer.offsets.boosts + slot * BOOSTS.length, BOOSTS.length);
		return Object.fromEntries(BOOSTS.map((stat, i) => [stat, values[i]]));
	}

	#volatiles(row, slot) {
		const {volatiles} = this.observer.effects;
		const values = view(Uint8Array, row, this.observer.offsets.volatiles + slot * volatiles.length, volatiles.length);
		return Object.fromEntries(volatiles.map((name, i) => [name, values[i]]).filter(([, value]) => value > 0));
	}

	/** The Pokemon in rows `first` to `first + 5` that are there and are known. */
	#team(row, first) {
		const team = [];
		for (let p = first; p < first + TEAM; p++) {
			const mon = this.#pokemon(row, p);
			if (mon !== null) team.push(mon);
		}
		return team;
	}

	#pokemon(row, p) {
		const {observer, columns} = this;
		const {offsets, pokemonColumns} = observer;
		const width = pokemonColumns.length;
		const numbers = view(Int16Array, row, offsets.pokemon + 2 * p * width, width);
		const of = (name, fallback = 0) => columns[name] === undefined ? fallback : numbers[columns[name]] / ONE;
		const words = name => view(Uint16Array, row, offsets[name] + 2 * p, 1)[0];
		const species = words('species');
		if (species === 0 || of('present') === 0) return null;
		const types = view(Uint8Array, row, offsets.types + 3 * p, 3);
		const status = STATUSES.findIndex(name => of(name) > 0);
		return {
			species,
			ability: words('ability'),
			item: words('item'),
			isAbilityKnown: of('ability_chance', 1) === 1,
			isItemKnown: of('item_chance', 1) === 1,
			isTeraKnown: of('tera_chance', 1) === 1,
			types: [types[0], types[1]],
			tera: types[2],
			hp: of('hp'),
			isAlive: of('alive') > 0,
			isActive: of('active') > 0,
			isRevealed: of('revealed') > 0,
			isTerastallized: of('terastallized') > 0,
			isTransformed: of('transformed') > 0,
			level: Math.round(of('level') * 100),
			status: status < 0 ? '' : STATUSES[status],
			statusTurns: turnsOf(of('status_turns')),
			activeTurns: turnsOf(of('active_turns')),
			isTrapped: of('trapped') > 0,
			maxhp: Math.round(of('maxhp') * STAT_UNIT),
			stats: Object.fromEntries(STATS.map(stat => [stat, Math.round(of(stat) * STAT_UNIT)])),
			speeds: [of('speed_least') * STAT_UNIT, of('speed_most', 2) === 2 ? Infinity : of('speed_most') * STAT_UNIT],
			repeated: turnsOf(of('repeated')),
			ruledOut: EVIDENCE.reduce((kinds, [name, kind]) => of(name) > 0 ? kinds | kind : kinds, 0),
			chances: ['ability', 'item', 'tera'].map(name => of(`${name}_chance`)),
			moves: this.#moves(row, p),
		};
	}

	#moves(row, p) {
		const {offsets} = this.observer;
		const {states} = this;
		const width = MOVE_STATE.length;
		const ids = view(Uint16Array, row, offsets.moves + 2 * p * MOVES, MOVES);
		const moves = [];
		for (let m = 0; m < MOVES; m++) {
			if (ids[m] === 0) continue;
			const state = view(Int8Array, row, offsets.move_state + (p * MOVES + m) * width, width);
			moves.push({
				move: ids[m],
				isKnown: state[states.known] === ONE8,
				chance: state[states.known] / ONE8,
				pp: state[states.pp] / ONE8,
				isDisabled: state[states.disabled] > 0,
				isLast: state[states.last_used] > 0,
			});
		}
		return moves;
	}
}

function placesOf(names) {
	return Object.fromEntries(names.map((name, i) => [name, i]));
}

function view(Type, row, offset, count) {
	return new Type(row.buffer, row.byteOffset + offset, count);
}

/** Turns, of a column that shows them as eighths; 8 stands for more, too. */
function turnsOf(value) {
	return Math.round(value * 8);
}

/** The inverse of what rows hold of column `k` of the last turn (seat/field.js). */
function happened(k, value) {
	if (k >= FIRST_SHARE && k <= LAST_SHARE) return Math.round(value * 100 / ONE8);
	if (k === ORDER) return value * 4 / ONE8;
	return k === EFFECTIVE ? value * 2 / ONE8 : value / ONE8;
}

module.exports = {NONE, Reader};
