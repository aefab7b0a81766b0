'use strict';
/** Memory for the rows of seats, in buffers that several of them share. */

const {PAIR_HITS, TEAM} = require('../matchups');

const SEATS = 16; // in one buffer, which lives as long as the longest of their matches

/**
 * An array over a buffer is two objects of a hundred bytes each: dear to make and, when many matches take turns, dear
 * to fetch. So one of each type serves all seats of a buffer, and `at` says where in them a seat's row is.
 */
class Shelf {
	#stride;
	#places;
	#buffer = null;
	#taken = SEATS;

	/** `offsets` are those of the leaves in a row of `nbytes`, in bytes. */
	constructor({offsets, nbytes, slots, fieldColumns}) {
		this.#stride = nbytes + 8 * PAIR_HITS * TEAM * slots;
		this.#places = Array.from({length: SEATS}, (_, i) => new Places(offsets, nbytes, fieldColumns, i * this.#stride));
	}

	/** Room for one seat, all zeros. */
	take() {
		if (this.#taken === SEATS) {
			this.#buffer = new SharedArrays(SEATS * this.#stride);
			this.#taken = 0;
		}
		return {arrays: this.#buffer, at: this.#places[this.#taken++]};
	}
}

class SharedArrays {
	constructor(nbytes) {
		const buffer = new ArrayBuffer(nbytes);
		this.bytes = new Uint8Array(buffer);
		this.words = new Uint16Array(buffer);
		this.numbers = new Int16Array(buffer); // fixed16
		this.small = new Int8Array(buffer); // fixed8
		this.doubles = new Float64Array(buffer);
	}
}

/** Where the leaves of a row that begins at byte `start` are, each in items of its type. */
class Places {
	constructor(offsets, nbytes, fieldColumns, start) {
		const bytes = name => start + (offsets[name] ?? 0); // the raw feature set has fewer leaves
		const words = name => bytes(name) / 2;
		this.row = start;
		this.species = words('species');
		this.ability = words('ability');
		this.item = words('item');
		this.types = bytes('types');
		this.moves = words('moves');
		this.pokemon = words('pokemon');
		this.move_state = bytes('move_state');
		this.boosts = bytes('boosts');
		this.volatiles = bytes('volatiles');
		this.field = words('field');
		this.matchup = bytes('matchup');
		this.threat = bytes('threat');
		this.duel = bytes('duel');
		this.pairs = bytes('pairs');
		this.form_matchup = bytes('form_matchup');
		this.form_threat = bytes('form_threat');
		this.last_turn = bytes('last_turn');
		this.last_move = words('last_move');
		this.hits = (start + nbytes) / 8; // of the match-ups, behind the row
		this.columns = new FieldPlaces(fieldColumns, this.field);
	}
}

/** Where columns of the leaf `field` are, and where groups of them begin; it has too many for an object of all. */
class FieldPlaces {
	constructor(names, start) {
		const column = name => start + names.indexOf(name);
		const first = prefix => start + names.findIndex(name => name.startsWith(prefix));
		this.weather = first('weather_');
		this.weatherTurns = column('weather_turns');
		this.terrain = first('terrain_');
		this.terrainTurns = column('terrain_turns');
		this.rooms = column('trickroom');
		this.trickRoomTurns = column('trickroom_turns');
		this.own = first('own_');
		this.foe = first('foe_');
		this.turn = column('turn');
		this.requestMove = column('request_move');
		this.requestSwitch = column('request_switch');
		this.requestPreview = column('request_preview');
		this.force = first('force_');
		this.can = first('can_');
		this.spent = first('foe_spent_');
		this.foeUnrevealed = column('foe_unrevealed');
		this.ownAlive = column('own_alive');
		this.foeAlive = column('foe_alive');
	}
}

module.exports = {Places, Shelf};
