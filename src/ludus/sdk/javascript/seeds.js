'use strict';
// Derives the seeds of matches with splitmix64, as every host does (docs/host-protocol.md).

const MASK_64 = (1n << 64n) - 1n;

/** The random number generator splitmix64. */
class SplitMix {
	constructor(seed) {
		this.state = BigInt(seed) & MASK_64;
	}

	next() {
		this.state = (this.state + 0x9e3779b97f4a7c15n) & MASK_64;
		return mix(this.state);
	}

	/** Return a seed in the form that Showdown's simulator takes: four 16-bit numbers. */
	nextBattleSeed() {
		const bits = this.next();
		return [48n, 32n, 16n, 0n].map(shift => Number((bits >> shift) & 0xffffn)).join(',');
	}

	nextBelow(limit) {
		return Number(this.next() % BigInt(limit));
	}
}

/** Return the seed of match `number` in a host with `seed`: the upper 53 bits of output number + 1 of splitmix64. */
function matchSeed(seed, number) {
	const state = (BigInt(seed) + 0x9e3779b97f4a7c15n * BigInt(number + 1)) & MASK_64;
	return Number(mix(state) >> 11n);
}

function mix(state) {
	let z = state;
	z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK_64;
	z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK_64;
	return z ^ (z >> 31n);
}

module.exports = { SplitMix, matchSeed };
