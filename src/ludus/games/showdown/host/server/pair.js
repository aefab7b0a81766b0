'use strict';
// Two accounts on one server that play each other, many battles at once; one challenge at a time, as servers allow.

const { setTimeout: sleep } = require('node:timers/promises');
const { HostError } = require('../../../../sdk/javascript/frames.js');
const { indented } = require('../../../../sdk/javascript/words.js');
const { PairedAccount } = require('./account.js');
const { passing } = require('./connection.js');
const { BackOff, LOGIN_DEADLINE_MS, LeftRooms, Rejoin } = require('./rejoining.js');

const AGAIN_MS = 500; // before a server that is not there is asked again, while a host starts
const LOST = 'the connection to the server was lost';
// Refusals that pass: throttled, or a challenge or its answer is still on its way.
const PASSING = new RegExp([
	'less than 10 seconds', 'too quickly', 'already challenging', 'already a challenge', 'pending challenges',
	'was not found', 'Maybe they accepted',
].join('|'));
const RESTARTING = /server is restarting/i;
// What was said in a room that is gone, not the challenge.
const GONE = /room\b.* does not exist|must be used in a chat room/i;
const UNPLAYABLE = /selected format is invalid/i;

class Pair {
	/**
	 * `events`: `hear(match, seat, lines)` for the lines of a battle, `fail(match, error)` for a match that is lost,
	 * `delay(match)` for one that cannot begin before the server has restarted, `refuse(error)` when no match ever will,
	 * `log(text)` for people. `format`: as the simulator has it.
	 */
	constructor(url, wish, format, events, Account = PairedAccount) {
		this.url = url;
		this.Account = Account;
		this.wish = wish;
		this.format = format;
		this.events = events;
		this.accounts = [];
		this.matches = new Set(); // queued or under way
		this.queue = [];
		this.starting = null; // the match whose challenge is out
		this.rooms = new Map();
		this.rejoins = []; // one per account
		this.isRestarting = false; // the server begins no battle until it has been started again
		this.left = new LeftRooms(); // nobody comes back to these
		this.backOff = new BackOff(); // before a challenge is made again, or a lost connection
	}

	get isUp() {
		return this.accounts.length > 0 && this.accounts.every(account => account.isOpen);
	}

	/** Throws HostError of kind configuration; before that a server that is not there is asked again for some time. */
	async connect(patienceMs = 0) {
		const untilMs = Date.now() + patienceMs;
		this.accounts = [0, 1].map(seat => new this.Account(this.url, {
			hear: message => this.hear(seat, message),
			lost: why => this.lose(seat, why),
		}, this.format));
		this.rejoins = this.accounts.map(account => new Rejoin(account, this.wish, this.backOff, {
			failed: error => this.logFailure(error),
			back: () => this.startNext(),
			missing: room => this.giveUp(room),
		}));
		for (let error = await this.#logIn(); error !== null; error = await this.#logIn()) {
			if (!error.isPassing || Date.now() >= untilMs) throw error;
			await sleep(AGAIN_MS);
		}
		this.startNext();
	}

