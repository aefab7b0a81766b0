'use strict';
// The main loop of hosts whose matches wait for something, such as a server. Rows are sent when they are ready.

const { SIMULATE } = require('./clock.js');
const { FrameReader, KIND, ProtocolError } = require('./frames.js');
const { leave } = require('./process.js');
const { SlotHost } = require('./slots.js');

const GATHER_MS = 8; // longest time that ready rows wait for others, so that they share a frame
const GATHERED_SHARE = 1 / 2; // rows are sent without delay if this share of all rows is ready

/** A match in `slots` has `owed`: true if a seat of it must choose. A match without is working. */
class WaitingHost extends SlotHost {
	constructor(send, log) {
		super(send, log);
		this.owed = 1; // answers that the fleet waits for; the opening is the first
	}

	/** After the current events, send the ready rows if there are enough, or if no match is working. */
	settleSoon() {
		if (this.settling || this.slots === null) return;
		this.settling = true;
		setImmediate(() => this.guard(() => {
			this.settling = false;
			if (!this.isWorking || this.arrivals.count >= this.arrivals.capacity * GATHERED_SHARE) this.settle();
			else if (this.owed > 1 || this.arrivals.count > 0 || !this.writer.isEmpty) this.gather();
		}));
	}

	/** Send the ready rows within GATHER_MS. Until then, more rows may share their frame. */
	gather() {
		this.gathering ??= setTimeout(() => this.guard(() => this.settle()), GATHER_MS);
	}

	get isWorking() {
		return this.slots.some(match => match !== null && !match.owed);
	}

	/** Send all ready rows, but keep one answer open while a match is working: without one, the host may send nothing. */
	settle() {
		clearTimeout(this.gathering);
		this.gathering = null;
		const kept = this.isWorking ? 1 : 0;
		this.clock.lap(SIMULATE);
		if (this.arrivals.count > 0 && this.owed === kept) this.arrivals.flush(this.writer, false);
		while (this.owed > kept) {
			this.completeAnswer();
			this.owed--;
		}
		if (!this.writer.isEmpty) this.flushWriter();
	}

	/** Call `act`. If it throws, end the process with an ERROR frame. */
	guard(act) {
		try {
			act();
		} catch (error) {
			this.stop();
			leave(this, error);
		}
	}

	/** Begin no more matches; running matches continue. */
	drain() {
		super.drain();
		this.settleSoon();
	}

	event(event) {
		super.event(event);
		this.settleSoon();
	}

	/** Close all connections and matches. Subclasses override it. */
	stop() {}
}

/** Run a host until STOP or the end of stdin, then exit after `lingerMs`, in which its last messages can be sent. */
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
