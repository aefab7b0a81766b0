'use strict';
/**
 * Look-ups by name without turning the name into an id first.
 *
 * Dex tables and `hasAbility`/`hasItem` lower-case and filter their argument with a regular expression on every call,
 * thousands of times a battle, for a few hundred distinct names.
 */

const FOUND = Symbol('ludus.found');

/** Moves of Gen 1 that are in no table: what is chosen asleep, frozen or trapped, and what comes of it. */
const STAND_INS = new Set(['fight', 'nomove', 'cannotmove']);

module.exports = function patchLookups({
	replace, Pokemon, DexMoves, DexAbilities, DexItems, DexSpecies, DexTypes, DexNatures, DexConditions, toID,
}) {
	const ids = new Map();

	function idOf(name) {
		if (typeof name !== 'string') return toID(name);
		let id = ids.get(name);
		if (id === undefined) ids.set(name, id = toID(name));
		return id;
	}

	/** Whether a name, or one of several, means the id. */
	function matches(names, id) {
		if (!Array.isArray(names)) return idOf(names) === id;
		for (let i = 0; i < names.length; i++) if (idOf(names[i]) === id) return true;
		return false;
	}

	/** What exists is kept for good by the dex's own cache as well; of what does not, only stand-ins are kept. */
	const remember = stock => function (name) {
		if (typeof name !== 'string') return stock.call(this, name);
		const found = this[FOUND] ||= new Map();
		let thing = found.get(name);
		if (thing === undefined) {
			thing = stock.call(this, name);
			if (thing.exists) found.set(name, thing);
			else if (STAND_INS.has(name)) found.set(name, this.dex.deepFreeze(thing));
		}
		return thing;
	};
	replace(DexMoves.prototype, 'get', 'e0c806ee26b3', remember);
	replace(DexAbilities.prototype, 'get', 'd7679ec992c8', remember);
	replace(DexItems.prototype, 'get', 'e0c806ee26b3', remember);
	replace(DexSpecies.prototype, 'get', '1ae58b7d6616', remember);
	replace(DexTypes.prototype, 'get', '9c68e0ee6668', remember);

	// asked for the type of every move that hits
	const typeNames = new WeakMap();
	replace(DexTypes.prototype, 'isName', '1c40ed401c85', stock => function (name) {
		let known = typeNames.get(this);
		if (known === undefined) typeNames.set(this, known = new Set());
		if (known.has(name)) return true;
		const isName = stock.call(this, name);
		if (isName) known.add(name);
		return isName;
	});

	replace(DexNatures.prototype, 'get', '9c68e0ee6668', remember);
	replace(DexConditions.prototype, 'get', '54f6826d39af', remember);

	replace(Pokemon.prototype, 'hasAbility', '3fe58be6292c', () => function (ability) {
		return matches(ability, this.ability) && !this.ignoringAbility();
	});

	replace(Pokemon.prototype, 'hasItem', '8d994c0e1e92', () => function (item) {
		return matches(item, this.item) && !this.ignoringItem();
	});

	// the stock method looks its ability up four times and lists all active Pokemon in a new array
	replace(Pokemon.prototype, 'ignoringAbility', '322d4767807b', () => function () {
		const {battle} = this;
		if (battle.gen >= 5 && !this.isActive) return true;
		const {flags} = this.getAbility();
		if (flags['notransform'] && this.transformed) return true;
		if (flags['cantsuppress']) return false;
		if (this.volatiles['gastroacid']) return true;
		if (this.hasItem('Ability Shield') || this.ability === 'neutralizinggas') return false;
		for (const side of battle.sides) {
			for (const pokemon of side.active) {
				if (
					pokemon && pokemon.ability === 'neutralizinggas' && !pokemon.fainted &&
					!pokemon.volatiles['gastroacid'] && !pokemon.transformed && !pokemon.abilityState.ending &&
					!this.volatiles['commanding']
				) return true;
			}
		}
		return false;
	});
};
