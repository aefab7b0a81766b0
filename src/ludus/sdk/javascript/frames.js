'use strict';
// The host protocol's frames, version 2 (docs/host-protocol.md), little-endian. Pure: bytes in, values out, no files.

const MAGIC = 0x554c; // "LU"
const VERSION = 2;
const HEADER_BYTES = 8;
const MAX_BODY = 64 * 1024 * 1024;
const MAX_EVENT = 64 * 1024;
const KIND = Object.freeze({
	CONFIGURE: 1, HELLO: 2, ARRIVALS: 3, ACTIONS: 4, ENDING: 5, ERROR: 6, STOP: 7, TIMES: 8, DRAIN: 9, EVENT: 10,
});
const LAST_KIND = Math.max(...Object.values(KIND));

class ProtocolError extends Error {}

/** Sent as an ERROR frame of this kind. `detail` is only logged, so that equal faults have equal messages. */
class HostError extends Error {
	constructor(kind, message, detail = '') {
		super(message);
		this.kind = kind;
		this.detail = detail;
	}
}

/** Splits a byte stream into frames. A body is a view that is valid until the next `push` or `space`. */
class FrameReader {
	constructor(initialBytes = 1 << 16) {
		this.buffer = Buffer.allocUnsafe(initialBytes);
		this.start = 0;
		this.end = 0;
	}

	/** Return free space of at least `bytes` to read into. Call `pushed` with the number of bytes read. */
	space(bytes) {
		if (this.buffer.length - this.end < bytes) {
			const held = this.end - this.start;
			const target = this.buffer.length >= 2 * (held + bytes) ? this.buffer : Buffer.allocUnsafe(2 * (held + bytes));
			this.buffer.copy(target, 0, this.start, this.end);
			this.buffer = target;
			this.start = 0;
			this.end = held;
		}
		return this.buffer.subarray(this.end);
	}

	pushed(bytes) {
		this.end += bytes;
	}

	push(bytes) {
		this.space(bytes.length).set(bytes);
		this.pushed(bytes.length);
	}

	/** Return the next complete frame as {kind, body}, or null. Throws ProtocolError for an invalid header. */
	next() {
		const held = this.end - this.start;
		if (held < HEADER_BYTES) return null;
		const at = this.start;
		const magic = this.buffer.readUInt16LE(at);
		if (magic !== MAGIC) throw new ProtocolError(`frame begins with 0x${magic.toString(16)}, expected 0x554c`);
		const version = this.buffer[at + 2];
		if (version !== VERSION) throw new ProtocolError(`frame has version ${version}, this host speaks ${VERSION}`);
		const kind = this.buffer[at + 3];
		if (kind < 1 || kind > LAST_KIND) throw new ProtocolError(`frame has kind ${kind}, known are 1 to ${LAST_KIND}`);
		const bytes = this.buffer.readUInt32LE(at + 4);
		if (bytes > MAX_BODY) throw new ProtocolError(`frame says ${bytes} bytes, at most ${MAX_BODY} are allowed`);
		if (held < HEADER_BYTES + bytes) return null;
		this.start = at + HEADER_BYTES + bytes;
		return { kind, body: this.buffer.subarray(at + HEADER_BYTES, this.start) };
	}

	/** Call at the end of the stream. Throws ProtocolError if it ended within a frame. */
	close() {
		const held = this.end - this.start;
		if (held > 0) throw new ProtocolError(`stream ended inside a frame, with ${held} bytes of it`);
	}
}

/** Collects frames in a buffer that grows as needed. `take` returns them as pieces to write together. */
class FrameWriter {
	constructor(initialBytes = 1 << 16) {
		this.buffer = Buffer.allocUnsafe(initialBytes);
		this.bytes = 0;
		this.pieces = [];
		this.begun = 0; // where in the buffer the next piece begins
	}

	get isEmpty() {
		return this.bytes === 0;
	}

	/**
	 * Begin a frame with a body of `bodyBytes` and return the body's offset. `lent` bytes of it are added with `lend`.
	 */
	open(kind, bodyBytes, lent = 0) {
		if (bodyBytes > MAX_BODY) throw new ProtocolError(`a body of ${bodyBytes} bytes is over the limit of ${MAX_BODY}`);
		const needed = this.bytes + HEADER_BYTES + bodyBytes - lent;
		if (needed > this.buffer.length) {
			const larger = Buffer.allocUnsafe(2 * needed);
			this.buffer.copy(larger, 0, 0, this.bytes);
			this.buffer = larger;
		}
		const at = this.bytes;
		this.buffer.writeUInt16LE(MAGIC, at);
		this.buffer[at + 2] = VERSION;
		this.buffer[at + 3] = kind;
		this.buffer.writeUInt32LE(bodyBytes, at + 4);
		this.bytes = needed;
		return at + HEADER_BYTES;
	}

