'use strict';
// The base class of matches, wherever the battle is played: rows, rewards, counts and the ending of both seats.

const { ENCODE, MASK } = require('../../../sdk/javascript/clock.js');
const { HostError } = require('../../../sdk/javascript/frames.js');

const SEATS = 2;

/**
 * Subclasses add `requestOf(seat)`, `encode(seat, request, out, offset)` (as in View), `potentialOf(seat)` (the shaping
 * potential), `turn` and `record()` (the battle's log).
 */
class Seated {
	/** `setup`: {format, actionSet, observer, teams, options, keepLog, clock}, shared by all matches of a host. */
	constructor(setup, slot, number, seed) {
		this.setup = setup;
		this.slot = slot;
		this.number = number;
		this.seed = seed;
		this.ending = null;
		this.finalObs = null;
		this.fault = null; // the error that voids the match; reported once no seat owes an action
		this.asked = [false, false]; // the row was sent and no action has come back
		this.met = [false, false]; // the seat was asked before in this match
		this.potential = [0, 0];
		this.decisions = [0, 0];
		this.moves = [0, 0];
		this.switches = [0, 0];
		this.refused = 0;
	}

	get owed() {
		return this.asked[0] || this.asked[1];
	}

	/** Stage the row of a seat that must choose. Throws HostError if its request allows no action. */
	ask(seat, arrivals) {
		const { actionSet, clock } = this.setup;
		const request = this.requestOf(seat);
		const alive = this.encode(seat, request, arrivals.obs, arrivals.nextObsOffset());
		clock.lap(ENCODE);
		if (actionSet.mask(request, arrivals.nextMask(), alive) === 0) {
			throw new HostError('match', 'a request allows no action', JSON.stringify(request));
		}
		clock.lap(MASK);
		const opens = !this.met[seat];
		const earned = this.earned(seat);
		arrivals.add(this.slot * SEATS + seat, this.number, opens ? 0 : earned, opens);
		this.met[seat] = true;
		this.asked[seat] = true;
	}

	/** Return the shaping reward since this seat's previous decision. */
	earned(seat) {
		const potential = this.potentialOf(seat);
		if (!Number.isFinite(potential)) throw new HostError('match', 'the state of the battle makes no sense');
		const change = potential - this.potential[seat];
		this.potential[seat] = potential;
		return this.setup.options.reward_shaping * change;
	}

	/** Count an accepted choice for the report: decisions, moves and voluntary switches. */
	count(seat, action, isMove) {
		this.decisions[seat]++;
		if (!isMove) return;
		const { slots, slotActions, moveActions, pass } = this.setup.actionSet;
		const parts = slots === 1 ? [action] : [(action / slotActions) | 0, action % slotActions];
		for (const part of parts) {
			if (part < moveActions) this.moves[seat]++;
			else if (part < pass) this.switches[seat]++;
		}
	}

	/** Set `ending`. `winner` is a seat, or -1 for a tie. */
	end(winner, truncated) {
		const { observer, options, keepLog } = this.setup;
		const score = [0.5, 0.5];
		if (winner >= 0) {
			score[winner] = 1;
			score[1 - winner] = 0;
		}
		const reward = score.map((points, seat) => options.reward_win * (2 * points - 1) + this.earned(seat));
		if (truncated) {
			this.finalObs = new Uint8Array(SEATS * observer.nbytes);
			for (let seat = 0; seat < SEATS; seat++) {
				this.encode(seat, this.requestOf(seat), this.finalObs, seat * observer.nbytes);
			}
		}
		const { slot, number, seed } = this;
		this.ending = { slot, number, score, reward, truncated, seed, facts: this.facts() };
		if (keepLog) this.ending.log = this.record().filter(line => !line.startsWith('|t:|')).join('\n'); // |t:| is the clock
	}

	facts() {
		const facts = { turns: this.turn, refused: this.refused };
		for (const name of ['decisions', 'moves', 'switches']) {
			facts[name] = this[name][0] + this[name][1];
			for (let seat = 0; seat < SEATS; seat++) facts[`${name}_${seat}`] = this[name][seat];
		}
		return facts;
	}
}

module.exports = { SEATS, Seated };
