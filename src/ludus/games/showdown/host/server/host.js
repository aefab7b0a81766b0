'use strict';
// The Showdown host whose battles run on servers: K matches over WebSockets, frames on stdin and stdout.
// Usage: node server/host.js --sim <folder of the pokemon-showdown package>
// Of the package it uses the data and the team validator only; what it knows of a battle is what the server says.

const { SIMULATE, WAIT } = require('../../../../sdk/javascript/clock.js');
const { decodeConfigure } = require('../../../../sdk/javascript/frames.js');
const { WaitingHost, answerEvents } = require('../../../../sdk/javascript/waiting.js');
const { battleHost } = require('../hosting.js');
const { SEATS } = require('../seated.js');
const { setUp } = require('../setup.js');
const { createHost } = require('../starting.js');
const { ServerMatch } = require('./match.js');
const { Pair } = require('./pair.js');

const WATCH_MS = 1000;
const isSeconds = value => Number.isFinite(value) && value > 0;

const OPTIONS = {
	servers: {
		fallback: ['ws://127.0.0.1:8000/showdown/websocket'],
		valid: value => Array.isArray(value) && value.length > 0 && value.every(url => /^wss?:\/\//.test(url)),
		expected: 'a list of addresses like ws://127.0.0.1:8000/showdown/websocket',
	},
	name: { fallback: 'ludus', valid: value => /^[A-Za-z0-9 ]{1,11}$/.test(value), expected: '1 to 11 letters or digits' },
	start_deadline_s: { fallback: 15, valid: isSeconds, expected: 'seconds' },
	silence_deadline_s: { fallback: 20, valid: isSeconds, expected: 'seconds' },
	patience_s: { fallback: 0, valid: value => value === 0 || isSeconds(value), expected: 'seconds, or 0' },
};

class ServerHost extends battleHost(WaitingHost) {
	/** What the options of a CONFIGURE message lead to, where servers play. */
	setUp({ options, keepLog }, known) {
		return setUp(this.simRoot, options, keepLog, { engine: 'server', options: known });
	}

	/** Connect, then answer CONFIGURE with HELLO; the opening arrivals follow when battles have begun. */
	async configure(body) {
		const message = decodeConfigure(body);
		const setup = this.setUp(message, OPTIONS);
		const { servers, name } = setup.options;
		const events = {
			hear: (match, seat, lines) => {
				this.clock.lap(SIMULATE); // the server did, meanwhile
				this.step(match, () => match.hear(seat, lines, this.arrivals, Date.now()));
			},
			fail: (match, error) => this.step(match, () => { match.fault ??= error; }),
			delay: match => this.delay(match),
			refuse: error => this.guard(() => { throw error; }),
			log: this.log,
		};
		const own = turned(servers, Number(process.env.LUDUS_HOST) || 0);
		this.pairs = own.map(url => new Pair(url, name, setup.format, events));
		await this.connect(1000 * setup.options.patience_s);
		this.prepare(message, setup);
		this.faultsAllowed += 2 * message.matches; // one lost connection takes all its matches
		const { matches, resume } = message;
		for (let slot = 0; slot < matches; slot++) this.openNext(slot, resume ? resume.open[slot] : null);
		this.watch = setInterval(() => this.guard(() => this.lookAtClock()), WATCH_MS);
		this.settleSoon();
	}

	/** To all servers, or after some patience to those that answer; throws HostError when there is none. */
	async connect(patienceMs) {
		const outcomes = await Promise.allSettled(this.pairs.map(pair => pair.connect(patienceMs)));
		const errors = outcomes.map(outcome => outcome.reason);
		const missing = this.pairs.filter((pair, i) => errors[i] !== undefined);
		const hopeless = errors.find(error => error !== undefined && !error.isPassing);
		if (hopeless || missing.length === this.pairs.length || (missing.length > 0 && patienceMs === 0)) {
			throw hopeless ?? errors.find(error => error !== undefined);
		}
		for (const pair of missing) pair.comeBack();
	}

	act(body) {
		this.clock.lap(WAIT);
		const { rows, actions } = this.choices(body);
		this.owed++;
		for (let i = 0; i < rows.length; i++) {
			const slot = Math.floor(rows[i] / SEATS);
			const match = this.matchAt(slot, rows[i], actions[i]);
			const seat = rows[i] - slot * SEATS;
			this.step(match, () => {
				const text = match.act(seat, actions[i], this.arrivals, Date.now());
				if (text !== null) match.pair.say(match, seat, text);
			});
		}
		this.settleSoon();
	}

	/** Do something with a match and see what became of it. */
	step(match, act) {
		this.guard(() => {
			act();
			if (this.slots[match.slot] !== match || match.owed) return;
			if (match.fault) {
				match.pair.leave(match);
				this.reportFault(match.slot, match);
				this.openNext(match.slot);
			} else if (match.ending) {
				match.pair.leave(match);
				this.reportEnding(match);
				this.openNext(match.slot);
			}
		});
		this.settleSoon();
	}

	/** Queue the next match for a slot on the server that has the fewest. */
	openNext(slot, resumed = null) {
		this.slots[slot] = null;
		const next = this.nextMatch(resumed);
		if (!next) return;
		const match = new ServerMatch(this.setup, slot, next.number, next.seed, Date.now());
		this.slots[slot] = match;
		match.pair = this.freest() ?? this.pairs[next.number % this.pairs.length];
		match.pair.start(match);
	}

	/** The pair with the fewest matches whose server begins battles; undefined when there is none. */
	freest() {
		const able = this.pairs.filter(pair => pair.isUp && !pair.isRestarting);
		return able.sort((one, other) => one.matches.size - other.matches.size)[0];
	}

	/** Begin a match on another server, or wait for its own. */
	delay(match) {
		match.sinceMs = Date.now();
		const other = this.freest();
		if (other === undefined) return;
		match.pair.leave(match);
		match.pair = other;
		other.start(match);
	}

	lookAtClock() {
		const nowMs = Date.now();
		for (const match of this.slots) {
			const error = match ? match.overdue(nowMs, this.setup.options) : null;
			if (error) this.step(match, () => { match.fault = error; });
		}
	}

	stop() {
		clearInterval(this.watch);
		for (const pair of this.pairs ?? []) pair.close();
	}
}

/** Hosts of one fleet begin with different servers, so that few matches are spread too. */
function turned(servers, by) {
	const first = by % servers.length;
	return [...servers.slice(first), ...servers.slice(0, first)];
}

if (require.main === module) answerEvents(createHost(ServerHost));

module.exports = { ServerHost };
