'use strict';
// What matches on servers have in common: battles as their players see them, and choices that a server has or has not.

const { ProtocolError } = require('../../../../sdk/javascript/frames.js');
const { SEATS, Seated } = require('../seated.js');
const { ServedBattle } = require('./battle.js');

const NONE = -1;

/** Whoever extends it has `advance(arrivals)`, which stages the rows that must choose and sets `ending`. */
class ServedMatch extends Seated {
	constructor(setup, slot, number, seed, nowMs) {
		super(setup, slot, number, seed);
		this.pair = null; // the accounts that play it
		this.room = null;
		this.battles = Array(SEATS).fill(null); // as the seats of this host see it
		this.chosen = Array(SEATS).fill(NONE); // sent, and not known to be accepted
		this.sentRequests = Array(SEATS).fill(null);
		this.sinceMs = nowMs; // nothing of the battle has come since
	}

	get turn() {
		return this.battles[0].turn;
	}

	requestOf(seat) {
		return this.battles[seat].request;
	}

	encode(seat, request, out, offset) {
		return this.battles[seat].encode(out, offset);
	}

	/** As the first player was told it. */
	record() {
		return this.battles[0].log;
	}

	/** The player is back in the room, and is told everything from the beginning. */
	rejoin(seat) {
		this.battles[seat] = new ServedBattle(this.setup, this.battles[seat]);
	}

	/** What a player who is back must say again because the server never heard it, or null. */
	unheard(seat) {
		const battle = this.battles[seat];
		if (battle.isSent || battle.ended || this.chosen[seat] === NONE) return null;
		battle.isSent = true;
		return battle.command(this.chosen[seat]);
	}

	/** What to say in the room for this seat's action; null when nothing is to be said any more. */
	act(seat, action, arrivals, nowMs) {
		if (!this.asked[seat]) throw new ProtocolError(`seat ${seat} of match ${this.number} was not asked`);
		this.asked[seat] = false;
		this.sinceMs = nowMs;
		if (this.fault) return null;
		const battle = this.battles[seat];
		if (!battle.ended && !battle.isAsked) {
			this.chosen[seat] = action;
			this.sentRequests[seat] = battle.request;
			battle.isSent = true;
			return battle.command(action);
		}
		try {
			this.advance(arrivals); // the battle has gone on meanwhile
		} catch (error) {
			this.fault = error;
		}
		return null;
	}

	/** The battle has gone on, so what was chosen has been taken. */
	accept() {
		for (let seat = 0; seat < SEATS; seat++) {
			if (this.chosen[seat] !== NONE) this.count(seat, this.chosen[seat], !!this.sentRequests[seat].active);
			this.chosen[seat] = NONE;
		}
	}
}

module.exports = { NONE, ServedMatch };
