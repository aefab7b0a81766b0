'use strict';
// The base class of all hosts: slots, match numbers, lost matches, and the frames to send.

const { SEND, SILENT, ActivityClock } = require('./clock.js');
const { ArrivalBuffer, FrameWriter, HostError, KIND, ProtocolError, decodeActions } = require('./frames.js');
const { matchSeed } = require('./seeds.js');
const { errorText, messageOf } = require('./words.js');

const TIMES_AGAIN = 3; // how often a scheduled match is started again after a temporary fault
const FAULTS_IN_A_ROW = 20; // the host gives up after more failed matches than this without one that ends between them

class SlotHost {
	/** `send(pieces)` writes the pieces of a FrameWriter; `log(text)` writes to the log. */
	constructor(send, log) {
		this.send = send;
		this.log = log;
		this.writer = new FrameWriter();
		this.clock = SILENT;
		this.timedOf = 1; // one in this many answers is timed activity by activity
		this.slots = null;
		this.wantsEvents = false;
		this.isDraining = false; // true after DRAIN: no more matches begin
		this.faultsAllowed = FAULTS_IN_A_ROW;
		this.lost = new Map(); // scheduled matches that a temporary fault ended: number -> times
	}

	/** Create the slots that CONFIGURE asks for, and send HELLO. */
	prepareSlots(configure, { seats, actions, maskBytes, obsBytes, hello }) {
		const { matches, seed, schedule, resume, timesS = null, events = false } = configure;
		this.actions = actions;
		this.seed = seed;
		this.schedule = schedule;
		this.begun = resume ? resume.following : 0;
		this.faults = 0;
		this.advanced = 0;
		this.slots = Array(matches).fill(null);
		this.arrivals = new ArrivalBuffer(matches * seats, maskBytes, obsBytes);
		this.writer.json(KIND.HELLO, { ...hello, drains: true });
		this.wantsEvents = events;
		this.flushWriter();
		if (timesS !== null) this.clock = new ActivityClock(timesS, this.timedOf);
	}

	/** Return {rows, actions, room} of an ACTIONS frame. */
	choices(body) {
		if (!this.slots) throw new ProtocolError('ACTIONS came before CONFIGURE');
		return decodeActions(body);
	}

	/** Return the match in a slot. Throws ProtocolError if there is none, or if the action does not exist. */
	matchAt(slot, row, action) {
		const match = this.slots[slot];
		if (!match) throw new ProtocolError(`ACTIONS names row ${row}, which was not asked`);
		if (action < 0 || action >= this.actions) {
			throw new ProtocolError(`row ${row} chose action ${action}, there are ${this.actions}`);
		}
		return match;
	}

	/** Return number and seed of the next match, or of match `resumed`; null if no match is left. */
	nextMatch(resumed = null) {
		if (this.isDraining) return null;
		if (resumed !== null) return { number: resumed, seed: matchSeed(this.seed, resumed) };
		if (!this.schedule) {
			const number = this.begun++;
			return { number, seed: matchSeed(this.seed, number) };
		}
		if (this.begun >= this.schedule.length) return null;
		const [number, seed] = this.schedule[this.begun++];
		return { number, seed };
	}

	/** Begin no more matches: each slot stays empty after its current match. */
	drain() {
		if (!this.slots) throw new ProtocolError('DRAIN came before CONFIGURE');
		this.isDraining = true;
	}

	/** Send a JSON object to whoever started the fleet, with the next frames, if they asked for events. */
	event(event) {
		if (this.wantsEvents) this.writer.event(event);
	}

	reportEnding(match) {
		this.faults = 0;
		this.writer.ending(match.ending, match.finalObs);
	}

	reportFault(slot, match) {
		const error = match.fault;
		this.log(`match ${match.number} (seed ${match.seed}) failed: ${errorText(error)}`);
		if (++this.faults > this.faultsAllowed) {
			throw new HostError('internal', `${this.faults} matches in a row failed, the last one: ${messageOf(error)}`);
		}
		const said = { message: messageOf(error), kind: 'match', slot, number: match.number };
		this.writer.json(KIND.ERROR, this.#queueAgain(match) ? { ...said, again: true } : said);
	}

	/** Append a lost match to the schedule again if its fault is temporary. Returns whether it was appended. */
	#queueAgain({ fault, number, seed }) {
		const times = this.lost.get(number) ?? 0;
		if (!this.schedule || !fault.isPassing || times >= TIMES_AGAIN) return false;
		this.lost.set(number, times + 1);
		this.schedule.push([number, seed]);
		return true;
	}

	/** Append the frames that complete an answer: TIMES, if it is due, and ARRIVALS with all rows. */
	completeAnswer() {
		const times = this.clock.due();
		if (times !== null) this.writer.json(KIND.TIMES, times);
		this.arrivals.flush(this.writer, true);
	}

	flushWriter() {
		this.advanced = 0;
		this.send(this.writer.take());
		this.clock.lap(SEND);
	}
}

module.exports = { SlotHost };
