'use strict';
/** One seat's observation: its own team from its requests, the foe's and the field from the public state. */

const {Matchups} = require('./matchups');
const {MOVE_STATE, clearNumbers} = require('./columns');
const {Field} = require('./seat/field');
const {Foes} = require('./seat/foes');
const {MOVES} = require('./seat/own');
const {Speeds} = require('./seat/speeds');
const {Team} = require('./seat/team');
const {TYPE_COUNT} = require('./tables');

/**
 * One seat's row, kept from decision to decision: only what changed is written again. `at` says where each leaf begins
 * in the array of its type.
 */
class Seat {
	constructor(observer, tracker, index) {
		this.observer = observer;
		this.tracker = tracker;
		this.mine = tracker.sides[index];
		this.foe = tracker.sides[1 - index];
		const {arrays, at} = observer.shelf.take();
		this.at = at;
		this.bytes = arrays.bytes;
		this.words = arrays.words;
		this.numbers = arrays.numbers;
		this.small = arrays.small;
		this.doubles = arrays.doubles;
		this.row = arrays.bytes.subarray(at.row, at.row + observer.nbytes);
		this.team = new Team(this);
		this.foes = new Foes(this);
		this.field = new Field(this);
		this.speeds = observer.groups.has('speed') ? new Speeds(this) : null;
		this.matchups = observer.full ? new Matchups(this) : null;
	}

	/** Brings the row up to date with the public state and this request. */
	update(request) {
		this.team.update(request);
		if (this.speeds !== null) this.speeds.update();
		this.foes.update();
		this.field.update(request);
		if (this.matchups !== null) this.matchups.update(request);
	}

	/** Writes the types of row `i`, and into `fighter` what they come to. */
	types(i, fighter, type1, type2, added, tera, terastallized) {
		const stellar = tera === TYPE_COUNT - 1;
		const retyped = terastallized && tera > 0 && !stellar;
		fighter.born1 = type1;
		fighter.born2 = type2;
		fighter.type1 = retyped ? tera : type1;
		fighter.type2 = retyped ? 0 : type2;
		fighter.addedType = retyped ? 0 : added;
		fighter.tera = terastallized ? tera : 0;
		const at = this.at.types + i * 3;
		this.bytes[at] = fighter.type1;
		this.bytes[at + 1] = fighter.type2 || fighter.addedType;
		this.bytes[at + 2] = tera;
	}

	clearMon(i) {
		const {at, bytes, words} = this;
		const {pokemonColumns} = this.observer;
		words[at.species + i] = words[at.ability + i] = words[at.item + i] = 0;
		for (let t = 0; t < 3; t++) bytes[at.types + i * 3 + t] = 0;
		for (let m = 0; m < MOVES; m++) words[at.moves + i * MOVES + m] = 0;
		clearNumbers(this.numbers, at.pokemon + i * pokemonColumns.length, pokemonColumns.length);
		clearNumbers(this.small, at.move_state + i * MOVES * MOVE_STATE.length, MOVES * MOVE_STATE.length);
	}
}

module.exports = {Seat};
