'use strict';
// What all hosts need, whatever they play: slots, the numbers of matches, faults and frames to be sent.

const { SEND, SILENT, ActivityClock } = require('./clock.js');
const { ArrivalStage, FrameWriter, HostError, KIND, ProtocolError, decodeActions } = require('./frames.js');
const { matchSeed } = require('./seeds.js');
const { errorText, messageOf } = require('./words.js');

const TIMES_AGAIN = 3; // a scheduled match is opened again
const FAULTS_IN_A_ROW = 20; // matches that fail without one that ends between them, before the host gives up

class SlotHost {
	/** `send(pieces)` writes out what a FrameWriter has collected; `log(text)` is for people. */
	constructor(send, log) {
		this.send = send;
		this.log = log;
		this.writer = new FrameWriter();
		this.clock = SILENT;
		this.timedOf = 1; // answers: one of so many is timed activity by activity
		this.slots = null;
		this.wantsEvents = false;
		this.isDraining = false; // begins no more matches
		this.faultsAllowed = FAULTS_IN_A_ROW;
		this.lost = new Map(); // scheduled matches that were lost to something that passes: number -> times
	}

	/** Take a CONFIGURE message in and say HELLO; the game is {seats, actions, maskBytes, obsBytes, hello}. */
	prepareSlots(configure, { seats, actions, maskBytes, obsBytes, hello }) {
		const { matches, seed, schedule, resume, timesS = null, events = false } = configure;
		this.actions = actions;
		this.seed = seed;
		this.schedule = schedule;
		this.begun = resume ? resume.following : 0;
		this.faults = 0;
		this.advanced = 0;
		this.slots = Array(matches).fill(null);
		this.stage = new ArrivalStage(matches * seats, maskBytes, obsBytes);
		this.writer.json(KIND.HELLO, { ...hello, drains: true });
		this.wantsEvents = events;
		this.flushWriter();
		if (timesS !== null) this.clock = new ActivityClock(timesS, this.timedOf);
	}

	/** {rows, actions, room} of an ACTIONS frame. */
	choices(body) {
		if (!this.slots) throw new ProtocolError('ACTIONS came before CONFIGURE');
		return decodeActions(body);
	}

	/** The match in a slot whose row has chosen. */
	matchAt(slot, row, action) {
		const match = this.slots[slot];
		if (!match) throw new ProtocolError(`ACTIONS names row ${row}, which was not asked`);
		if (action < 0 || action >= this.actions) {
			throw new ProtocolError(`row ${row} chose action ${action}, there are ${this.actions}`);
		}
		return match;
	}

	/** Number and seed of the next match, or of the one that is `resumed`; null when there is none. */
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

	/** Begin no more matches: slots stay empty when theirs is over. */
	drain() {
		if (!this.slots) throw new ProtocolError('DRAIN came before CONFIGURE');
		this.isDraining = true;
	}

	/** Send a JSON object to whoever started the fleet, with the next frames; nothing, unless they asked for events. */
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

	/** Put a scheduled match at the end of the schedule when what it was lost to may have passed by then. */
	#queueAgain({ fault, number, seed }) {
		const times = this.lost.get(number) ?? 0;
		if (!this.schedule || !fault.isPassing || times >= TIMES_AGAIN) return false;
		this.lost.set(number, times + 1);
		this.schedule.push([number, seed]);
		return true;
	}

	/** Append what completes an answer: all that is staged and, when it is time, where the time went. */
	completeAnswer() {
		const times = this.clock.due();
		if (times !== null) this.writer.json(KIND.TIMES, times);
		this.stage.flush(this.writer, true);
	}

	flushWriter() {
		this.advanced = 0;
		this.send(this.writer.take());
		this.clock.lap(SEND);
	}
}

module.exports = { SlotHost };
