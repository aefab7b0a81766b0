'use strict';
// One account among strangers on one server: it accepts challenges, makes them, or searches on the ladder, and plays
// many battles at once. Beginning is done for one battle at a time, as servers allow.

const { HostError } = require('../../../../sdk/javascript/frames.js');
const { userId } = require('../server/connection.js');
const { BackOff, LOGIN_DEADLINE_MS, LeftRooms, Rejoin } = require('../server/rejoining.js');
const { Unknown } = require('./messages.js');

const PING_MS = 60_000; // of silence, after which the server is asked for a sign of life
const DEAD_MS = 90_000; // of silence, after which the connection counts as lost
const SEARCH_MS = 600_000; // then a search on the ladder is made again
const CHALLENGERS_KEPT = 100;
const ATTEMPTS = 3; // challenges in a row that nobody accepts
const THROTTLED = 'message-throttle-notice'; // said too much at once, and not listened to
const REPEAT_MS = 1_500;
const LOST = 'the connection to the server was lost';
// Refusals that pass: throttled, or a challenge or its answer is still on its way, or the other is not there yet.
const PASSING = new RegExp([
	'less than 10 seconds', 'too quickly', 'already challenging', 'already a challenge', 'pending challenges',
	'already searching', 'not found', 'Maybe they accepted', 'server is restarting', 'under attack', 'offline',
	'not available', 'concurrent battles', 'limited to', 'wait',
].join('|'), 'i');
// Refusals that stay, whatever is tried again.
const LASTING = new RegExp([
	'team was rejected', 'need a team', 'format is invalid', 'not ladderable', 'banned from', 'barred from',
	'not accepting challenges',
].join('|'), 'i');

class Guest {
	/**
	 * `wish`: {name, mode, opponent, format, startDeadlineMs, reconnectDeadlineMs}. `events`: `hear(match, lines)` for the
	 * lines of a battle, `fail(match, error)` for a match that is lost, `fatal(error)` when nothing can be played,
	 * `tell(event)` for people.
	 */
	constructor(wish, events, createAccount) {
		this.wish = wish;
		this.events = events;
		this.account = createAccount({ hear: message => this.hear(message), lost: why => this.lose(why) });
		this.matches = new Set(); // waiting or under way
		this.queue = []; // waiting
		this.starting = null; // {match, who, sinceMs}: asked for
		this.challengers = new Map(); // id -> name, who wait for an answer
		this.rooms = new Map();
		this.left = new LeftRooms(); // nobody comes back to these
		this.backOff = new BackOff(); // before a challenge is made again, or a lost connection
		this.rejoin = new Rejoin(this.account, wish.name, this.backOff, {
			failed: (error, lostForMs) => this.triesAgain(error, lostForMs),
			back: lostForMs => this.comeBack(lostForMs),
			missing: room => this.giveUp(room),
		});
		this.missed = 0; // challenges in a row that came to nothing
		this.heardMs = Date.now();
		this.isDraining = false; // begins no more battles, and finishes those that run
		this.held = []; // what battles of an earlier process say, until there are matches for them; null afterwards
		this.unknown = new Unknown(events.tell);
	}

	get isUp() {
		return this.account.isOpen;
	}

	/** Throws HostError of kind configuration. */
	async connect() {
		await this.account.open(this.wish.name, LOGIN_DEADLINE_MS);
		this.heardMs = Date.now();
	}

	/** All matches there are have been started: those that the account was in already go on. */
	takeUp() {
		const messages = this.held;
		this.held = null;
		for (const message of messages) this.hear(message);
		this.startNext();
	}

	start(match) {
		this.matches.add(match);
		this.queue.push(match);
		this.startNext();
	}

	startNext() {
		if (!this.isUp || this.starting !== null || this.queue.length === 0 || this.isDraining || this.held !== null) return;
		const { mode, opponent } = this.wish;
		let who = opponent;
		if (mode === 'accept') {
			if (this.challengers.size === 0) return;
			const [id] = this.challengers.keys();
			who = this.challengers.get(id);
			this.challengers.delete(id);
		}
		this.starting = { match: this.queue.shift(), who, sinceMs: Date.now() };
		this.ask();
	}

