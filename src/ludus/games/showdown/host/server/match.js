'use strict';
// One match on a server between two accounts of this host: seat 0 is p1, seat 1 is p2, each sees its own side only.

const { ENCODE } = require('../../../../sdk/javascript/clock.js');
const { HostError } = require('../../../../sdk/javascript/frames.js');
const { SplitMix } = require('../../../../sdk/javascript/seeds.js');
const { strengthOf } = require('../observe.js');
const { SEATS } = require('../seated.js');
const { ServedBattle } = require('./battle.js');
const { passing, userId } = require('./connection.js');
const { isTalk } = require('./lines.js');
const { NONE, ServedMatch } = require('./served.js');

/** `join`, `hear` and `act` stage the rows that must choose, and set `ending` or `fault`. Callers pass the time. */
class ServerMatch extends ServedMatch {
	constructor(setup, slot, number, seed, nowMs) {
		super(setup, slot, number, seed, nowMs);
		const random = new SplitMix(seed);
		random.nextBattleSeed(); // the battle's own generator is the server's
		this.teams = Array.from({ length: SEATS }, () => {
			random.nextBattleSeed();
			return setup.teams ? setup.teams[random.nextBelow(setup.teams.length)] : 'null';
		});
		this.ids = ['', ''];
	}

	get began() {
		return this.battles[0] !== null && this.battles[1] !== null;
	}

	/** Shaping potential from public information: each side's strength as the other player sees it. */
	potentialOf(seat) {
		const lead = strengthOf(this.battles[1].view.tracker.sides[0]) - strengthOf(this.battles[0].view.tracker.sides[1]);
		return seat === 0 ? lead : 0 - lead;
	}

	join(seat, room, name) {
		if (this.room !== null && this.room !== room) {
			throw new HostError('match', `its players are in two battles, ${this.room} and ${room}`);
		}
		this.room = room;
		this.ids[seat] = userId(name);
		this.battles[seat] = new ServedBattle(this.setup);
	}

	/** Read a message of the battle's room to one of its players, and stage the rows that must choose because of it. */
	hear(seat, lines, arrivals, nowMs) {
		const told = lines.filter(line => !isTalk(line));
		if (told.length === 0 || this.fault || this.ending) return;
		this.sinceMs = nowMs;
		try {
			const battle = this.battles[seat];
			const refusals = battle.refusals;
			battle.take(told);
			this.setup.clock.lap(ENCODE);
			if (battle.refusals > refusals) {
				this.refused++;
				this.chosen[seat] = NONE;
			}
			this.advance(arrivals);
		} catch (error) {
			this.fault = error;
		}
	}

	/** Once both players have all messages of a turn: ask the seats that must choose, or end the match. */
	advance(arrivals) {
		if (!this.began) return;
		const [first, second] = this.battles;
		for (let seat = 0; seat < SEATS; seat++) {
			const battle = this.battles[seat];
			if (battle.isAsked && battle.isCorrected && !this.asked[seat]) this.put(seat, arrivals);
		}
		if (this.owed) return;
		if (first.ended && second.ended) {
			this.accept();
			if (!this.met[0] && !this.met[1]) throw new HostError('match', 'it was over before anybody could choose');
			this.end(this.winner(), false);
		} else if (first.isAsked && second.isAsked) {
			this.accept();
			this.begin(arrivals);
		}
	}

	/** Both players have a request: ask the seats that must choose, or truncate a match that is too long. */
	begin(arrivals) {
		for (let seat = 0; seat < SEATS; seat++) {
			const made = this.battles[seat].seat;
			if (made !== seat) throw new HostError('match', `seat ${seat} was made p${made + 1}`);
		}
		if (this.turn > this.setup.options.max_turns) {
			this.end(NONE, true);
			return;
		}
		const before = arrivals.count;
		try {
			for (let seat = 0; seat < SEATS; seat++) {
				if (this.requestOf(seat).wait) this.battles[seat].look();
				else this.put(seat, arrivals);
			}
		} catch (error) {
			arrivals.count = before;
			this.asked.fill(false);
			throw error;
		}
		if (arrivals.count === before) throw new HostError('match', 'the battle goes on and nobody has to choose');
	}

	put(seat, arrivals) {
		this.ask(seat, arrivals);
		this.battles[seat].look();
	}

	winner() {
		const { winner } = this.battles[0];
		return winner === '' ? NONE : this.ids.indexOf(userId(winner));
	}

	/** Return an error if the server has been silent for too long, else null. */
	overdue(nowMs, { start_deadline_s: start, silence_deadline_s: silence }) {
		if (this.owed || this.fault || this.ending) return null;
		const waitedS = (nowMs - this.sinceMs) / 1000;
		if (!this.began) return waitedS > start ? passing('match', `no battle began within ${start} s`) : null;
		return waitedS > silence ? passing('match', `the server said nothing for ${silence} s`) : null;
	}
}

module.exports = { ServerMatch };
