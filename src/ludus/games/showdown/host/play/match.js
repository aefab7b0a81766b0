'use strict';
// One battle against somebody outside: the agent sits in seat 0 of its match, whichever player the server makes it.

const { HostError } = require('../../../../sdk/javascript/frames.js');
const { SplitMix } = require('../../../../sdk/javascript/seeds.js');
const { LATE, ServedBattle } = require('../server/battle.js');
const { userId } = require('../server/connection.js');
const { NONE, ServedMatch } = require('../server/served.js');
const { TALK, kindOf } = require('./messages.js');

const OWN = 0;
const OTHER = 1;
const RATING_S = 3; // servers tell a rated battle's new ratings after its end
const INVALID = '|error|[Invalid choice]';
const SHEETS = '|uhtml|otsrequest|<'; // whether to show each other's teams; some opponents wait for an answer

/** `hear` and `act` stage the row when it must choose and set `ending` or `fault`. The clock is the caller's. */
class GuestMatch extends ServedMatch {
	constructor(setup, slot, number, seed, nowMs) {
		super(setup, slot, number, seed, nowMs);
		const random = new SplitMix(seed);
		random.nextBattleSeed(); // as the other hosts draw
		random.nextBattleSeed();
		this.team = setup.teams ? setup.teams[random.nextBelow(setup.teams.length)] : 'null';
		this.id = ''; // of the agent
		this.players = [null, null]; // {name, rating} of p1 and p2
		this.invalid = 0;
		this.answers = []; // to the message at hand
		this.rating = null; // after the battle, where it was rated
		this.isRated = false;
		this.isTimed = false;
	}

	/** As the agent sees it. */
	get battle() {
		return this.battles[OWN];
	}

	/** The shaping potential is always 0: nobody learns from these battles. */
	potentialOf() {
		return 0;
	}

	/** The other player's name, '' before it is known. */
	get opponent() {
		const other = this.players.find(player => player !== null && userId(player.name) !== this.id);
		return other ? other.name : '';
	}

	join(room, id, nowMs) {
		this.room = room;
		this.id = id;
		this.sinceMs = nowMs;
		this.battles[OWN] = new ServedBattle(this.setup);
	}

	/** The server has not listened to the last choice: say it again. Null when there is none. */
	repeated() {
		return this.chosen[OWN] === NONE || this.owed || this.battle.ended ? null : this.battle.command(this.chosen[OWN]);
	}

	/** A message of the battle's room; returns what is to be answered at once. What it leads to is staged. */
	hear(lines, arrivals, nowMs) {
		if (this.fault || this.ending) return [];
		try {
			const refusals = this.battle.refusals;
			this.answers = [];
			const told = this.#sift(lines);
			if (told.length > 0) this.sinceMs = nowMs;
			this.battle.take(told);
			if (this.battle.refusals > refusals) {
				this.refused++;
				this.chosen[OWN] = NONE;
			}
			this.advance(arrivals);
			return this.battle.ended ? [] : this.answers;
		} catch (error) {
			this.fault = error;
			return [];
		}
	}

	/** The lines that the battle is made of; what else matters in the others is noted. */
	#sift(lines) {
		return lines.filter(line => {
			if (line.startsWith(INVALID)) {
				if (!LATE.test(line)) this.#refuse();
				return false;
			}
			if (!line.startsWith('|') || line.startsWith('||')) return false; // talk, too
			const kind = kindOf(line);
			if (line.startsWith(SHEETS)) this.answers.push('/rejectopenteamsheets'); // it could not read the other's
			if (kind === 'deinit' || kind === 'expire') this.#close();
			if (kind === 'player') this.#meet(line);
			else if (kind === 'rated') this.isRated = true;
			else if (kind === 'raw') this.#readRating(line);
			return !TALK.has(kind) || kind === 'error';
		});
	}

	/** The server does not take a choice that its request allows: let it choose, and count it. */
	#refuse() {
		if (this.battle.request === null || this.chosen[OWN] === NONE) return;
		this.invalid++;
		this.chosen[OWN] = NONE;
		this.answers.push(`/choose default|${this.battle.request.rqid}`);
	}

	#close() {
		if (!this.battle.ended) throw new HostError('match', 'the server closed the battle before it was over');
	}

	#meet(line) {
		const [, , seat, name, , rating] = line.split('|');
		if (name && (seat === 'p1' || seat === 'p2')) {
			this.players[Number(seat[1]) - 1] = { name, rating: Number(rating) || null };
		}
	}

	#readRating(line) {
		const found = /^\|raw\|(.*)'s rating: .*<strong>(\d{1,9})<\/strong>/.exec(line);
		if (found && userId(found[1]) === this.id) this.rating = Number(found[2]);
	}

	/** Ask for a choice, or end, once everything before it has been told. */
	advance(arrivals) {
		const { battle } = this;
		if (this.owed) return;
		if (battle.ended) {
			if (!this.met[OWN]) throw new HostError('match', 'it was over before anybody could choose');
			if (!this.isRated || this.rating !== null) this.finish();
		} else if (battle.isAsked) {
			this.accept();
			if (battle.request.wait) {
				battle.look();
			} else {
				this.ask(OWN, arrivals);
				battle.look();
			}
		}
	}

	finish() {
		this.accept();
		const { winner } = this.battle;
		this.end(winner === '' ? NONE : userId(winner) === this.id ? OWN : OTHER, false);
	}

	/** Why the other side has been silent for too long, or null. Called every second, so it ends rated battles, too. */
	overdue(nowMs, { start_deadline_s: start, silence_deadline_s: silence }) {
		if (this.room === null || this.owed || this.fault || this.ending) return null;
		const waitedS = (nowMs - this.sinceMs) / 1000;
		if (this.battle.ended) {
			if (waitedS > RATING_S && this.met[OWN]) this.finish();
			return null;
		}
		if (!this.met[OWN]) return waitedS > start ? new HostError('match', `no battle began within ${start} s`) : null;
		return waitedS > silence ? new HostError('match', `nothing happened for ${silence} s`) : null;
	}

	/** The other side has been waited for long enough to ask for the server's clock. */
	isIdle(nowMs, afterS) {
		if (this.isTimed || this.owed || !this.met[OWN] || this.fault || this.ending || this.battle.ended) return false;
		return nowMs - this.sinceMs > afterS * 1000;
	}

	facts() {
		const facts = { ...super.facts(), invalid: this.invalid };
		if (this.rating !== null) facts.rating = this.rating;
		return facts;
	}
}

module.exports = { GuestMatch };
