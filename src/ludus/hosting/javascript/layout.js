'use strict';
// How observations are packed: leaves in their order, each aligned to its item, a row padded to 8 bytes, little-endian.

const { HostError } = require('./frames.js');

const ITEMS = {
	uint8: [1, 'setUint8'], int8: [1, 'setInt8'], uint16: [2, 'setUint16'], int16: [2, 'setInt16'],
	int32: [4, 'setInt32'], float32: [4, 'setFloat32'],
};

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
			return { name, offset, length, item, setter };
		});
		this.bytes = Math.max(8, Math.ceil(at / 8) * 8);
	}

	/** Write one observation, {leaf: flat values}, at an offset of `out`; throws HostError where it does not fit. */
	pack(values, out, at) {
		const view = new DataView(out.buffer, out.byteOffset + at, this.bytes);
		for (const { name, offset, length, item, setter } of this.leaves) {
			const given = values[name];
			if (given?.length !== length) {
				throw new HostError('match', `leaf ${name} has ${given?.length} values, expected ${length}`);
			}
			for (let i = 0; i < length; i++) {
				const value = Number(given[i]);
				if (!Number.isFinite(value)) throw new HostError('match', `leaf ${name} holds ${given[i]} at ${i}`);
				view[setter](offset + item * i, value, true);
			}
		}
	}
}

/** A table of HELLO. */
function packTable(shape, data) {
	const values = Float32Array.from(data);
	return { shape, data: Buffer.from(values.buffer).toString('base64') };
}

module.exports = { Layout, packTable };
