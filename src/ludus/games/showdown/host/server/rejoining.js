'use strict';
// How an account on a server comes back after it lost its connection, and how long it waits between attempts.

const LOGIN_DEADLINE_MS = 15_000;
const REJOIN_MS = 5_000; // a server must bring an account that is back into its battles within this time
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
const ROOMS_REMEMBERED = 1000;

/** Delays that double with every attempt, until `reset`. */
class BackOff {
	constructor() {
		this.reset();
	}

	/** Call after a success. */
	reset() {
		this.pauseMs = FIRST_PAUSE_MS;
	}

	/** Run `act` after the current pause, and double the pause. */
	later(act) {
		setTimeout(act, this.pauseMs);
		this.pauseMs = Math.min(2 * this.pauseMs, LONGEST_PAUSE_MS);
	}
}

/** Rooms that an account has left for good; only the latest are remembered. */
class LeftRooms {
	#rooms = new Set();

	add(room) {
		this.#rooms.add(room);
		if (this.#rooms.size > ROOMS_REMEMBERED) this.#rooms.delete(this.#rooms.values().next().value);
	}

	has(room) {
		return this.#rooms.has(room);
	}
}

/** Reconnects one account, and counts the battle rooms that the server has not brought it back into. */
class Rejoin {
	/**
	 * `events`: `failed(error, lostForMs)` returns whether to try again, `back(lostForMs)` is called after the login,
	 * `missing(room)` for every room that the server did not bring the account back into in time.
	 */
	constructor(account, name, backOff, events) {
		this.account = account;
		this.name = name;
		this.backOff = backOff;
		this.events = events;
		this.absent = new Set(); // rooms that the account must come back to
		this.lostMs = null;
		this.deadline = null;
		this.isClosed = false;
	}

	/** The connection is lost while the account is in `rooms`: connect again. */
	lose(rooms) {
		clearTimeout(this.deadline);
		for (const room of rooms) this.absent.add(room);
		this.connect();
	}

	/** Connect after a pause, and again until it succeeds, `events.failed` returns false, or `close`. */
	connect() {
		this.lostMs = Date.now();
		this.#tryLater();
	}

	#tryLater() {
		this.backOff.later(async () => {
			if (this.isClosed) return;
			try {
				await this.account.open(this.name, LOGIN_DEADLINE_MS);
			} catch (error) {
				if (this.events.failed(error, Date.now() - this.lostMs)) this.#tryLater();
				return;
			}
			this.backOff.reset();
			this.deadline = setTimeout(() => this.#giveUp(), REJOIN_MS);
			this.events.back(Date.now() - this.lostMs);
		});
	}

	/** The server did not bring the account back: it was restarted, or the battle is over. */
	#giveUp() {
		for (const room of [...this.absent]) this.events.missing(room); // still absent, so that nothing is said in it
		this.absent.clear();
	}

	close() {
		this.isClosed = true;
		clearTimeout(this.deadline);
	}
}

module.exports = { BackOff, LOGIN_DEADLINE_MS, LeftRooms, Rejoin };
