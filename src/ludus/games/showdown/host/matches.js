'use strict';
// One battle between two seats on the simulator in this process: seeds, asking and choosing, refused choices.

const { ENCODE, SIMULATE } = require('../../../sdk/javascript/clock.js');
const { HostError, ProtocolError } = require('../../../sdk/javascript/frames.js');
const { SplitMix } = require('../../../sdk/javascript/seeds.js');
const { tellParts } = require('./engine/logs.js');
const { SEATS, Seated } = require('./seated.js');

const NONE = -1;

/**
 * The same seed and actions give the same match, whatever order the seats answer in: seat 0's choice always reaches the
 * simulator first. `open` and `collect` stage the rows that must choose and leave `ending` set when the match is over.
 * They and `take` throw when the battle fails; nothing is staged then, and `owed` says whether a seat was asked and has
 * not answered.
 */
class Match extends Seated {
	/** `setup` has besides {Battle, View}. */
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

	standingOf(seat) {
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
		this.view = new View(observer, battle, SEATS);
		this.setup.clock.lap(SIMULATE);
		this.collect(arrivals);
	}

	/** Take a choice, and stage what it leads to. */
	act(seat, action, arrivals) {
		if (this.take(seat, action, arrivals)) this.collect(arrivals);
	}

	/**
	 * Take a choice; true when the simulator had all it waited for and has run: `collect` is due. A seat whose choice
	 * was refused is asked again at once.
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

	/** False when the simulator refused for a reason the request could not show, and has corrected the request. */
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

	/** The simulator has run as far as it can: ask who must choose, or end. */
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

	/** Lines that nobody will read again die young, which is what the garbage collector is good at. */
	forgetLog() {
		const { battle } = this;
		battle.log.length = 0;
		battle.sentLogPos = 0;
		battle.lastMoveLine = -1; // what the simulator would add to a line of an earlier stop, no player was told
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