	/** End a frame with bytes that are not copied. They must not change until the pieces are written. */
	lend(bytes) {
		this.pieces.push(this.buffer.subarray(this.begun, this.bytes), bytes);
		this.begun = this.bytes;
	}

	/** Return the pieces since the last call. The next frame overwrites them. */
	take() {
		const { pieces } = this;
		if (this.bytes > this.begun) pieces.push(this.buffer.subarray(this.begun, this.bytes));
		this.pieces = [];
		this.bytes = this.begun = 0;
		return pieces;
	}

	json(kind, value) {
		const text = Buffer.from(JSON.stringify(value));
		const body = this.open(kind, text.length); // may replace the buffer
		text.copy(this.buffer, body);
	}

	/** Append an EVENT frame. Throws RangeError if the event is too large. */
	event(event) {
		const { length } = Buffer.from(JSON.stringify(event));
		if (length > MAX_EVENT) throw new RangeError(`an event has ${length} bytes, at most ${MAX_EVENT} are allowed`);
		this.json(KIND.EVENT, event);
	}

	/** Append an ENDING frame. `finalObs` [S * nbytes] is for truncated matches only. */
	ending(ending, finalObs) {
		const text = Buffer.from(JSON.stringify(ending));
		const obsAt = aligned(8 + text.length);
		const size = obsAt + (finalObs ? finalObs.length : 0);
		const body = this.open(KIND.ENDING, size);
		this.buffer.fill(0, body, body + obsAt);
		this.buffer.writeUInt32LE(text.length, body);
		text.copy(this.buffer, body + 8);
		if (finalObs) this.buffer.set(finalObs, body + obsAt);
	}
}

/**
 * The rows that wait to be sent. Write a row's mask to `nextMask()` and its observation to `obs` at `nextObsOffset()`,
 * then call `add`. A row that fails before `add` leaves nothing behind.
 */
class ArrivalBuffer {
	constructor(rows, maskBytes, obsBytes) {
		this.capacity = rows;
		this.maskBytes = maskBytes;
		this.obsBytes = obsBytes;
		this.count = 0;
		this.row = new Int32Array(rows);
		this.match = new Uint32Array(rows);
		this.reward = new Float32Array(rows);
		this.opens = new Uint8Array(rows);
		this.legal = new Uint8Array(rows * maskBytes);
		this.obs = new Uint8Array(rows * obsBytes);
		this.masks = Array.from({ length: rows }, (_, i) => this.legal.subarray(i * maskBytes, (i + 1) * maskBytes));
		this.left = 0; // rows whose observations are in shared memory already
		this.leave = null; // function that writes bytes to shared memory and returns whether there was room
	}

	nextMask() {
		return this.masks[this.count];
	}

	nextObsOffset() {
		return (this.count - this.left) * this.obsBytes;
	}

	add(row, match, reward, opens) {
		const i = this.count++;
		this.row[i] = row;
		this.match[i] = match;
		this.reward[i] = reward;
		this.opens[i] = opens ? 1 : 0;
	}

	/**
	 * Write the observations so far to shared memory, if there are at least `rows` of them, before their frame is made.
	 * The next rows reuse the same bytes of `obs`, which are still in the processor's cache.
	 */
	leaveEarly(rows) {
		if (this.leave === null || this.count - this.left < rows) return;
		if (this.leave(this.obs.subarray(0, this.nextObsOffset()))) this.left = this.count;
	}

