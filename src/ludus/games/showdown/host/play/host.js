'use strict';
// The host behind `ludus play`: one account on one server, its battles are against whoever is there.
// Usage: node play/host.js --sim <folder of the pokemon-showdown package>

const { decodeActions, decodeConfigure } = require('../../../../sdk/javascript/frames.js');
const { answerEvents } = require('../../../../sdk/javascript/waiting.js');
const { ServerHost } = require('../server/host.js');
const { createHost } = require('../starting.js');
const { Account } = require('./account.js');
const { Guest } = require('./guest.js');
const { EventLimit } = require('./events.js');
const { readPassword } = require('./login.js');
const { GuestMatch } = require('./match.js');

const WATCH_MS = 1000;
const GOODBYE_MS = 500; // for the last words to be sent
const isSeconds = value => Number.isFinite(value) && value > 0;
const MODES = ['accept', 'challenge', 'ladder'];

const OPTIONS = {
	server: {
		fallback: 'ws://127.0.0.1:8000/showdown/websocket',
		valid: value => /^wss?:\/\//.test(value),
		expected: 'an address like ws://127.0.0.1:8000/showdown/websocket',
	},
	name: {
		fallback: 'ludus',
		valid: value => /^[^|,\n]{1,18}$/.test(value) && /[A-Za-z]/.test(value),
		expected: '1 to 18 characters with a letter among them, without | and commas',
	},
	mode: { fallback: 'accept', valid: value => MODES.includes(value), expected: MODES.join(', ') },
	opponent: { fallback: '', valid: value => typeof value === 'string' && !/[|,\n]/.test(value), expected: 'a name' },
	password_file: {
		fallback: null, valid: value => value === null || typeof value === 'string', expected: 'a file or null',
	},
	login_server: {
		fallback: 'https://play.pokemonshowdown.com/action.php',
		valid: value => /^(https:\/\/|http:\/\/(127\.0\.0\.1|localhost|\[::1\])[:/])/.test(value),
		expected: 'an address that begins with https://',
	},
	start_deadline_s: { fallback: 60, valid: isSeconds, expected: 'seconds' },
	silence_deadline_s: { fallback: 600, valid: isSeconds, expected: 'seconds' },
	timer_after_s: { fallback: 90, valid: isSeconds, expected: 'seconds' },
	reconnect_deadline_s: { fallback: 600, valid: isSeconds, expected: 'seconds' },
};

class PlayHost extends ServerHost {
	constructor(simRoot, send, log) {
		super(simRoot, send, log);
		this.limit = new EventLimit();
		this.early = []; // events before HELLO
	}

	/** Log in, then answer CONFIGURE with HELLO; arrivals follow when somebody plays. */
	async configure(body) {
		const message = decodeConfigure(body);
		const setup = this.setUp(message, OPTIONS);
		this.again = []; // matches whose battle did not begin
		this.guest = this.createGuest(setup);
		this.pairs = [this.guest];
		await this.guest.connect();
		this.prepare(message, setup);
		for (const event of this.early.splice(0)) this.event(event);
		this.tell({ event: 'connected', name: this.guest.account.name });
		this.faultsAllowed = Infinity; // strangers may do as they like; the fleet counts what is lost
		for (let slot = 0; slot < message.matches; slot++) this.openNext(slot);
		this.guest.takeUp();
		this.watch = setInterval(() => this.guard(() => this.lookAtClock()), WATCH_MS);
		this.settleSoon();
	}

	createGuest({ format, options }) {
		const wish = {
			name: options.name,
			mode: options.mode,
			opponent: options.opponent,
			format: format.id,
			startDeadlineMs: options.start_deadline_s * 1000,
			reconnectDeadlineMs: options.reconnect_deadline_s * 1000,
		};
		const events = {
			hear: (match, lines) => this.step(match, () => {
				for (const text of match.hear(lines, this.arrivals, Date.now())) this.guest.say(match, 0, text);
			}),
			fail: (match, error) => this.step(match, () => { match.fault ??= error; }),
			fatal: error => this.guard(() => { throw error; }),
			tell: event => this.tell(event),
		};
		const password = options.password_file === null ? null : readPassword(options.password_file);
		const wanted = { format, password, loginServer: options.login_server };
		return new Guest(wish, events, handlers => new Account(options.server, handlers, wanted));
	}

	/** No rows at all are a question for a sign of life. */
	act(body) {
		super.act(body);
		if (decodeActions(body).rows.length === 0) this.guard(() => this.settle());
	}

	openNext(slot) {
		this.slots[slot] = null;
		const next = this.isDraining ? null : this.again.shift() ?? this.nextMatch();
		if (!next) return;
		const match = new GuestMatch(this.setup, slot, next.number, next.seed, Date.now());
		this.slots[slot] = match;
		match.pair = this.guest;
		this.guest.start(match);
	}

	/** A battle that nobody was asked in is none: its match waits for another. */
	reportFault(slot, match) {
		if (match.met[0]) {
			super.reportFault(slot, match);
			return;
		}
		this.again.push({ number: match.number, seed: match.seed });
		this.tell({ event: 'unplayed', who: match.opponent, why: match.fault.message });
	}

	lookAtClock() {
		const nowMs = Date.now();
		this.guest.watch(nowMs);
		const { timer_after_s: timerAfterS } = this.setup.options;
		for (const match of this.slots) {
			if (match === null || match.room === null) continue;
			this.step(match, () => { match.fault ??= match.overdue(nowMs, this.setup.options); });
			if (match.isIdle(nowMs, timerAfterS)) {
				match.isTimed = true;
				this.guest.say(match, 0, '/timer on');
			}
		}
	}

	/** Finish the battles that run, and give up waiting for others. */
	drain() {
		super.drain();
		this.guest.drain();
		for (const match of this.slots) {
			if (match === null || match.room !== null) continue;
			this.guest.leave(match);
			this.slots[match.slot] = null;
		}
	}

	/** Send an event, if there are not too many of its kind. */
	tell(event) {
		const limited = this.limit.admit(event);
		if (limited === null) return;
		if (this.slots === null) this.early.push(limited);
		else this.event(limited);
	}

	stop() {
		this.guest?.forfeit();
		super.stop();
	}
}

if (require.main === module) answerEvents(createHost(PlayHost), GOODBYE_MS);

module.exports = { PlayHost };
