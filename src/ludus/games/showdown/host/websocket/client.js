'use strict';
// A WebSocket client. What is sent in one turn of the event loop leaves in one write, so that the other side reads it
// together; what comes is read into one buffer and not passed through streams.

const { randomBytes } = require('node:crypto');
const net = require('node:net');
const tls = require('node:tls');
const { GrowingBytes } = require('./bytes.js');
const { BrokenFrame, CLOSED, FrameReader, FrameWriter, OPCODE } = require('./frames.js');
const { headEnd, requestFor, whyRefused } = require('./handshake.js');

const READ_BYTES = 1 << 16;
const GOODBYE_MS = 2_000; // for the other side to close, too
const [CONNECTING, OPEN, CLOSING, OVER] = [0, 1, 2, 3];

/**
 * Used like a browser's: `onmessage({data})` with a string, or a Buffer for binary messages; `onerror({message})` when
 * it does not come about, `onclose({code, reason})` when it is over, one of the two and once. Deadlines are the
 * caller's: `close` may be called at any time, and nothing is told afterwards.
 */
class WebSocketClient {
	static OPEN = OPEN;

	constructor(url) {
		this.onmessage = this.onclose = this.onerror = null;
		this.readyState = CONNECTING;
		this.reader = new FrameReader({
			message: data => this.onmessage?.({ data }),
			ping: payload => {
				this.writer.control(OPCODE.PONG, payload);
				this.#writeSoon();
			},
			close: (code, reason) => this.#leave(code, reason, code === CLOSED.SILENT ? CLOSED.NORMAL : code),
		});
		this.writer = new FrameWriter();
		this.answer = new GrowingBytes(); // to the request for a WebSocket
		this.key = randomBytes(16).toString('base64');
		this.why = { code: CLOSED.LOST, reason: '' };
		this.isWriting = false;
		this.#connect(new URL(url));
	}

	send(text) {
		if (this.readyState !== OPEN) return;
		this.writer.text(text);
		this.#writeSoon();
	}

	close() {
		this.onmessage = this.onclose = this.onerror = null;
		if (this.readyState === CONNECTING) this.#end();
		else this.#leave(CLOSED.NORMAL, '', CLOSED.NORMAL);
	}

	#connect(url) {
		const isSecure = url.protocol === 'wss:';
		const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
		const onread = {
			buffer: Buffer.allocUnsafe(READ_BYTES),
			callback: (bytes, buffer) => this.#take(buffer.subarray(0, bytes)),
		};
		const options = { host, port: Number(url.port) || (isSecure ? 443 : 80), onread };
		if (isSecure && net.isIP(host) === 0) options.servername = host;
		this.socket = isSecure ? tls.connect(options) : net.connect(options);
		this.socket.setNoDelay(true);
		this.socket.once(isSecure ? 'secureConnect' : 'connect', () => this.socket.write(requestFor(url, this.key)));
		this.socket.on('error', error => { this.why.reason ||= error.message; });
		this.socket.on('close', () => this.#gone());
	}

	/** Bytes have come, which are overwritten afterwards. True: more may come. */
	#take(bytes) {
		try {
			if (this.readyState === CONNECTING) this.#greet(bytes);
			else if (this.readyState === OPEN) this.reader.push(bytes);
		} catch (error) {
			if (!(error instanceof BrokenFrame)) throw error;
			this.#leave(error.code, error.message, error.code);
			this.socket.destroySoon(); // it cannot be waited for
		}
		return true;
	}

	#greet(bytes) {
		this.answer.append(bytes);
		const answer = this.answer.view();
		let end, why;
		try {
			end = headEnd(answer);
			if (end < 0) return;
			why = whyRefused(answer.toString('latin1', 0, end), this.key);
		} catch (error) {
			why = error.message;
		}
		if (why !== null) {
			this.why.reason = why;
			this.socket.destroy();
			return;
		}
		this.readyState = OPEN;
		this.answer = null;
		if (end < answer.length) this.reader.push(answer.subarray(end));
	}

	/** Together with all that is said before this turn of the event loop is over. */
	#writeSoon() {
		if (this.isWriting) return;
		this.isWriting = true;
		process.nextTick(() => this.#write());
	}

	#write() {
		this.isWriting = false;
		const bytes = this.writer.take();
		if (bytes.length > 0 && this.socket.writable) this.socket.write(bytes);
	}

	/** Say goodbye and listen no more. */
	#leave(code, reason, answer) {
		if (this.readyState !== OPEN) return;
		this.why = { code, reason };
		this.writer.close(answer);
		this.#write();
		this.readyState = CLOSING;
		this.reader.isOver = true;
		this.#end();
	}

	#end() {
		if (this.readyState === CONNECTING) {
			this.socket.destroy();
			return;
		}
		this.socket.end();
		setTimeout(() => this.socket.destroy(), GOODBYE_MS).unref();
	}

	#gone() {
		const { readyState } = this;
		this.readyState = OVER;
		if (readyState === CONNECTING) this.onerror?.({ message: this.why.reason });
		else this.onclose?.(this.why);
	}
}

module.exports = { WebSocketClient };