	/**
	 * Append an ARRIVALS frame with all rows and empty the buffer. The observations go to shared memory if there is room,
	 * else into the frame, without a copy.
	 */
	flush(writer, done) {
		const n = this.count;
		const matchAt = aligned(8 + 4 * n);
		const rewardAt = aligned(matchAt + 4 * n);
		const opensAt = aligned(rewardAt + 4 * n);
		const legalAt = aligned(opensAt + n);
		const obsAt = aligned(legalAt + n * this.maskBytes);
		const obs = this.obs.subarray(0, this.nextObsOffset());
		const isElsewhere = n > 0 && this.leave !== null && this.leave(obs);
		this.left = 0;
		const lent = isElsewhere ? 0 : obs.length;
		const body = writer.open(KIND.ARRIVALS, obsAt + lent, lent);
		const out = writer.buffer;
		out.fill(0, body, body + obsAt);
		out.writeUInt32LE(n, body);
		out[body + 4] = done ? 1 : 0;
		out[body + 5] = isElsewhere ? 1 : 0;
		for (let i = 0; i < n; i++) {
			out.writeInt32LE(this.row[i], body + 8 + 4 * i);
			out.writeUInt32LE(this.match[i], body + matchAt + 4 * i);
			out.writeFloatLE(this.reward[i], body + rewardAt + 4 * i);
			out[body + opensAt + i] = this.opens[i];
		}
		out.set(this.legal.subarray(0, n * this.maskBytes), body + legalAt);
		if (lent > 0) writer.lend(obs);
		this.count = 0;
	}
}

/** Return {rows, actions, room} of an ACTIONS body, with unchecked ranges. Throws ProtocolError for a wrong size. */
function decodeActions(body) {
	if (body.length < 8) throw new ProtocolError(`ACTIONS has ${body.length} bytes, its head alone takes 8`);
	const n = body.readUInt32LE(0);
	const actionAt = aligned(8 + 4 * n);
	const size = actionAt + 4 * n;
	if (body.length !== size && body.length !== aligned(size)) {
		throw new ProtocolError(`ACTIONS for ${n} rows has ${body.length} bytes, expected ${size}`);
	}
	const rows = new Int32Array(n);
	const actions = new Int32Array(n);
	for (let i = 0; i < n; i++) {
		rows[i] = body.readInt32LE(8 + 4 * i);
		actions[i] = body.readInt32LE(actionAt + 4 * i);
	}
	return { rows, actions, room: body.readUInt32LE(4) };
}

/** Return the fields of a CONFIGURE body. Throws ProtocolError if one is invalid. */
function decodeConfigure(body) {
	let message;
	try {
		message = JSON.parse(body.toString('utf8'));
	} catch (error) {
		throw new ProtocolError(`CONFIGURE is not valid JSON: ${error.message}`);
	}
	const expect = (ok, what) => {
		if (!ok) throw new ProtocolError(`CONFIGURE: ${what}, seen ${JSON.stringify(message).slice(0, 200)}`);
	};
	const isCount = value => Number.isSafeInteger(value) && value >= 0;
	expect(message !== null && typeof message === 'object', 'an object is expected');
	expect(message.protocol === VERSION, `protocol must be ${VERSION}`);
	expect(isCount(message.matches) && message.matches >= 1 && message.matches <= 65536, 'matches must be 1 to 65536');
	expect(isCount(message.seed), 'seed must be an integer from 0 to 2^53 - 1');
	expect(message.options !== null && typeof message.options === 'object', 'options must be an object');
	const schedule = message.schedule ?? null;
	if (schedule !== null) {
		expect(Array.isArray(schedule), 'schedule must be null or a list');
		for (const entry of schedule) {
			const pair = Array.isArray(entry) && entry.length === 2 && entry.every(isCount);
			expect(pair && entry[0] < 2 ** 32, 'schedule entries are [number below 2^32, seed]');
		}
	}
	const resume = message.resume ?? null;
	if (resume !== null) {
		expect(schedule === null, 'resume and schedule exclude each other');
		const isWhole = Array.isArray(resume.open) && resume.open.length === message.matches;
		expect(isWhole, 'resume.open has an entry for each slot');
		expect(resume.open.every(number => number === null || isCount(number)), 'resume.open holds numbers or null');
		expect(isCount(resume.following), 'resume.following must be a number');
	}
	const timesS = message.times_s ?? null;
	expect(timesS === null || (Number.isFinite(timesS) && timesS > 0), 'times_s must be null or seconds');
	const memory = message.memory ?? null;
	expect(memory === null || isCount(memory), 'memory must be null or a descriptor');
	const { matches, options, seed, parts = 1 } = message;
	expect(isCount(parts) && parts >= 1, 'parts must be at least 1');
	const flags = { keepLog: !!message.keep_log, events: !!message.events };
	return { matches, options, seed, schedule, resume, timesS, parts, memory, ...flags };
}

function aligned(offset) {
	return (offset + 7) & ~7;
}

module.exports = {
	ArrivalBuffer, FrameReader, FrameWriter, HostError, KIND, MAX_BODY, ProtocolError, VERSION, decodeActions,
	decodeConfigure,
};
