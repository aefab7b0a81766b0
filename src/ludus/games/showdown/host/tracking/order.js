'use strict';
/** Who moved before whom with moves of equal priority, and what their Speed was multiplied by: from public lines. */

const {NONE} = require('../tables');

const SPEED = 4; // its place among the boosts
const PARALYSIS = 2;
const BEST_SPEED = 5; // value of the volatiles protosynthesis and quarkdrive that boost Speed
const OTHER_PRIORITY = 100; // of moves whose place in the turn their priority does not settle
const UNSETTLED = ['grassyglide', 'pursuit', 'afteryou', 'quash'];
const SPEEDY = ['swiftswim', 'chlorophyll', 'sandrush', 'slushrush', 'surgesurfer', 'unburden', 'quickfeet', 'stall',
	'quickdraw', 'myceliummight', 'triage', 'slowstart', 'protosynthesis', 'quarkdrive'];

/** The one that moved first, the other, and their Speed's factors at that time. */
class Precedence {
	constructor({mon, factor, move, isReversed}, second, secondFactor, secondMove) {
		this.first = mon;
		this.second = second;
		this.firstMove = move;
		this.secondMove = secondMove;
		this.firstFactor = factor;
		this.secondFactor = secondFactor;
		this.isReversed = isReversed; // by Trick Room
	}
}

class Order {
	constructor(tables) {
		this.tables = tables;
		this.facts = []; // of the whole battle
		this.movers = []; // of this turn, with the Speed's factors of those that could have moved before them
		this.muddled = false;
		const rows = (table, names) => new Set(names.map(name => table.byId.get(name)).filter(row => row !== undefined));
		this.unsettled = rows(tables.moves, UNSETTLED);
		this.speedy = rows(tables.abilities, SPEEDY);
		this.prankster = tables.abilities.byId.get('prankster') ?? -1;
		this.galeWings = tables.abilities.byId.get('galewings') ?? -1;
	}

	/** `copies`: the Pokemon of the copied battle by those of this one. */
	copy(copies) {
		const made = Object.assign(new Order(this.tables), this);
		made.facts = this.facts.map(fact => Object.assign(
			Object.create(Precedence.prototype), fact, {first: copies.get(fact.first), second: copies.get(fact.second)}));
		made.movers = this.movers.map(mover => (
			{...mover, mon: copies.get(mover.mon), others: mover.others.map(other => copies.get(other))}));
		return made;
	}

	end() {
		this.movers.length = 0;
		this.muddled = false;
	}

	/** Something but Speed and priority settles who moves next in this turn. */
	muddle() {
		this.muddled = true;
	}

	move(tracker, mon, row) {
		if (this.muddled) return;
		const {movers, tables} = this;
		const priority = row === 0 || this.unsettled.has(row) ? OTHER_PRIORITY : tables.movePriority[row];
		if (priority === OTHER_PRIORITY || !this.#isPlain(tracker, mon, row)) return;
		for (const earlier of movers) {
			if (earlier.mon.side === mon.side || earlier.priority !== priority) continue;
			const at = earlier.others.indexOf(mon);
			if (at < 0) continue;
			this.facts.push(new Precedence(earlier, mon, earlier.factors[at], row));
		}
		const others = tracker.sides[1 - mon.side.index].active.filter(other => other !== null && !other.fainted);
		movers.push({
			mon, move: row, priority, factor: this.#factor(tracker, mon), others,
			factors: others.map(other => this.#factor(tracker, other)),
			isReversed: tracker.rooms.length > 0 && tracker.effects.rooms[0] === 'trickroom' && tracker.rooms[0] > 0,
		});
	}

	/** Whether nothing but what everybody sees can have changed its place in the turn. */
	#isPlain(tracker, mon, row) {
		if (mon.transformed || mon.dynamaxed) return false;
		if (this.tables.gen < 3) return true;
		const {ability} = mon;
		if (ability > 0) return this.isPlain(ability, row);
		return tracker.weather < 0 && tracker.terrain < 0 && mon.status === 0 && mon.item !== NONE &&
			(this.tables.gen < 5 || this.isPlain(this.prankster, row)) &&
			(this.tables.gen < 6 || this.isPlain(this.galeWings, row));
	}

	/** The same of a Pokemon with this ability. */
	isPlain(ability, row) {
		if (ability === this.prankster) return this.tables.moveCategory[row] > 0;
		if (ability === this.galeWings) return this.tables.moveType[row] !== 10; // Flying
		return !this.speedy.has(ability);
	}

	#factor(tracker, mon) {
		const {gen} = this.tables;
		const {side: sides, volatile} = tracker.effects;
		let factor = boostFactor(mon.boosts[SPEED], gen);
		if (mon.status === PARALYSIS) factor *= gen < 7 ? 0.25 : 0.5;
		const tailwind = sides.get('tailwind');
		if (tailwind !== undefined && mon.side.conditions[tailwind] > 0) factor *= 2;
		const {protosynthesis, quarkdrive} = volatile;
		if (protosynthesis >= 0 && (mon.volatiles[protosynthesis] === BEST_SPEED ||
			mon.volatiles[quarkdrive] === BEST_SPEED)) factor *= 1.5;
		return factor;
	}
}

function boostFactor(stages, gen) {
	if (gen < 3) return [25, 28, 33, 40, 50, 66, 100, 150, 200, 250, 300, 350, 400][stages + 6] / 100;
	return stages < 0 ? 2 / (2 - stages) : (2 + stages) / 2;
}

module.exports = {Order};
