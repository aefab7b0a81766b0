'use strict';
// A host as a process: its stdin and stdout, and how it leaves.

const fs = require('node:fs');
const { HostError, KIND } = require('./frames.js');
const { errorText, messageOf } = require('./words.js');

const RETRY_MS = 1; // when a pipe that was set non-blocking is empty or full
const EXIT = Object.freeze({ done: 0, failed: 1, refused: 2 });

/** From now on stdout carries frames only: what is printed goes to stderr. */
function takeStdout() {
	globalThis.console = new console.Console(process.stderr, process.stderr);
	process.stdout.write = process.stderr.write.bind(process.stderr);
}

/** End the process: with an ERROR frame, if there was an error. */
function leave(host, error = null) {
	if (error === null || error.code === 'EPIPE') process.exit(EXIT.done); // EPIPE: the other side has left
	host.log(errorText(error));
	const kind = error instanceof HostError ? error.kind : 'internal';
	host.writer.json(KIND.ERROR, { message: messageOf(error), kind });
	try {
		writeAll(host.writer.take());
	} catch {
		// nobody is left to read it; stderr has it
	}
	process.exit(kind === 'configuration' ? EXIT.refused : EXIT.failed);
}

/** Blocks until something was read from stdin; 0 bytes at its end. */
function readSome(into) {
	return persist(() => {
		try {
			return fs.readSync(0, into);
		} catch (error) {
			if (error.code === 'EOF') return 0;
			throw error;
		}
	});
}

/** Blocks until all pieces were written to stdout. */
function writeAll(pieces) {
	const left = [...pieces];
	while (left.length > 0) {
		let bytes = persist(() => fs.writevSync(1, left));
		while (left.length > 0 && bytes >= left[0].length) bytes -= left.shift().length;
		if (bytes > 0) left[0] = left[0].subarray(bytes);
	}
}

function persist(attempt) {
	for (;;) {
		try {
			return attempt();
		} catch (error) {
			if (error.code !== 'EAGAIN' && error.code !== 'EINTR') throw error;
			Atomics.wait(sleeper, 0, 0, RETRY_MS);
		}
	}
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));

module.exports = { leave, readSome, takeStdout, writeAll };
