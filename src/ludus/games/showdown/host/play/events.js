'use strict';
// Limits the events that a host sends: what is in them, and how often they happen, is up to a server.

const { cut } = require('../../../../sdk/javascript/words.js');

const MAX_CHARS = 300; // of one value: names and reasons are a server's
const MAX_PER_SECOND = 20; // events of one kind
const SECOND_MS = 1000;

class EventLimit {
	/** `now()` is a clock in milliseconds. */
	constructor(now = Date.now) {
		this.now = now;
		this.seconds = new Map(); // kind of event -> {startMs, admitted, leftOut}
	}

	/** Returns the event with its texts cut, or null beyond the limit. The next event of its kind has the number of
	 * those that were left out, as `left_out`. */
	admit(event) {
		const nowMs = this.now();
		const second = this.seconds.get(event.event) ?? { startMs: nowMs, admitted: 0, leftOut: 0 };
		this.seconds.set(event.event, second);
		if (nowMs - second.startMs >= SECOND_MS) Object.assign(second, { startMs: nowMs, admitted: 0 });
		if (second.admitted >= MAX_PER_SECOND) {
			second.leftOut++;
			return null;
		}
		second.admitted++;
		const counted = second.leftOut > 0 ? { ...event, left_out: second.leftOut } : event;
		second.leftOut = 0;
		const entries = Object.entries(counted);
		return Object.fromEntries(entries.map(([name, value]) => [name, shortened(value)]));
	}
}

function shortened(value) {
	return typeof value === 'string' ? cut(value, MAX_CHARS) : value;
}

module.exports = { EventLimit };
