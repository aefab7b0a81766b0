'use strict';
// The Showdown host: K battles in one process, frames on stdin and stdout.
// Usage: node host.js --sim <folder of the pokemon-showdown package>
// It blocks on stdin between frames, so there is no event loop: every frame is answered before the next one is read.

const { answerFrames } = require('../../../sdk/javascript/blocking.js');
const { HostError, ProtocolError, decodeConfigure } = require('../../../sdk/javascript/frames.js');
const { RowMemory } = require('../../../sdk/javascript/memory.js');
const { leave } = require('../../../sdk/javascript/process.js');
const { SlotHost } = require('../../../sdk/javascript/slots.js');
const { battleHost } = require('./hosting.js');
const { Match } = require('./matches.js');
const { SEATS } = require('./seated.js');
const { setUp } = require('./setup.js');
const { keepShapes } = require('./shapes.js');
const { createHost } = require('./starting.js');

const RUN_TOGETHER = 64; // battles that run before their rows are made
const LEFT_TOGETHER = 16; // rows, some 20 KB: few calls of the system, and little of a near cache
const TIMED_OF = 4; // a lap within a turn costs a third of a microsecond: all of them would be 1.6% of a host's CPU

class Host extends battleHost(SlotHost) {
	constructor(...given) {
		super(...given);
		this.timedOf = TIMED_OF;
		this.due = []; // slots whose battles have run and whose rows are not staged
		this.keepingShapes = null;
		this.memory = null; // where rows are left; null: all are sent
	}

	/** Answer CONFIGURE with HELLO and the opening arrivals. */
	configure(body) {
		const message = decodeConfigure(body);
		this.prepare(message, setUp(this.simRoot, message.options, message.keepLog), { memory: message.memory !== null });
		const { matches, resume, memory } = message;
		if (memory !== null) this.leaveRowsIn(memory);
		this.flushAfter = Math.ceil(matches / message.parts);
		for (let slot = 0; slot < matches; slot++) {
			this.openNext(slot, resume ? resume.open[slot] : null);
			this.flushWhenDue(slot < matches - 1);
		}
		this.keepingShapes = keepShapes(); // now that all modules are loaded
		this.finish();
	}

	leaveRowsIn(descriptor) {
		this.memory = new RowMemory(descriptor, this.arrivals.capacity, this.arrivals.obsBytes);
		this.arrivals.leave = bytes => this.memory.leave(bytes);
	}

	/** Answer ACTIONS with what they lead to. */
	act(body) {
		const { rows, actions, room } = this.choices(body);
		if (this.memory !== null) this.memory.enter(room);
		this.keepingShapes(() => this.advanceAll(rows, actions));
		this.finish();
	}

	/**
	 * Many battles run before their rows are made: each kind of work has more code than the processor's near caches hold.
	 * Going to and fro for every battle costs a tenth of the time, for every 16 of them still some percent.
	 */
	advanceAll(rows, actions) {
		for (let i = 0; i < rows.length; i++) {
			const slot = Math.floor(rows[i] / SEATS);
			this.advance(slot, this.matchAt(slot, rows[i], actions[i]), rows[i] - slot * SEATS, actions[i]);
			if (this.due.length === RUN_TOGETHER || this.advanced + this.due.length >= this.flushAfter) this.collect();
			this.flushWhenDue(i < rows.length - 1);
		}
		this.collect();
	}

	advance(slot, match, seat, action) {
		const staged = this.arrivals.count;
		if (match.fault) {
			match.asked[seat] = false;
		} else {
			try {
				if (match.take(seat, action, this.arrivals)) this.due.push(slot);
			} catch (error) {
				if (error instanceof ProtocolError) throw error;
				match.fault = error;
			}
		}
		if (match.fault) {
			if (match.owed) return; // the other row's answer is on its way: its slot can only be reused after that
			this.reportFault(slot, match);
			this.openNext(slot);
		} else if (this.arrivals.count > staged) {
			this.advanced++;
		}
	}

	/** Stage the rows of all battles that have run. */
	collect() {
		for (const slot of this.due) {
			const match = this.slots[slot];
			try {
				match.collect(this.arrivals);
			} catch (error) {
				match.fault = error;
			}
			this.arrivals.leaveEarly(LEFT_TOGETHER);
			if (!match.fault && !match.ending) {
				this.advanced++;
				continue;
			}
			if (match.fault) this.reportFault(slot, match);
			else this.reportEnding(match);
			this.openNext(slot);
		}
		this.due.length = 0;
	}

	/** Put the next match into a slot, at first the one it `resumed`; leave it empty when the schedule is played. */
	openNext(slot, resumed = null) {
		for (let first = resumed; ; first = null) {
			this.slots[slot] = null;
			const next = this.nextMatch(first);
			if (!next) return;
			const match = new Match(this.setup, slot, next.number, next.seed);
			this.slots[slot] = match;
			try {
				match.open(this.arrivals);
				if (match.ending) throw new HostError('match', 'it was over before anybody could choose');
				this.advanced++;
				return;
			} catch (error) {
				match.fault = error;
				this.reportFault(slot, match);
			}
		}
	}

	/** Let the other side work while this one goes on with the rest of a batch. */
	flushWhenDue(more) {
		if (!more || this.advanced < this.flushAfter || this.arrivals.count === 0) return;
		this.arrivals.flush(this.writer, false);
		this.flushWriter();
	}

	finish() {
		this.completeAnswer();
		this.flushWriter();
	}
}

// -- the process

function main() {
	const host = createHost(Host);
	try {
		answerFrames(host);
	} catch (error) {
		leave(host, error);
	}
	leave(host);
}

if (require.main === module) main();

module.exports = { Host, LEFT_TOGETHER, RUN_TOGETHER, TIMED_OF };
