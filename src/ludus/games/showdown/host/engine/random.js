'use strict';
/**
 * The generator of four-number seeds without its arrays: a step of the stock one allocates three.
 *
 * The multiplication keeps the stock order and its loss of the carry's 33rd bit; other arithmetic would be another
 * generator.
 */

module.exports = function patchRandom({replace, PRNG}) {
	const Generator = Object.getPrototypeOf(new PRNG('0,0,0,0').rng);

	replace(Generator, 'next', '8ad8fc75ad8f', () => function () {
		const {seed} = this;
		const a = seed[0];
		const b = seed[1];
		const c = seed[2];
		const d = seed[3];
		let sum = d * 35173 + 40643;
		const d2 = sum & 65535;
		sum = (sum >>> 16) + d * 27655 + c * 35173 + 38;
		const c2 = sum & 65535;
		sum = (sum >>> 16) + d * 35685 + c * 27655 + b * 35173;
		const b2 = sum & 65535;
		sum = (sum >>> 16) + d * 23896 + c * 35685 + b * 27655 + a * 35173;
		const a2 = sum & 65535;
		seed[0] = a2;
		seed[1] = b2;
		seed[2] = c2;
		seed[3] = d2;
		return (a2 << 16 >>> 0) + b2;
	});
};
