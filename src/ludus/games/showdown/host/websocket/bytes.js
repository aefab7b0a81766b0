'use strict';
// Bytes that come in pieces.

const FIRST_BYTES = 1 << 12;

/** Appending costs as much as what is appended, however long it has become; dropping, as much as what is left. */
class GrowingBytes {
	constructor() {
		this.buffer = null;
		this.length = 0;
	}

	append(bytes) {
		const length = this.length + bytes.length;
		if (this.buffer === null || length > this.buffer.length) {
			const larger = Buffer.allocUnsafe(Math.max(FIRST_BYTES, 2 * length));
			if (this.buffer !== null) this.buffer.copy(larger, 0, 0, this.length);
			this.buffer = larger;
		}
		this.buffer.set(bytes, this.length);
		this.length = length;
	}

	/** All of them; valid until the next change. */
	view() {
		return this.buffer === null ? Buffer.alloc(0) : this.buffer.subarray(0, this.length);
	}

	/** Forget the first ones. */
	drop(bytes) {
		if (bytes === 0) return;
		this.length -= bytes;
		if (this.length === 0) this.buffer = null;
		else this.buffer.copyWithin(0, bytes, bytes + this.length);
	}
}

module.exports = { GrowingBytes };