	/** Say what begins a battle. */
	ask() {
		const { match, who } = this.starting;
		const { mode, format } = this.wish;
		this.account.send('', `/utm ${match.team}`);
		if (mode === 'accept') this.account.send('', `/accept ${userId(who)}`);
		else if (mode === 'challenge') this.account.send('', `/challenge ${userId(who)}, ${format}`);
		else this.account.send('', `/search ${format}`);
	}

	hear({ room, lines }) {
		this.heardMs = Date.now();
		if (room === '') {
			for (const line of lines) this.note(line);
			return;
		}
		if (!room.startsWith('battle-')) return;
		if (this.held !== null) {
			this.held.push({ room, lines });
			return;
		}
		for (const line of lines) this.unknown.see(line, true);
		if (lines[0] === '|init|battle') this.enter(room);
		const match = this.rooms.get(room);
		if (match === undefined) return;
		this.events.hear(match, lines);
		if (lines.some(line => line.includes(THROTTLED))) setTimeout(() => this.repeat(match), REPEAT_MS);
		if (!this.matches.has(match) || !lines.some(line => line.startsWith('|request|'))) return;
		const text = match.unheard(0);
		if (text !== null) this.say(match, 0, text);
	}

	repeat(match) {
		const text = this.matches.has(match) ? match.repeated() : null;
		if (text !== null) this.say(match, 0, text);
	}

	/** What a server says outside of rooms. */
	note(line) {
		this.unknown.see(line, false);
		if (line.startsWith('|popup|')) {
			const why = line.slice('|popup|'.length).replaceAll('||', ' ').replace(/\s+/g, ' ').trim();
			if (this.starting !== null) this.refuse(why);
			else this.events.tell({ event: 'popup', why });
			return;
		}
		if (!line.startsWith('|pm|')) return;
		const [, , from = '', to = '', said = ''] = line.split('|');
		if (said.startsWith('/error ') && this.starting !== null) this.refuse(said.slice('/error '.length));
		else if (userId(to) === this.account.id && /^\/challenge\b/.test(said)) {
			this.meet(from.slice(1), said.slice('/challenge '.length));
		}
	}

	/** Somebody wants to play, or no longer when there is no format. */
	meet(name, format) {
		const id = userId(name);
		if (format === '') {
			this.challengers.delete(id);
			return;
		}
		const wanted = userId(format.split('@@@')[0]) === this.wish.format && !format.includes('@@@');
		if (this.wish.mode !== 'accept' || !wanted || this.challengers.size >= CHALLENGERS_KEPT || this.isDraining) {
			this.account.send('', `/reject ${id}`);
			this.events.tell({ event: 'declined', who: name, format });
			return;
		}
		this.challengers.set(id, name);
		this.startNext();
	}

	/** What was asked for was refused: again later, or never. */
	refuse(why) {
		const { starting } = this;
		if (LASTING.test(why)) {
			this.events.fatal(new HostError('configuration', `the server says: ${why}`));
			return;
		}
		if (this.wish.mode === 'accept') {
			this.giveUpStarting(why);
			return;
		}
		this.events.tell({ event: 'delayed', why });
		if (!PASSING.test(why)) {
			this.giveUpStarting(why);
			return;
		}
		this.backOff.later(() => {
			if (this.starting === starting && this.isUp && !this.isDraining) this.ask();
		});
	}

	/** No battle has come of it. */
	giveUpStarting(why) {
		const { match, who } = this.starting;
		this.starting = null;
		this.withdraw(who);
		this.queue.push(match);
		this.events.tell({ event: 'unplayed', who, why });
		if (this.wish.mode === 'challenge' && ++this.missed >= ATTEMPTS) {
			const said = `${this.missed} challenges of ${who} in a row came to nothing, the last one: ${why}`;
			this.events.fatal(new HostError('configuration', said));
			return;
		}
		this.backOff.later(() => this.startNext());
	}

	withdraw(who) {
		if (this.wish.mode === 'challenge') this.account.send('', `/cancelchallenge ${userId(who)}`);
		else if (this.wish.mode === 'ladder') this.account.send('', '/cancelsearch');
	}

