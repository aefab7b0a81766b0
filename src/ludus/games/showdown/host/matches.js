'use strict';
// A match between two seats, played on the simulator in this process.

const { ENCODE, SIMULATE } = require('../../../sdk/javascript/clock.js');
const { HostError, ProtocolError } = require('../../../sdk/javascript/frames.js');
const { SplitMix } = require('../../../sdk/javascript/seeds.js');
const { tellParts } = require('./engine/logs.js');
const { SEATS, Seated } = require('./seated.js');

const NONE = -1;

/**
 * The same seed and actions give the same match, whichever seat answers first: seat 0's choice always reaches the
 * simulator first. `open` and `collect` stage the rows that must choose, and set `ending` when the match is over. They
 * and `take` throw if the battle fails; then nothing is staged, and `owed` is true if a seat still has to answer.
 */
class Match extends Seated {
	/** `setup` is that of Seated, with Battle and View in addition. */
	constructor(setup, slot, number, seed) {
		super(setup, slot, number, seed);
		this.battle = null;
		this.view = null;
		this.choosing = [false, false]; // the simulator waits for this seat
		this.pending = [NONE, NONE];
	}

	get turn() {
		return this.battle.turn;
	}

	requestOf(seat) {
		return this.battle.sides[seat].activeRequest;
	}

	encode(seat, request, out, offset) {
		return this.view.encode(seat, request, out, offset);
	}

	potentialOf(seat) {
		return this.view.potential(seat);
	}

	record() {
		return this.battle.log;
	}

	open(arrivals) {
		const { Battle, View, format, observer, teams } = this.setup;
		const random = new SplitMix(this.seed);
		const seed = random.nextBattleSeed();
		const battle = new Battle({ format, formatid: format.id, seed, send: ignore, strictChoices: false });
		this.battle = battle;
		if (!this.setup.keepLog) tellParts(battle);
		for (const [seat, id] of ['p1', 'p2'].entries()) {
			const teamSeed = random.nextBattleSeed();
			const team = teams ? teams[random.nextBelow(teams.length)] : undefined;
			battle.setPlayer(id, { name: `Player ${seat + 1}`, seed: teamSeed, team });
		}
		if (!this.setup.keepLog) for (const side of battle.sides) side.getChoice = silent; // it feeds the input log only
		this.view = new View(observer, battle);
		this.setup.clock.lap(SIMULATE);
		this.collect(arrivals);
	}

	/** Take a seat's choice, and stage the rows that must choose because of it. */
	act(seat, action, arrivals) {
		if (this.take(seat, action, arrivals)) this.collect(arrivals);
	}

	/**
	 * Take a seat's choice. Returns true if the simulator now had all choices and has run: then call `collect`. A seat
	 * whose choice was refused is asked again at once.
	 */
	take(seat, action, arrivals) {
		if (!this.asked[seat]) {
			throw new ProtocolError(`seat ${seat} of match ${this.number} was not asked, it chose ${action}`);
		}
		this.asked[seat] = false;
		this.pending[seat] = action;
		for (let i = 0; i < SEATS; i++) {
			if (!this.choosing[i]) continue;
			if (this.pending[i] === NONE) return false;
			const chosen = this.pending[i];
			this.pending[i] = NONE;
			if (!this.choose(i, chosen)) {
				this.refused++;
				this.setup.clock.lap(SIMULATE);
				this.ask(i, arrivals);
				return false;
			}
			this.choosing[i] = false;
		}
		this.setup.clock.lap(SIMULATE);
		return true;
	}

	/**
	 * Give a choice to the simulator. Returns false if it refused for a reason that the request did not show (such as a
	 * trapping ability); it has then corrected the request.
	 */
	choose(seat, action) {
		const { actionSet } = this.setup;
		const side = this.battle.sides[seat];
		const request = side.activeRequest;
		const choice = actionSet.choice(request, action);
		request.update = false;
		const isMove = !!request.active;
		if (!this.battle.choose(side.id, choice)) {
			if (request.update) return false;
			const detail = `"${choice}" for ${JSON.stringify(request)}`;
			throw new HostError('match', `the simulator refused a legal choice: ${side.choice.error}`, detail);
		}
		this.count(seat, action, isMove);
		return true;
	}

	/** Call when the simulator has run as far as it can: asks the seats that must choose, or ends the match. */
	collect(arrivals) {
		const { battle } = this;
		battle.sentLogPos = battle.log.length; // nobody reads updates; the simulator's endless-loop guard counts from here
		this.view.read();
		if (!this.setup.keepLog) this.forgetLog();
		this.setup.clock.lap(ENCODE);
		if (battle.ended || battle.turn > this.setup.options.max_turns) {
			this.end(this.winner(), !battle.ended);
			return;
		}
		const before = arrivals.count;
		try {
			for (let seat = 0; seat < SEATS; seat++) {
				const request = battle.sides[seat].activeRequest;
				if (!request || request.wait) continue;
				this.choosing[seat] = true;
				this.ask(seat, arrivals);
			}
		} catch (error) {
			arrivals.count = before;
			this.asked.fill(false);
			throw error;
		}
		if (arrivals.count === before) throw new HostError('match', 'the battle goes on and nobody has to choose');
	}

	/** Drop the log lines that were read. Short-lived objects are cheap for the garbage collector. */
	forgetLog() {
		const { battle } = this;
		battle.log.length = 0;
		battle.sentLogPos = 0;
		battle.lastMoveLine = -1; // the simulator must not append to a line that is gone; players were never shown that
		this.view.cursor = 0;
	}

	winner() {
		const { ended, winner, sides } = this.battle;
		if (!ended || !winner) return NONE;
		return sides[0].name === winner ? 0 : 1;
	}
}

function ignore() {}

function silent() {
	return '';
}

module.exports = { Match };
