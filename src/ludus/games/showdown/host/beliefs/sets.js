'use strict';
/**
 * Which moves, ability, item and tera type a Pokemon of the foe probably has, given what it has shown.
 *
 * A species has weighted sets: those that the format's team generator makes, or those of a usage file. The sets that
 * agree best with what was shown are kept, and their weights are the probabilities.
 */

const {Kinds, OF_ABILITIES, OF_ITEMS} = require('../kinds');
const {NONE} = require('../tables');

const MOVES = 4;
const AGAINST = 3; // what is against a set counts less than a move that it has, more than all else

/** What is probable of one Pokemon. Ids are those of tables.js; 0 stands for none. Chances are in [0, 1]. */
class Belief {
	constructor() {
		this.sets = null; // of its species; null if it has none
		// what it was computed from
		this.species = 0;
		this.known = 0; // number of moves shown
		this.shownAbility = 0;
		this.shownItem = 0;
		this.shownTera = 0;
		this.ruledOut = 0;
		this.implied = 0;
		// the most probable moves not shown, most probable first
		this.moves = new Uint16Array(MOVES);
		this.chances = new Float64Array(MOVES);
		this.ability = 0;
		this.item = 0;
		this.tera = 0;
		this.of = new Float64Array(3); // chances of ability, item and tera type
	}

	copy() {
		const made = Object.assign(new Belief(), this);
		made.moves = this.moves.slice();
		made.chances = this.chances.slice();
		made.of = this.of.slice();
		return made;
	}
}

const ABILITY = 0, ITEM = 1, TERA = 2; // places in `of`

/** The weighted sets of one species: columns of a table with a row for each set. */
class SpeciesSets {
	/** `sets`: [weight, [ids of moves], ability, item, tera type] for each set. */
	constructor(sets, kinds) {
		const size = sets.length;
		this.size = size;
		this.weights = Float64Array.from(sets, set => set[0]);
		this.moves = new Uint16Array(size * MOVES);
		this.ability = Uint16Array.from(sets, set => set[2]);
		this.item = Uint16Array.from(sets, set => set[3]);
		this.tera = Uint8Array.from(sets, set => set[4]);
		sets.forEach(([, moves], i) => this.moves.set(moves.slice(0, MOVES), i * MOVES));
		this.allMoves = distinct(this.moves);
		this.allAbilities = distinct(this.ability);
		this.allItems = distinct(this.item);
		this.allTeras = distinct(this.tera);
		this.kinds = new Uint32Array(size); // that what it did can rule out
		this.explains = new Uint32Array(size); // kinds that it has, or needs not to have
		for (let i = 0; i < size; i++) {
			const [item, ability] = [this.item[i], this.ability[i]];
			const excuse = kinds.excuse[ability];
			this.kinds[i] = kinds.item[item] & ~excuse | kinds.ability[ability];
			this.explains[i] = kinds.item[item] | excuse;
		}
	}
}

/** The sets of all species of a format. */
class Beliefs {
	/**
	 * `sets`: species id -> list of sets as in SpeciesSets. `tables` are those of the format's dex. Without
	 * `usesEvidence`, what was not shown does not count. `areGenerated`: a format's generator made them.
	 */
	constructor(tables, sets, {usesEvidence = true, areGenerated = false} = {}) {
		const kinds = new Kinds(tables);
		this.usesEvidence = usesEvidence;
		this.areGenerated = areGenerated;
		this.tables = tables;
		this.bySpecies = new Map(Array.from(sets, ([species, own]) => [species, new SpeciesSets(own, kinds)]));
		this.moveWeights = new Float64Array(tables.moves.size);
		this.abilityWeights = new Float64Array(tables.abilities.size + 1); // gens without abilities have the row "none" only
		this.itemWeights = new Float64Array(tables.items.size + 1);
		this.teraWeights = new Float64Array(tables.types.length + 1);
		this.agreement = new Int8Array(Math.max(1, ...Array.from(this.bySpecies.values(), own => own.size)));
	}

	/** Return the belief about a tracked Pokemon, valid until it shows more, or null if its species has no sets. */
	about(mon) {
		const belief = mon.belief ??= new Belief();
		if (belief.species === mon.species && belief.known === mon.moveCount && belief.shownTera === mon.tera &&
			belief.shownAbility === mon.baseAbility && belief.shownItem === mon.item && (!this.usesEvidence ||
			(belief.ruledOut === mon.ruledOut && belief.implied === mon.implied))) {
			return belief.sets === null ? null : belief;
		}
		this.#note(belief, mon);
		if (belief.sets === null) return null;
		this.#weigh(belief, mon);
		return belief;
	}

	/** Return a belief that was computed elsewhere, as one about `mon` that is valid until it shows more. */
	given(mon, {ability, item, tera, moves, chances, of}) {
		const belief = new Belief();
		this.#note(belief, mon);
		Object.assign(belief, {ability, item, tera});
		belief.moves.set(moves.slice(0, MOVES));
		belief.chances.set(chances.slice(0, MOVES));
		belief.of.set(of);
		return belief;
	}

