'use strict';
// Frames of WebSockets (RFC 6455), as a client reads and writes them. Pure: bytes in, messages out, no sockets.

const { isUtf8 } = require('node:buffer');
const { randomFillSync } = require('node:crypto');
const { GrowingBytes } = require('./bytes.js');

const OPCODE = Object.freeze({ CONTINUATION: 0, TEXT: 1, BINARY: 2, CLOSE: 8, PING: 9, PONG: 10 });
const CLOSED = Object.freeze({ NORMAL: 1000, BROKEN: 1002, SILENT: 1005, LOST: 1006, GARBLED: 1007, TOO_LARGE: 1009 });
const LARGEST_MESSAGE = 16 * 1024 * 1024;
const LONGEST_CONTROL = 125;
const LONGEST_HEAD = 14;
const SLAB_BYTES = 1 << 16;
const MASKS_BYTES = 1 << 12;
const REPLACEMENT = '\ufffd'; // what a decoder puts where bytes are no UTF-8

/** The other side broke the protocol; `code` is what it is told. */
class BrokenFrame extends Error {
	constructor(code, message) {
		super(message);
		this.code = code;
	}
}

/** Takes bytes as they come and hands out what they make up. */
class FrameReader {
	/** `heard`: `message(data)`, a string or a Buffer, `ping(payload)` and `close(code, reason)`. */
	constructor(heard, largest = LARGEST_MESSAGE) {
		this.heard = heard;
		this.largest = largest;
		this.held = new GrowingBytes(); // the beginning of a frame
		this.parts = new GrowingBytes(); // of a message in several frames
		this.kind = null; // of that message: its opcode
		this.isOver = false; // nothing is heard any more
	}

	/** The bytes may be overwritten afterwards. Throws BrokenFrame; then nothing more can be read. */
	push(bytes) {
		const isHeld = this.held.length > 0;
		if (isHeld) this.held.append(bytes);
		const whole = isHeld ? this.held.view() : bytes;
		let at = 0;
		while (!this.isOver) {
			const next = this.#take(whole, at);
			if (next < 0) break;
			at = next;
		}
		if (isHeld) this.held.drop(at);
		else if (at < whole.length) this.held.append(whole.subarray(at));
	}

	/** Where the frame at `at` ends, once it was taken; -1 when there is only a part of it. */
	#take(bytes, at) {
		const held = bytes.length - at;
		if (held < 2) return -1;
		const first = bytes[at];
		const second = bytes[at + 1];
		let length = second & 0x7f;
		let body = at + 2;
		if (length === 126) {
			if (held < 4) return -1;
			length = bytes.readUInt16BE(at + 2);
			body += 2;
		} else if (length === 127) {
			if (held < 10) return -1;
			length = bytes.readUInt32BE(at + 2) * 2 ** 32 + bytes.readUInt32BE(at + 6);
			body += 8;
		}
		this.#check(first, second, length);
		const end = body + length;
		if (end > bytes.length) return -1;
		const opcode = first & 0x0f;
		if (opcode < OPCODE.CLOSE) this.#takeData(opcode, first >= 0x80, bytes, body, end);
		else this.#takeControl(opcode, bytes.subarray(body, end));
		return end;
	}

	/** Before the body is there: nothing is kept that would be refused. */
	#check(first, second, length) {
		const opcode = first & 0x0f;
		if ((first & 0x70) !== 0) throw new BrokenFrame(CLOSED.BROKEN, 'a frame uses an extension that was not agreed on');
		if (second >= 0x80) throw new BrokenFrame(CLOSED.BROKEN, 'a frame is masked, which servers must not do');
		if (opcode >= OPCODE.CLOSE) {
			if (opcode > OPCODE.PONG) throw new BrokenFrame(CLOSED.BROKEN, `a frame has opcode ${opcode}`);
			const isWhole = first >= 0x80 && length <= LONGEST_CONTROL;
			if (!isWhole) throw new BrokenFrame(CLOSED.BROKEN, 'a control frame is in parts or too long');
			return;
		}
		if (opcode > OPCODE.BINARY) throw new BrokenFrame(CLOSED.BROKEN, `a frame has opcode ${opcode}`);
		if ((opcode === OPCODE.CONTINUATION) !== (this.kind !== null)) {
			throw new BrokenFrame(CLOSED.BROKEN, 'the parts of a message are out of order');
		}
		const size = this.parts.length + length;
		if (size > this.largest) {
			throw new BrokenFrame(CLOSED.TOO_LARGE, `a message of ${size} bytes, at most ${this.largest} are read`);
		}
	}

	#takeData(opcode, isLast, bytes, start, end) {
		if (isLast && this.kind === null) {
			this.#tell(opcode, bytes, start, end);
			return;
		}
		this.parts.append(bytes.subarray(start, end));
		this.kind ??= opcode;
		if (!isLast) return;
		const whole = this.parts.view();
		const { kind } = this;
		this.kind = null;
		this.parts = new GrowingBytes();
		this.#tell(kind, whole, 0, whole.length);
	}

	#tell(kind, bytes, start, end) {
		if (kind === OPCODE.BINARY) {
			this.heard.message(Buffer.from(bytes.subarray(start, end)));
			return;
		}
		const text = bytes.toString('utf8', start, end);
		if (text.includes(REPLACEMENT) && !isUtf8(bytes.subarray(start, end))) {
			throw new BrokenFrame(CLOSED.GARBLED, 'a text is no UTF-8');
		}
		this.heard.message(text);
	}

	#takeControl(opcode, payload) {
		if (opcode === OPCODE.PING) this.heard.ping(payload);
		if (opcode !== OPCODE.CLOSE) return;
		if (payload.length === 1) throw new BrokenFrame(CLOSED.BROKEN, 'a close frame has half a code');
		this.isOver = true;
		const code = payload.length === 0 ? CLOSED.SILENT : payload.readUInt16BE(0);
		this.heard.close(code, payload.toString('utf8', Math.min(2, payload.length)));
	}
}

