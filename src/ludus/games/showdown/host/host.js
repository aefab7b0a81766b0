'use strict';
// The Showdown host: K battles in one process, frames on stdin and stdout.
// Usage: node host.js --sim <folder of the pokemon-showdown package>
// It blocks on stdin between frames, so there is no event loop: every frame is answered before the next one is read.

const fs = require('node:fs');
const path = require('node:path');
const {
	ArrivalStage, FrameReader, FrameWriter, HostError, KIND, ProtocolError, decodeActions, decodeConfigure,
} = require('./frames.js');
const { Match, SEATS, matchSeed } = require('./matches.js');
const { hello, setUp } = require('./setup.js');

const READ_BYTES = 1 << 16;
const RETRY_MS = 1; // when a pipe that was set non-blocking is empty or full
const FAULTS_IN_A_ROW = 20; // matches that fail without one that ends between them, before the host gives up
const EXIT = Object.freeze({ done: 0, failed: 1, refused: 2 });

class Host {
	/** `send(writer)` writes out all bytes collected so far; `log(text)` is for people. */
	constructor(simRoot, send, log) {
		this.simRoot = simRoot;
		this.send = send;
		this.log = log;
		this.writer = new FrameWriter();
		this.slots = null;
	}

	/** Answer CONFIGURE with HELLO and the opening arrivals. */
	configure(body) {
		const { matches, options, seed, schedule, resume, keepLog } = decodeConfigure(body);
		this.setup = setUp(this.simRoot, options, keepLog);
		const { actionSet, observer } = this.setup;
		this.seed = seed;
		this.schedule = schedule;
		this.begun = resume ? resume.following : 0;
		this.faults = 0;
		this.advanced = 0;
		this.flushAfter = Math.ceil(matches / 2);
		this.slots = Array(matches).fill(null);
		this.stage = new ArrivalStage(matches * SEATS, actionSet.maskBytes, observer.nbytes);
		this.writer.json(KIND.HELLO, hello(this.setup));
		this.flushWriter();
		for (let slot = 0; slot < matches; slot++) {
			this.openNext(slot, resume ? resume.open[slot] : null);
			this.flushWhenDue(slot < matches - 1);
		}
		this.finish();
	}

	/** Answer ACTIONS with what they lead to. */
	act(body) {
		if (!this.slots) throw new ProtocolError('ACTIONS came before CONFIGURE');
		const { rows, actions } = decodeActions(body);
		for (let i = 0; i < rows.length; i++) {
			const slot = Math.floor(rows[i] / SEATS);
			const match = this.slots[slot];
			if (!match) throw new ProtocolError(`ACTIONS names row ${rows[i]}, which was not asked`);
			if (actions[i] < 0 || actions[i] >= this.setup.actionSet.size) {
				throw new ProtocolError(`row ${rows[i]} chose action ${actions[i]}, there are ${this.setup.actionSet.size}`);
			}
			this.advance(slot, match, rows[i] - slot * SEATS, actions[i]);
			this.flushWhenDue(i < rows.length - 1);
		}
		this.finish();
	}

	advance(slot, match, seat, action) {
		const staged = this.stage.count;
		if (match.fault) {
			match.asked[seat] = false;
		} else {
			try {
				match.act(seat, action, this.stage);
			} catch (error) {
				if (error instanceof ProtocolError) throw error;
				match.fault = error;
			}
		}
		if (match.fault) {
			if (match.owed) return; // the other row's answer is on its way: its slot can only be reused after that
			this.reportFault(slot, match);
			this.openNext(slot);
		} else if (match.ending) {
			this.faults = 0;
			this.writer.ending(match.ending, match.finalObs);
			this.openNext(slot);
		} else if (this.stage.count > staged) {
			this.advanced++;
		}
	}

