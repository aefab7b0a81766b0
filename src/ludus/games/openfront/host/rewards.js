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
 * Return what a seat earned by one decision, by term. `before` and `after` are {land, isAlive}: shares of all land;
 * `kills` are players it eliminated; `result` is 'win', 'loss' or null. Terms without weight are left out.
 */
function earned(weights, before, after, kills, result) {
	const amounts = {
		win: Number(result === 'win'), loss: Number(result === 'loss'), land: after.land - before.land, kill: kills,
		survival: Number(after.isAlive),
	};
	const counted = TERMS.filter(term => weights[term] !== 0);
	return Object.fromEntries(counted.map(term => [term, weights[term] * amounts[term]]));
}

/** Return the sum of the terms of one seat: its reward. */
function total(terms) {
	return Object.values(terms).reduce((sum, amount) => sum + amount, 0);
}

/** Return terms of all seats, [{term: amount}, ...], as {term: [by seat]}. */
function bySeat(earnedBySeat) {
	const names = Object.keys(earnedBySeat[0]);
	return Object.fromEntries(names.map(name => [name, earnedBySeat.map(terms => terms[name])]));
}

module.exports = { DEFAULTS, TERMS, bySeat, earned, total, weightsOf };
