'use strict';
// What a seat earns: named terms, each with a weight.

const DEFAULTS = { win: 1, loss: -1, land: 1, kill: 0.1, survival: 0 };
const TERMS = Object.keys(DEFAULTS);
const SPARSE = ['win', 'loss'];

/** Return the weight of each term: the given ones, or the defaults if there are none. `isSparse` keeps win and loss. */
function weightsOf(given, isSparse) {
	const nothing = Object.fromEntries(TERMS.map(term => [term, 0]));
	const weights = { ...nothing, ...(Object.keys(given).length > 0 ? given : DEFAULTS) };
	if (isSparse) for (const term of TERMS) if (!SPARSE.includes(term)) weights[term] = 0;
	return weights;
}

/**
 * Return what a seat earned by one decision. `before` and `after` are {land, isAlive}: shares of all land; `kills` are
 * players it eliminated; `result` is 'win', 'loss' or null.
 */
function earned(weights, before, after, kills, result) {
	let sum = weights.land * (after.land - before.land) + weights.kill * kills;
	if (after.isAlive) sum += weights.survival;
	if (result !== null) sum += weights[result];
	return sum;
}

module.exports = { DEFAULTS, TERMS, earned, weightsOf };
