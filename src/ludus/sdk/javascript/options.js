'use strict';
// Checks the options that a game gets in CONFIGURE.

const { HostError } = require('./frames.js');

/**
 * Return the options with their defaults. `known` has {fallback, valid(value), expected} for each name. Throws
 * HostError for an unknown option and for an invalid value; the message contains `expected`.
 */
function checkedOptions(given, known) {
	for (const name of Object.keys(given)) {
		if (Object.hasOwn(known, name)) continue;
		throw new HostError('configuration', `unknown option ${name}${suggestion(name, Object.keys(known))}`);
	}
	const options = {};
	for (const [name, { fallback, valid, expected }] of Object.entries(known)) {
		options[name] = given[name] === undefined ? fallback : given[name];
		if (!valid(options[name])) {
			throw new HostError('configuration', `option ${name} must be ${expected}, seen ${JSON.stringify(options[name])}`);
		}
	}
	return options;
}

/** Return ", did you mean a, b or c?" with the most similar of the known names. */
function suggestion(name, known) {
	if (known.length === 0) return ', there are none';
	const ranked = known.map(each => [editDistance(name, each), each]);
	ranked.sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1));
	const near = ranked.slice(0, 3).map(([, each]) => each);
	if (near.length === 1) return `, did you mean ${near[0]}?`;
	return `, did you mean ${near.slice(0, -1).join(', ')} or ${near[near.length - 1]}?`;
}

function editDistance(a, b) {
	let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
	for (let i = 1; i <= a.length; i++) {
		const current = [i];
		for (let j = 1; j <= b.length; j++) {
			const change = previous[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
			current.push(Math.min(change, previous[j] + 1, current[j - 1] + 1));
		}
		previous = current;
	}
	return previous[b.length];
}

module.exports = { checkedOptions, suggestion };
