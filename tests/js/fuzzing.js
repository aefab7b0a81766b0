'use strict';
// Seeded mutations of what servers send, for fuzz.test.js.
// FUZZ_RUNS: inputs of each test; FUZZ_SEED: another sequence of them; FUZZ_SHOW: print the faults of matches.

const { randomFrom } = require('./battles.js');

const RUNS = Number(process.env.FUZZ_RUNS) || 0; // 0: what each test needs for about half a second
const SEED = Number(process.env.FUZZ_SEED) || 1;
const LETTERS = '|\n,:;{}[]"\'\\/@> -+.0123456789abpP\u0000\u001b\u00ff\u2028\ud800\ufffd';
const FIELDS = [
	'', ' ', '0', '-1', 'NaN', 'Infinity', '1e400', '9'.repeat(40), '0/0', '100/0', '1/1e999', '-5/100', 'fnt', '0 fnt',
	'__proto__', 'constructor', 'toString', 'hasOwnProperty', 'p1', 'p2a', 'p3a: x', 'p9: Mew', 'p1a', 'p1a: ',
	'a'.repeat(5000),
	'[from] move: Transform', '[of] p2a: x', '[silent]', 'Ditto, L', 'Mew, L999999, M, shiny, tera:', '???', 'p2b: ???',
	'/challenge', '/error ', '@{"event":"back"}', '\u202e', 'p1a: \ud800',
];
const VALUES = [
	null, true, false, 0, -1, 0.5, 1e308, 2 ** 53, '', 'x', '__proto__', 'p3', 'p1a: x', '0 fnt', '1/0', [], {},
	[null], [[]],
	[{}],
	{ __proto__: null, length: 3 }, 'a'.repeat(3000), Array(40).fill({}), { toString: 1 }, ['', '', ''],
];

/** Draws from one seed. */
class Draw {
	constructor(seed) {
		this.random = randomFrom(seed);
	}

	below(limit) {
		return Math.floor(this.random() * limit);
	}

	chance(share) {
		return this.random() < share;
	}

	of(list) {
		return list[this.below(list.length)];
	}
}

/** Call `act(draw, number)` for each input; a failure names what repeats it. */
function fuzz(runs, act) {
	for (let number = 0; number < (RUNS || runs); number++) {
		try {
			act(new Draw(SEED * 1_000_003 + number), number);
		} catch (error) {
			error.message = `FUZZ_SEED=${SEED}, input ${number}: ${error.message}`;
			throw error;
		}
	}
}

/** A text with a few characters changed, moved or cut off. */
function spoilText(draw, text) {
	let spoiled = text;
	for (let times = 1 + draw.below(4); times > 0; times--) {
		const at = draw.below(spoiled.length + 1);
		const to = Math.min(spoiled.length, at + draw.below(draw.chance(0.1) ? spoiled.length + 1 : 8));
		const put = [
			'', draw.of(LETTERS), spoiled.slice(at, to).repeat(2), draw.of(FIELDS),
			spoiled.slice(draw.below(spoiled.length + 1)).slice(0, 40),
		];
		spoiled = spoiled.slice(0, at) + draw.of(put) + spoiled.slice(to);
	}
	return spoiled;
}

/** A line with other fields between its bars. */
function spoilFields(draw, line) {
	const fields = line.split('|');
	for (let times = 1 + draw.below(3); times > 0; times--) {
		const at = draw.below(fields.length);
		const kind = draw.below(4);
		if (kind === 0) fields.splice(at, 1);
		else if (kind === 1) fields.splice(at, 0, draw.of(FIELDS));
		else if (kind === 2) fields[at] = draw.of(FIELDS);
		else [fields[at], fields[0]] = [fields[0], fields[at]];
	}
	return (draw.chance(0.9) && !fields[0] ? '' : '|') + fields.join('|');
}

/** A value with one or a few of its parts replaced, left out or named otherwise. */
function spoilJson(draw, value) {
	const spoiled = structuredClone(value);
	for (let times = 1 + draw.below(3); times > 0; times--) {
		let place = spoiled;
		for (let depth = draw.below(7); depth > 0; depth--) {
			const inner = Object.values(place).filter(each => each !== null && typeof each === 'object');
			if (inner.length === 0) break;
			place = draw.of(inner);
		}
		const keys = Object.keys(place);
		if (keys.length === 0) continue;
		const key = draw.of(keys);
		const kind = draw.below(5);
		if (kind === 0) delete place[key];
		else if (kind === 1 && !Array.isArray(place)) put(place, draw.of(FIELDS), place[key]);
		else if (kind === 2 && Array.isArray(place)) place.splice(0, 0, ...structuredClone([...place]));
		else put(place, key, structuredClone(draw.of(VALUES)));
	}
	return spoiled;
}

/** Set a property, also one that is named __proto__. */
function put(place, name, value) {
	Object.defineProperty(place, name, { value, configurable: true, enumerable: true, writable: true });
}

function spoilLine(draw, line) {
	if (line.startsWith('|request|{') && draw.chance(0.8)) {
		try {
			return `|request|${JSON.stringify(spoilJson(draw, JSON.parse(line.slice('|request|'.length))))}`;
		} catch {
			return spoilText(draw, line); // it was spoiled before
		}
	}
	return draw.chance(0.7) ? spoilFields(draw, line) : spoilText(draw, line);
}

/** The lines of a message with some spoiled, left out, repeated or moved. */
function spoilLines(draw, lines) {
	const spoiled = lines.flatMap(line => {
		if (!draw.chance(0.15)) return [line];
		return draw.of([[], [line, line], [spoilLine(draw, line)], [spoilLine(draw, line)], [line, spoilLine(draw, line)]]);
	});
	if (draw.chance(0.05)) spoiled.sort(() => draw.random() - 0.5);
	return spoiled;
}

/** Bytes with a few of them changed, repeated, left out or cut off. */
function spoilBytes(draw, bytes) {
	let spoiled = Buffer.from(bytes);
	for (let times = 1 + draw.below(4); times > 0; times--) {
		const at = draw.below(spoiled.length + 1);
		const kind = draw.below(5);
		if (kind === 0 && at < spoiled.length) spoiled[at] ^= 1 << draw.below(8);
		else if (kind === 1 && at < spoiled.length) spoiled[at] = draw.of([0, 1, 125, 126, 127, 128, 254, 255]);
		else if (kind === 2) spoiled = Buffer.concat([spoiled.subarray(0, at), spoiled.subarray(at + draw.below(9))]);
		else if (kind === 3) spoiled = Buffer.concat([spoiled.subarray(0, at), spoiled.subarray(Math.max(0, at - 9))]);
		else spoiled = Buffer.concat([spoiled, Buffer.from([draw.below(256)])]);
	}
	return spoiled;
}

module.exports = { Draw, RUNS, SEED, fuzz, spoilBytes, spoilFields, spoilJson, spoilLine, spoilLines, spoilText };