	/** Put the next match into a slot, at first the one it `resumed`; leave it empty when the schedule is played. */
	openNext(slot, resumed = null) {
		for (let first = resumed; ; first = null) {
			this.slots[slot] = null;
			const next = first === null ? this.nextMatch() : { number: first, seed: matchSeed(this.seed, first) };
			if (!next) return;
			const match = new Match(this.setup, slot, next.number, next.seed);
			this.slots[slot] = match;
			try {
				match.open(this.stage);
				if (match.ending) throw new HostError('match', 'it was over before anybody could choose');
				this.advanced++;
				return;
			} catch (error) {
				match.fault = error;
				this.reportFault(slot, match);
			}
		}
	}

	nextMatch() {
		if (!this.schedule) {
			const number = this.begun++;
			return { number, seed: matchSeed(this.seed, number) };
		}
		if (this.begun >= this.schedule.length) return null;
		const [number, seed] = this.schedule[this.begun++];
		return { number, seed };
	}

	reportFault(slot, match) {
		const error = match.fault;
		this.log(`match ${match.number} (seed ${match.seed}) failed: ${error.stack}\n${error.detail || ''}\n`);
		if (++this.faults > FAULTS_IN_A_ROW) {
			throw new HostError('internal', `${this.faults} matches in a row failed, the last one: ${error.message}`);
		}
		this.writer.json(KIND.ERROR, { message: error.message, kind: 'match', slot, number: match.number });
	}

	/** Let the other side work while this one goes on with the rest of a batch. */
	flushWhenDue(more) {
		if (!more || this.advanced < this.flushAfter || this.stage.count === 0) return;
		this.stage.flush(this.writer, false);
		this.flushWriter();
	}

	finish() {
		this.stage.flush(this.writer, true);
		this.flushWriter();
	}

	flushWriter() {
		this.advanced = 0;
		this.send(this.writer);
	}
}

// -- the process

function main() {
	// stdout carries frames only
	globalThis.console = new console.Console(process.stderr, process.stderr);
	const at = process.argv.indexOf('--sim');
	const simRoot = at < 0 ? undefined : process.argv[at + 1];
	const log = text => process.stderr.write(text);
	const host = new Host(simRoot && path.resolve(simRoot), writeAll, log);
	try {
		if (!simRoot) throw new HostError('configuration', 'the host needs --sim <folder of the pokemon-showdown package>');
		serve(host);
	} catch (error) {
		if (error.code === 'EPIPE') process.exit(EXIT.done); // the other side has left
		log(`${error.stack}\n`);
		const kind = error instanceof HostError ? error.kind : 'internal';
		host.writer.json(KIND.ERROR, { message: error.message, kind });
		try {
			writeAll(host.writer);
		} catch {
			// nobody is left to read it; stderr has it
		}
		process.exit(kind === 'configuration' ? EXIT.refused : EXIT.failed);
	}
	process.exit(EXIT.done);
}

/** Until STOP or the end of stdin. */
function serve(host) {
	const reader = new FrameReader();
	for (;;) {
		for (let frame = reader.next(); frame; frame = reader.next()) {
			if (frame.kind === KIND.STOP) return;
			if (frame.kind === KIND.ACTIONS) host.act(frame.body);
			else if (frame.kind === KIND.CONFIGURE && !host.slots) host.configure(frame.body);
			else throw new ProtocolError(`a frame of kind ${frame.kind} came at the wrong time`);
		}
		const bytes = readSome(reader.space(READ_BYTES));
		if (bytes === 0) {
			reader.close();
			return;
		}
		reader.pushed(bytes);
	}
}

function readSome(into) {
	for (;;) {
		try {
			return fs.readSync(0, into);
		} catch (error) {
			if (error.code === 'EOF') return 0;
			if (error.code !== 'EAGAIN' && error.code !== 'EINTR') throw error;
			pause();
		}
	}
}

function writeAll(writer) {
	let at = 0;
	while (at < writer.bytes) {
		try {
			at += fs.writeSync(1, writer.buffer, at, writer.bytes - at);
		} catch (error) {
			if (error.code !== 'EAGAIN' && error.code !== 'EINTR') throw error;
			pause();
		}
	}
	writer.bytes = 0;
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));

function pause() {
	Atomics.wait(sleeper, 0, 0, RETRY_MS);
}

if (require.main === module) main();

module.exports = { Host };
