'use strict';
/**
 * Team generators and rules, built once instead of once a battle.
 *
 * A generator's constructor filters the whole move list once for each generation it inherits from, which takes longer
 * than drawing the two teams. It keeps state between a battle's two teams (`battleHasDitto`, `factoryTier`), so
 * battles must not share one: each gets a copy of an untouched generator.
 */

/** Generators outside data/random-battles are left alone: nothing says what their constructors keep. */
const OWN_GENERATORS = new Set(['gen9ssb', 'afd']);

module.exports = function patchTeams({replace, Teams, PRNG, Dex, DexFormats}) {
	const untouched = new WeakMap();

	replace(Teams, 'getGenerator', '20200bffd4de', stock => function (format, seed = null) {
		format = Dex.formats.get(format);
		if (OWN_GENERATORS.has(format.mod)) return stock.call(this, format, seed);
		let origin = untouched.get(format);
		if (origin === undefined) {
			origin = stock.call(this, format, '0,0,0,0');
			if (typeof origin.getPokemonPool === 'function') origin.getPokemonPool = rememberPools(origin.getPokemonPool);
			untouched.set(format, origin);
		}
		const generator = Object.assign(Object.create(Object.getPrototypeOf(origin)), origin);
		generator.prng = PRNG.get(seed);
		return generator;
	});

	// rules are made anew from data at every look-up, dozens of times a battle; formats proper have a cache already
	const rules = new WeakMap();
	replace(DexFormats.prototype, 'get', '91416640cd68', stock => function (name, isTrusted = false) {
		if (typeof name !== 'string') return stock.call(this, name, isTrusted);
		let known = rules.get(this);
		if (known === undefined) rules.set(this, known = new Map());
		const rule = known.get(name);
		if (rule !== undefined) return rule;
		const found = stock.call(this, name, isTrusted);
		if (found.exists && !name.includes('@@@') && RULE_TYPES.has(found.effectType)) known.set(name, found);
		return found;
	});
};

const RULE_TYPES = new Set(['Rule', 'ValidatorRule']);

/** The pool of a whole list, nothing excluded, is the same for every team; callers use up the second part only. */
function rememberPools(getPokemonPool) {
	let lastList = [];
	let lastPools = null;
	return function (type, pokemonToExclude = [], isMonotype = false, pokemonList) {
		if (isMonotype || pokemonToExclude.length) {
			return getPokemonPool.call(this, type, pokemonToExclude, isMonotype, pokemonList);
		}
		if (!lastPools || !areEqual(lastList, pokemonList)) {
			lastPools = getPokemonPool.call(this, type, pokemonToExclude, isMonotype, pokemonList);
			lastList = pokemonList.slice();
		}
		return [lastPools[0], lastPools[1].slice()];
	};
}

function areEqual(a, b) {
	if (a.length !== b.length) return false;
	for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
	return true;
}