	enter(room) {
		if (this.rooms.has(room)) {
			this.rejoin.absent.delete(room);
			this.rooms.get(room).rejoin(0);
			return;
		}
		if (!room.startsWith(`battle-${this.wish.format}-`)) return;
		const match = this.left.has(room) || this.isDraining ? undefined : this.starting?.match ?? this.queue.shift();
		if (match === undefined) {
			this.quit(room);
			return;
		}
		match.join(room, this.account.id, Date.now());
		this.rooms.set(room, match);
		if (this.starting?.match === match) this.starting = null;
		this.missed = 0;
		this.backOff.reset();
		if (this.wish.mode === 'ladder') this.say(match, 0, '/timer on');
		this.startNext();
	}

	quit(room) {
		this.account.send(room, '/forfeit');
		this.account.send('', `/leave ${room}`);
	}

	say(match, seat, text) {
		this.account.send(match.room, text);
	}

	/** The match is over for this host, its battle perhaps not yet. */
	leave(match) {
		if (!this.matches.delete(match)) return;
		this.queue = this.queue.filter(each => each !== match);
		if (match.room !== null) {
			this.rooms.delete(match.room);
			this.rejoin.absent.delete(match.room);
			this.left.add(match.room);
			if (match.battle.ended) this.account.send('', `/leave ${match.room}`);
			else this.quit(match.room);
		}
		if (this.starting?.match === match) {
			this.withdraw(this.starting.who);
			this.starting = null;
			this.startNext();
		}
	}

	/** Every second: what has been waited for too long. */
	watch(nowMs) {
		if (!this.isUp) return;
		const silentMs = nowMs - this.heardMs;
		if (silentMs > DEAD_MS) {
			this.account.drop('the server has been silent for too long');
			return;
		}
		if (silentMs > PING_MS) this.account.ping();
		const { mode, startDeadlineMs } = this.wish;
		const limitMs = mode === 'ladder' ? SEARCH_MS : startDeadlineMs;
		if (this.starting !== null && nowMs - this.starting.sinceMs > limitMs) {
			this.giveUpStarting(`no battle began within ${limitMs / 1000} s`);
		}
	}

	/** The connection has gone: connect again; the server then brings the account back into its battles. */
	lose(why) {
		this.events.tell({ event: 'lost', why });
		this.challengers.clear();
		if (this.starting !== null) this.queue.unshift(this.starting.match);
		this.starting = null;
		this.rejoin.lose(this.rooms.keys());
	}

	/** Returns false after the reconnect deadline, which is fatal. */
	triesAgain(error, lostForMs) {
		if (lostForMs <= this.wish.reconnectDeadlineMs) return true;
		const limitS = this.wish.reconnectDeadlineMs / 1000;
		this.events.fatal(new HostError('configuration', `${error.message}; given up after ${limitS} s`));
		return false;
	}

	comeBack(lostForMs) {
		this.events.tell({ event: 'back', afterS: Math.round(lostForMs / 100) / 10 });
		this.heardMs = Date.now();
		for (const room of this.rejoin.absent) this.account.send('', `/join ${room}`);
		this.startNext();
	}

	/** The account did not come back into a battle. */
	giveUp(room) {
		const match = this.rooms.get(room);
		if (match !== undefined) this.events.fail(match, new HostError('match', LOST));
	}

	/** Begin no more battles; those that run go on. */
	drain() {
		this.isDraining = true;
		if (this.starting !== null) {
			this.withdraw(this.starting.who);
			this.queue.unshift(this.starting.match);
			this.starting = null;
		}
		for (const id of this.challengers.keys()) this.account.send('', `/reject ${id}`);
		this.challengers.clear();
	}

	/** Give up what still runs, so that nobody waits for the agent. */
	forfeit() {
		this.drain();
		for (const [room, match] of this.rooms) if (!match.battle.ended) this.quit(room);
	}

	close() {
		this.isDraining = true;
		this.rejoin.close();
		this.account.close();
	}
}

module.exports = { Guest };
