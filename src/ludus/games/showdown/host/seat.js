'use strict';
/** One seat's observation: its own team from its requests, the foe's and the field from the public state. */

const {Matchups} = require('./matchups');
const {MOVE_STATE, clearFloats} = require('./columns');
const {Field} = require('./seat/field');
const {Foes} = require('./seat/foes');
const {MOVES} = require('./seat/own');
const {Team} = require('./seat/team');
const {TYPE_COUNT} = require('./tables');

const ARRAYS = {uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, float32: Float32Array};

/** One seat's row, kept from decision to decision: only what changed is written again. */
class Seat {
	constructor(observer, tracker, index) {
		this.observer = observer;
		this.tracker = tracker;
		this.mine = tracker.sides[index];
		this.foe = tracker.sides[1 - index];
		const buffer = new ArrayBuffer(observer.nbytes);
		this.bytes = new Uint8Array(buffer);
		this.team = new Team(this);
		this.foes = new Foes(this);
		this.field = new Field(this);
		this.matchups = observer.full ? new Matchups(this) : null;
		for (const {key, dtype, offset, size} of observer.packed) this[key] = new ARRAYS[dtype](buffer, offset, size);
	}

	/** Brings the row up to date with the public state and this request. */
	update(request) {
		this.team.update(request);
		this.foes.update();
		this.field.update(request);
		if (this.matchups !== null) this.matchups.update();
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
		this.typesLeaf[i * 3] = fighter.type1;
		this.typesLeaf[i * 3 + 1] = fighter.type2 || fighter.addedType;
		this.typesLeaf[i * 3 + 2] = tera;
	}

	clearMon(i) {
		const {observer} = this;
		const width = observer.pokemonColumns.length;
		this.speciesLeaf[i] = this.abilityLeaf[i] = this.itemLeaf[i] = 0;
		for (let t = i * 3; t < i * 3 + 3; t++) this.typesLeaf[t] = 0;
		for (let m = i * MOVES; m < (i + 1) * MOVES; m++) this.movesLeaf[m] = 0;
		clearFloats(this.pokemonLeaf, i * width, (i + 1) * width);
		clearFloats(this.move_stateLeaf, i * MOVES * MOVE_STATE.length, (i + 1) * MOVES * MOVE_STATE.length);
	}
}

module.exports = {Seat};
