'use strict';
// What a host tells whoever started it, as lines of its log: `@TOKEN {"event": ...}`. The token is known to the two of
// them alone, so that nothing a server says can be taken for such a line.

const { cut } = require('../../../../sdk/javascript/words.js');

const VARIABLE = 'LUDUS_JOURNAL';
const LONGEST = 300; // characters of one value: names and reasons are a server's
const MOST_A_SECOND = 20; // events of one kind; a server may send as many messages as it likes
const SECOND_MS = 1000;

class Journal {
	/** `write(text)` appends to the log; `now()` is a clock in milliseconds. */
	constructor(token, write, now = Date.now) {
		this.token = token;
		this.write = write;
		this.now = now;
		this.seconds = new Map(); // kind of event -> {startMs, told, leftOut}
	}

	/** Events beyond the limit are left out and counted in the next one of their kind. */
	tell(event) {
		const nowMs = this.now();
		const second = this.seconds.get(event.event) ?? { startMs: nowMs, told: 0, leftOut: 0 };
		this.seconds.set(event.event, second);
		if (nowMs - second.startMs >= SECOND_MS) Object.assign(second, { startMs: nowMs, told: 0 });
		if (second.told >= MOST_A_SECOND) {
			second.leftOut++;
			return;
		}
		second.told++;
		const said = second.leftOut > 0 ? { ...event, left_out: second.leftOut } : event;
		second.leftOut = 0;
		this.write(`@${this.token} ${JSON.stringify(said, shortened)}\n`);
	}
}

function shortened(_, value) {
	return typeof value === 'string' ? cut(value, LONGEST) : value;
}

/** The token that this process was started with, which nobody else may read from its environment afterwards. */
function takeToken() {
	const token = process.env[VARIABLE] ?? '';
	delete process.env[VARIABLE];
	return token;
}

module.exports = { Journal, takeToken };