	/** Notes what the belief is computed from. */
	#note(belief, mon) {
		if (belief.species !== mon.species) belief.sets = this.setsOf(mon.species);
		belief.species = mon.species;
		belief.known = mon.moveCount;
		belief.shownAbility = mon.baseAbility;
		belief.shownItem = mon.item;
		belief.shownTera = mon.tera;
		belief.ruledOut = mon.ruledOut;
		belief.implied = mon.implied;
	}

	/** Return the sets of the species, or of the one that it is a forme of; null if it has none. */
	setsOf(species) {
		const {species: rows} = this.tables;
		const own = this.bySpecies.get(species);
		if (own !== undefined || species < rows.first) return own ?? null;
		return this.bySpecies.get(rows.row(rows.entries[species - rows.first].baseSpecies)) ?? null;
	}

	#weigh(belief, mon) {
		const {sets} = belief;
		const most = this.#agree(sets, mon);
		const {agreement, moveWeights, abilityWeights, itemWeights, teraWeights} = this;
		clear(moveWeights, sets.allMoves);
		clear(abilityWeights, sets.allAbilities);
		clear(itemWeights, sets.allItems);
		clear(teraWeights, sets.allTeras);
		let total = 0;
		for (let i = 0; i < sets.size; i++) {
			if (agreement[i] !== most) continue;
			const weight = sets.weights[i];
			total += weight;
			for (let m = i * MOVES; m < (i + 1) * MOVES; m++) moveWeights[sets.moves[m]] += weight;
			abilityWeights[sets.ability[i]] += weight;
			itemWeights[sets.item[i]] += weight;
			teraWeights[sets.tera[i]] += weight;
		}
		for (let m = 0; m < mon.moveCount; m++) moveWeights[mon.moves[m]] = 0;
		for (let k = 0; k < MOVES; k++) {
			const move = k < MOVES - mon.moveCount ? heaviest(moveWeights, sets.allMoves) : 0;
			belief.moves[k] = move;
			belief.chances[k] = move > 0 ? chanceOf(moveWeights[move], total) : 0;
			moveWeights[move] = 0;
		}
		belief.ability = heaviest(abilityWeights, sets.allAbilities);
		belief.item = heaviest(itemWeights, sets.allItems);
		belief.tera = heaviest(teraWeights, sets.allTeras);
		belief.of[ABILITY] = belief.ability > 0 ? chanceOf(abilityWeights[belief.ability], total) : 0;
		belief.of[ITEM] = belief.item > 0 ? chanceOf(itemWeights[belief.item], total) : 0;
		belief.of[TERA] = belief.tera > 0 ? chanceOf(teraWeights[belief.tera], total) : 0;
	}

	/** Count for each set what it has in common with what was shown. Returns the largest count. A move counts most. */
	#agree(sets, mon) {
		const {agreement} = this;
		const {moves, moveCount, baseAbility, item, tera} = mon;
		const {usesEvidence} = this;
		const open = (item === 0 ? OF_ITEMS : 0) | (baseAbility === 0 ? OF_ABILITIES : 0);
		const ruledOut = usesEvidence ? mon.ruledOut & open : 0;
		const implied = usesEvidence ? mon.implied & open : 0;
		let most = -Infinity;
		for (let i = 0; i < sets.size; i++) {
			let count = sets.kinds[i] & ruledOut || implied & ~sets.explains[i] ? -AGAINST : 0;
			for (let m = 0; m < moveCount; m++) {
				const move = moves[m];
				const at = i * MOVES;
				if (sets.moves[at] === move || sets.moves[at + 1] === move || sets.moves[at + 2] === move ||
					sets.moves[at + 3] === move) count += 4;
			}
			if (baseAbility > NONE && sets.ability[i] === baseAbility) count++;
			if (item > NONE && sets.item[i] === item) count++;
			if (tera > 0 && sets.tera[i] === tera) count++;
			agreement[i] = count;
			if (count > most) most = count;
		}
		return most;
	}
}

/**
 * The chance of what so much of the total weight has. The largest of several shares of a few counted sets is larger
 * than its chance, on average, so one more set counts that has none of it.
 */
function chanceOf(weight, total) {
	return weight === total ? 1 : weight / (total + 1);
}

/** The ids in an array, without 0 and each once, in ascending order. */
function distinct(ids) {
	return Uint16Array.from(new Set(ids)).filter(id => id > 0).sort();
}

function clear(weights, ids) {
	for (let i = 0; i < ids.length; i++) weights[ids[i]] = 0;
}

/** The id of the largest weight among `ids`; 0 if all are 0. */
function heaviest(weights, ids) {
	let best = 0;
	let most = 0;
	for (let i = 0; i < ids.length; i++) {
		const weight = weights[ids[i]];
		if (weight > most) most = weight, best = ids[i];
	}
	return best;
}

module.exports = {ABILITY, Belief, Beliefs, ITEM, SpeciesSets, TERA};