	/** Why not both accounts are logged in, or null; then neither is. */
	async #logIn() {
		const outcomes = await Promise.allSettled(this.accounts.map(account => account.open(this.wish, LOGIN_DEADLINE_MS)));
		const failed = outcomes.find(outcome => outcome.status === 'rejected');
		if (failed === undefined) return null;
		this.close();
		return failed.reason;
	}

	/** Both accounts go on trying to connect. */
	comeBack() {
		for (const rejoin of this.rejoins) rejoin.connect();
	}

	start(match) {
		this.matches.add(match);
		this.queue.push(match);
		this.startNext();
	}

	startNext() {
		if (!this.isUp || this.starting !== null || this.queue.length === 0) return;
		this.starting = this.queue.shift();
		this.challenge();
	}

	challenge() {
		const [challenger, challenged] = this.accounts;
		challenger.send('', `/utm ${this.starting.teams[0]}`);
		challenger.send('', `/challenge ${challenged.id}, ${this.format.id}`);
	}

	hear(seat, { room, lines }) {
		if (room === '') {
			for (const line of lines) this.note(seat, line);
			return;
		}
		if (!room.startsWith('battle-')) return;
		if (lines[0] === '|init|battle') this.enter(seat, room);
		const match = this.rooms.get(room);
		if (match === undefined || match.battles[seat] === null) return;
		this.events.hear(match, seat, lines);
		if (!this.matches.has(match) || match.battles[seat].isSent) return;
		if (!lines.some(line => line.startsWith('|request|'))) return;
		const text = match.unheard(seat);
		if (text !== null) this.say(match, seat, text);
	}

	/** What a server says outside of rooms. */
	note(seat, line) {
		if (this.starting === null) return;
		if (line.startsWith('|popup|')) {
			this.refuse(line.slice('|popup|'.length).replaceAll('||', ' ').trim());
			return;
		}
		if (!line.startsWith('|pm|')) return;
		const [, , from = '', , said = ''] = line.split('|');
		const isOwn = from.slice(1) === this.accounts[seat].name; // servers answer in one's own name
		if (isOwn && said.startsWith('/error ')) this.refuse(said.slice('/error '.length));
		const isChallenge = seat === 1 && said.startsWith('/challenge ') && from.slice(1) === this.accounts[0].name;
		if (!isChallenge) return;
		this.accounts[1].send('', `/utm ${this.starting.teams[1]}`);
		this.accounts[1].send('', `/accept ${this.accounts[0].id}`);
	}

	/** The challenge that is out was refused: make it again later, or give the match up. */
	refuse(why) {
		if (GONE.test(why)) return;
		const match = this.starting;
		this.isRestarting = RESTARTING.test(why);
		if (this.isRestarting) for (const waiting of [...this.queue, match]) this.events.delay(waiting);
		if (this.isRestarting || PASSING.test(why)) {
			this.backOff.later(() => {
				if (this.starting === match && this.isUp && match.room === null) this.challenge();
			});
			return;
		}
		if (UNPLAYABLE.test(why)) {
			this.events.refuse(new HostError('configuration', `${this.url}: format ${this.format.id}: ${why}`));
			return;
		}
		this.accounts[0].send('', `/cancelchallenge ${this.accounts[1].id}`);
		this.fail(match, new HostError('match', `the server refused the challenge: ${why}`));
	}

	enter(seat, room) {
		const match = this.rooms.get(room) ?? this.starting;
		if (this.rejoins[seat].absent.delete(room) && this.rooms.get(room)?.battles[seat]) {
			match.rejoin(seat);
			return;
		}
		if (match === null || match.battles[seat] !== null || this.left.has(room)) {
			this.quit(seat, room); // of a match that was given up
			return;
		}
		try {
			match.join(seat, room, this.accounts[seat].name);
		} catch (error) {
			this.fail(match, error);
			return;
		}
		this.rooms.set(room, match);
		if (match.began && this.starting === match) {
			this.starting = null;
			this.isRestarting = false;
			this.backOff.reset();
			this.startNext();
		}
	}

	quit(seat, room) {
		this.accounts[seat].send(room, '/forfeit');
		this.accounts[seat].send('', `/leave ${room}`);
	}

	/** An account that is not back in the room says it when it is: `unheard`. */
	say(match, seat, text) {
		if (!this.rejoins[seat].absent.has(match.room)) this.accounts[seat].send(match.room, text);
	}

	/** The match is over for this host, its battle perhaps not yet. */
	leave(match) {
		if (!this.matches.delete(match)) return;
		const queued = this.queue.indexOf(match);
		if (queued >= 0) this.queue.splice(queued, 1);
		if (match.room !== null) {
			this.rooms.delete(match.room);
			this.left.add(match.room);
			for (const [seat, battle] of match.battles.entries()) {
				if (battle === null || this.rejoins[seat].absent.has(match.room)) continue;
				if (battle.ended) this.accounts[seat].send('', `/leave ${match.room}`);
				else this.quit(seat, match.room);
			}
		}
		if (this.starting === match) {
			if (match.room === null) this.accounts[0].send('', `/cancelchallenge ${this.accounts[1].id}`);
			this.starting = null;
			this.startNext();
		}
	}

	fail(match, error) {
		this.leave(match);
		this.events.fail(match, error);
	}

	/** A connection has gone: connect again; the server then brings the account back into its battles. */
	lose(seat, why) {
		this.events.log(`${indented(why)}; connecting again\n`);
		this.isRestarting = false;
		if (this.starting !== null && this.starting.room === null) { // else its battle has begun: both come to it
			this.queue.unshift(this.starting);
			this.starting = null;
		}
		this.rejoins[seat].lose(this.rooms.keys());
	}

	/** Returns true: a pair tries for as long as its host runs. */
	logFailure(error) {
		this.events.log(`${indented(error.message)}; trying again in ${this.backOff.pauseMs / 1000} s\n`);
		return true;
	}

	/** An account did not come back into a battle. */
	giveUp(room) {
		const match = this.rooms.get(room);
		if (match !== undefined) this.fail(match, passing('match', LOST));
	}

	close() {
		for (const account of this.accounts) account.close();
	}
}

module.exports = { Pair };
