'use strict';
/**
 * Worlds: complete teams that agree with a position, drawn from the beliefs about what it does not show.
 *
 * A Pokemon of the foe that was seen gets one of the sets of its species that agree best with what it has shown. Those
 * that were not seen come from teams that the format's generator makes.
 */

const {NONE} = require('../tables');

const TEAMS = 40; // generated for Pokemon that were not seen
const MOVES = 4;
const LEAST_ROLLS = 30; // attempts to find another species

class Worlds {
	/** `makeTeam` returns a team of the format, or is null if the format has no generator. */
	constructor(observer, makeTeam) {
		this.observer = observer;
		this.makeTeam = makeTeam;
		this.strangers = []; // sets of generated teams; filled when they are first needed
	}

	/** Draw the foe's sets: [{set, mon}], `mon` null for those that were not seen. Own Pokemon are known. */
	draw(position, random) {
		const foes = position.sides[1].team.map(mon => ({mon, set: this.#setOf(mon, random)}));
		const taken = new Set(foes.map(({mon}) => this.#base(mon.species)));
		for (let hidden = position.hidden; hidden > 0 && foes.length < 6; hidden--) {
			const set = this.#stranger(taken, random);
			if (set !== null) foes.push({mon: null, set});
		}
		return foes;
	}

	#base(species) {
		const {species: rows} = this.observer.data;
		return species < rows.first ? '' : rows.entries[species - rows.first].baseSpecies;
	}

	#setOf(mon, random) {
		const {data, beliefs} = this.observer;
		const known = mon.moves.filter(({isKnown}) => isKnown).map(({move}) => move);
		const set = {
			species: data.species.entries[mon.species - data.species.first].name,
			level: mon.level,
			moves: known,
			ability: mon.isAbilityKnown ? mon.ability : 0,
			item: mon.isItemKnown ? mon.item : 0,
			tera: mon.isTeraKnown ? mon.tera : 0,
		};
		const sets = mon.isTransformed ? null : beliefs?.setsOf(mon.species) ?? null;
		if (sets === null) {
			const others = mon.moves.filter(({isKnown}) => !isKnown).map(({move}) => move);
			return {...set, moves: [...known, ...others]};
		}
		const at = drawSet(sets, set, random);
		const probable = Array.from(sets.moves.subarray(at * MOVES, (at + 1) * MOVES)).filter(move => move > 0);
		const moves = [...new Set([...known, ...shuffled(probable, random)])].slice(0, MOVES);
		return {
			...set,
			moves,
			ability: set.ability || sets.ability[at],
			item: set.item || sets.item[at],
			tera: set.tera || sets.tera[at],
		};
	}

	#stranger(taken, random) {
		if (this.makeTeam === null) return null;
		if (this.strangers.length === 0) {
			for (let i = 0; i < TEAMS; i++) this.strangers.push(...this.makeTeam());
		}
		for (let roll = 0; roll < LEAST_ROLLS; roll++) {
			const set = this.strangers[Math.floor(random() * this.strangers.length)];
			const base = this.#base(this.observer.data.species.row(set.species));
			if (taken.has(base)) continue;
			taken.add(base);
			return set;
		}
		return null;
	}
}

/** The row of a set drawn by weight among those that agree best with what is known: moves count most. */
function drawSet(sets, {moves, ability, item, tera}, random) {
	const agreement = new Uint8Array(sets.size);
	let most = 0;
	for (let i = 0; i < sets.size; i++) {
		let count = 0;
		const own = sets.moves.subarray(i * MOVES, (i + 1) * MOVES);
		for (const move of moves) if (own.includes(move)) count += 4;
		if (ability > NONE && sets.ability[i] === ability) count++;
		if (item > NONE && sets.item[i] === item) count++;
		if (tera > 0 && sets.tera[i] === tera) count++;
		agreement[i] = count;
		if (count > most) most = count;
	}
	let rest = 0;
	for (let i = 0; i < sets.size; i++) if (agreement[i] === most) rest += sets.weights[i];
	rest *= random();
	let last = 0;
	for (let i = 0; i < sets.size; i++) {
		if (agreement[i] !== most) continue;
		last = i;
		if ((rest -= sets.weights[i]) < 0) break;
	}
	return last;
}

function shuffled(items, random) {
	for (let i = items.length - 1; i > 0; i--) {
		const j = Math.floor(random() * (i + 1));
		[items[i], items[j]] = [items[j], items[i]];
	}
	return items;
}

module.exports = {Worlds};
