'use strict';
// stdin, stdout and exit of a host process.

const fs = require('node:fs');
const { HostError, KIND } = require('./frames.js');
const { errorText, messageOf } = require('./words.js');

const RETRY_MS = 1; // pause before a retry if a non-blocking pipe is empty or full
const EXIT = Object.freeze({ done: 0, failed: 1, refused: 2 });

/** Send all printed output to stderr from now on, so that stdout carries frames only. */
function takeStdout() {
	globalThis.console = new console.Console(process.stderr, process.stderr);
	process.stdout.write = process.stderr.write.bind(process.stderr);
}

/** End the process. If there was an error, log it and send an ERROR frame first. */
function leave(host, error = null) {
	if (error === null || error.code === 'EPIPE') process.exit(EXIT.done); // EPIPE: the fleet has ended
	host.log(errorText(error));
	const kind = error instanceof HostError ? error.kind : 'internal';
	host.writer.json(KIND.ERROR, { message: messageOf(error), kind });
	try {
		writeAll(host.writer.take());
	} catch {
		// the fleet has ended; the error is in the log
	}
	process.exit(kind === 'configuration' ? EXIT.refused : EXIT.failed);
}

/** Read from stdin, blocking. Returns the number of bytes, 0 at the end. */
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

/** Write all pieces to stdout, blocking. */
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
