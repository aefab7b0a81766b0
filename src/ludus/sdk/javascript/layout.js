'use strict';
// Packs observations into rows: leaves in order, each aligned to its item size, rows padded to 8 bytes, little-endian.

const { HostError } = require('./frames.js');

const ITEMS = {
	uint8: [1, 'setUint8'], int8: [1, 'setInt8'], uint16: [2, 'setUint16'], int16: [2, 'setInt16'],
	int32: [4, 'setInt32'], fixed8: [1, 'setInt8'], fixed16: [2, 'setInt16'], float32: [4, 'setFloat32'],
};
const FIXED_ONE = { fixed8: 64, fixed16: 4096 }; // the integer that represents 1 (docs/host-protocol.md)

/**
 * A leaf that is stored already: an Int8Array for fixed8, an Int16Array for fixed16, a Uint8Array for uint8 and so on.
 * `pack` copies it without looking at each number, which matters for leaves with thousands of them.
 */
class Stored {
	constructor(values) {
		this.values = values;
	}

	get length() {
		return this.values.length;
	}
}

class Layout {
	/** `leaves` are [name, dtype, shape], as in HELLO. */
	constructor(leaves) {
		let at = 0;
		this.leaves = leaves.map(([name, dtype, shape]) => {
			if (!Object.hasOwn(ITEMS, dtype)) throw new Error(`leaf ${name} has dtype ${dtype}, known: ${Object.keys(ITEMS)}`);
			const [item, setter] = ITEMS[dtype];
			const offset = Math.ceil(at / item) * item;
			const length = shape.reduce((product, size) => product * size, 1);
			at = offset + item * length;
			return { name, dtype, offset, length, item, setter };
		});
		this.bytes = Math.max(8, Math.ceil(at / 8) * 8);
	}

	/** Write one observation, {leaf: flat values}, to `out` at offset `at`. Throws HostError if a leaf is invalid. */
	pack(values, out, at) {
		const view = new DataView(out.buffer, out.byteOffset + at, this.bytes);
		for (const { name, dtype, offset, length, item, setter } of this.leaves) {
			const one = FIXED_ONE[dtype];
			const given = values[name];
			if (given?.length !== length) {
				throw new HostError('match', `leaf ${name} has ${given?.length} values, expected ${length}`);
			}
			if (given instanceof Stored) {
				const { values: { buffer, byteOffset, byteLength } } = given;
				if (byteLength !== item * length) {
					throw new HostError('match', `leaf ${name} is stored in ${byteLength} bytes, expected ${item * length}`);
				}
				out.set(new Uint8Array(buffer, byteOffset, byteLength), at + offset);
				continue;
			}
			for (let i = 0; i < length; i++) {
				const value = Number(given[i]);
				if (!Number.isFinite(value)) throw new HostError('match', `leaf ${name} holds ${given[i]} at ${i}`);
				view[setter](offset + item * i, one ? fixed(name, value, one, item) : value, true);
			}
		}
	}
}

/** Return a number as a fixed-point integer of `item` bytes, in which `one` represents 1. */
function fixed(name, value, one, item) {
	const stored = Math.round(value * one);
	const limit = 2 ** (8 * item - 1);
	if (stored < -limit || stored >= limit) {
		throw new HostError('match', `leaf ${name} holds ${value}, expected ${-limit / one} to ${(limit - 1) / one}`);
	}
	return stored;
}

/** Return a table as HELLO needs it: float32 values in base64. */
function packTable(shape, data) {
	const values = Float32Array.from(data);
	return { shape, data: Buffer.from(values.buffer).toString('base64') };
}

module.exports = { Layout, Stored, packTable };