/** Collects frames that are to be written together. */
class FrameWriter {
	constructor() {
		this.slab = Buffer.allocUnsafe(SLAB_BYTES);
		this.begun = 0; // of the slab, what was taken before
		this.end = 0;
		this.masks = new Uint8Array(MASKS_BYTES);
		this.nextMask = MASKS_BYTES;
	}

	text(text) {
		const length = Buffer.byteLength(text);
		const at = this.#open(OPCODE.TEXT, length);
		this.slab.write(text, at, length, 'utf8');
		this.#mask(at, length);
	}

	control(opcode, payload) {
		const at = this.#open(opcode, payload.length);
		this.slab.set(payload, at);
		this.#mask(at, payload.length);
	}

	/** `code`: why this side closes; the words are cut to what a frame holds. */
	close(code, words = '') {
		const payload = Buffer.alloc(LONGEST_CONTROL);
		payload.writeUInt16BE(code);
		this.control(OPCODE.CLOSE, payload.subarray(0, 2 + payload.write(words, 2))); // writes whole characters only
	}

	/** What was collected since the last time. Nobody writes into it afterwards. */
	take() {
		const taken = this.slab.subarray(this.begun, this.end);
		this.begun = this.end;
		return taken;
	}

	/** Begin a frame whose body has so many bytes, and say where the body stands. */
	#open(opcode, length) {
		this.#reserve(LONGEST_HEAD + length);
		const { slab } = this;
		let at = this.end;
		slab[at++] = 0x80 | opcode;
		if (length < 126) {
			slab[at++] = 0x80 | length;
		} else if (length < 1 << 16) {
			slab[at++] = 0x80 | 126;
			at = slab.writeUInt16BE(length, at);
		} else {
			slab[at++] = 0x80 | 127;
			at = slab.writeUInt32BE(Math.floor(length / 2 ** 32), at);
			at = slab.writeUInt32BE(length >>> 0, at);
		}
		this.end = at + 4 + length;
		return at + 4;
	}

	#reserve(bytes) {
		if (this.slab.length - this.end >= bytes) return;
		const waiting = this.slab.subarray(this.begun, this.end);
		const slab = Buffer.allocUnsafe(Math.max(SLAB_BYTES, 2 * (waiting.length + bytes)));
		slab.set(waiting);
		this.slab = slab;
		this.end = waiting.length;
		this.begun = 0;
	}

	/** Put a random mask before the body and over it; servers refuse what is not masked. */
	#mask(at, length) {
		if (this.nextMask + 4 > MASKS_BYTES) {
			randomFillSync(this.masks);
			this.nextMask = 0;
		}
		const { slab, masks, nextMask } = this;
		for (let i = 0; i < 4; i++) slab[at - 4 + i] = masks[nextMask + i];
		for (let i = 0; i < length; i++) slab[at + i] ^= masks[nextMask + (i & 3)];
		this.nextMask += 4;
	}
}

module.exports = { BrokenFrame, CLOSED, FrameReader, FrameWriter, OPCODE };
