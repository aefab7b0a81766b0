'use strict';
// Hosts whose matches wait for something outside: rows go out when they are ready, in an event loop.

const { SIMULATE } = require('./clock.js');
const { FrameReader, KIND, ProtocolError } = require('./frames.js');
const { leave } = require('./process.js');
const { SlotHost } = require('./slots.js');

const GATHER_MS = 8; // for which rows wait for more, while other matches are at work
const GATHERED_SHARE = 1 / 2; // of all rows: these are sent at once, and the other half keeps those outside at work

/** Matches in `slots` have `owed`: a seat was asked and has not answered; one that owes nobody anything is at work. */
class WaitingHost extends SlotHost {
	constructor(send, log) {
		super(send, log);
		this.owed = 1; // answers that the fleet waits for: the opening is one
	}

	/** Send what is staged when the events at hand have been dealt with and enough has come together. */
	settleSoon() {
		if (this.settling || this.slots === null) return;
		this.settling = true;
		setImmediate(() => this.guard(() => {
			this.settling = false;
			if (!this.isWorking || this.stage.count >= this.stage.capacity * GATHERED_SHARE) this.settle();
			else if (this.owed > 1 || this.stage.count > 0 || !this.writer.isEmpty) this.gather();
		}));
	}

	/** More is on its way, and a frame costs the fleet more than the few rows of one message. */
	gather() {
		this.gathering ??= setTimeout(() => this.guard(() => this.settle()), GATHER_MS);
	}

	get isWorking() {
		return this.slots.some(match => match !== null && !match.owed);
	}

	/** One answer stays owed for as long as a match is at work; a host that owes nothing must be silent. */
	settle() {
		clearTimeout(this.gathering);
		this.gathering = null;
		const kept = this.isWorking ? 1 : 0;
		this.clock.lap(SIMULATE);
		if (this.stage.count > 0 && this.owed === kept) this.stage.flush(this.writer, false);
		while (this.owed > kept) {
			this.completeAnswer();
			this.owed--;
		}
		if (!this.writer.isEmpty) this.flushWriter();
	}

	guard(act) {
		try {
			act();
		} catch (error) {
			this.stop();
			leave(this, error);
		}
	}

	/** Matches that are open go on. */
	drain() {
		super.drain();
		this.settleSoon();
	}

	event(event) {
		super.event(event);
		this.settleSoon();
	}

	/** Let go of everything outside. */
	stop() {}
}

/** Run a host until STOP or the end of stdin; `lingerMs` after that are for its last words to others. */
function answerEvents(host, lingerMs = 0) {
	const finish = () => {
		host.stop();
		setTimeout(() => leave(host), lingerMs);
	};
	process.on('uncaughtException', error => leave(host, error));
	const reader = new FrameReader();
	process.stdin.on('data', bytes => host.guard(() => {
		reader.push(bytes);
		for (let frame = reader.next(); frame; frame = reader.next()) {
			if (frame.kind === KIND.STOP) finish();
			else take(host, frame);
		}
	}));
	process.stdin.on('end', () => host.guard(() => {
		reader.close();
		finish();
	}));
}

function take(host, { kind, body }) {
	if (kind === KIND.ACTIONS) {
		host.act(body);
	} else if (kind === KIND.DRAIN) {
		host.drain();
	} else if (kind === KIND.CONFIGURE && !host.isConfigured) {
		host.isConfigured = true;
		host.configure(body).catch(error => host.guard(() => { throw error; }));
	} else {
		throw new ProtocolError(`a frame of kind ${kind} came at the wrong time`);
	}
}

module.exports = { WaitingHost, answerEvents };
