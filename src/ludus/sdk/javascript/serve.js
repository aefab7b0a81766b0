'use strict';
// Make a host of a game written in JavaScript: matches in, frames out. docs/hosts.md shows how.

const { ENCODE, SIMULATE, WAIT } = require('./clock.js');
const { HostError, ProtocolError, VERSION, decodeConfigure } = require('./frames.js');
const { Layout, packTable } = require('./layout.js');
const { checkedOptions } = require('./options.js');
const { leave, takeStdout, writeAll } = require('./process.js');
const { WaitingHost, answerEvents } = require('./waiting.js');

const DEADLINE_S = 20; // for one turn of a match that waits; less than fleet.reply_deadline_s

/**
 * Run the game until the fleet says stop. `options`: {name: {fallback, valid(value), expected}}. `setUp(options)` gives
 * {name, seats, actions, schema, obs: [[leaf, dtype, shape], ...], newMatch()}, and may give {layout, tables, facts,
 * deadlineS}; throw `refuse(words)` for options that do not fit each other. Its second argument, `sendEvent(object)`,
 * sends a JSON object to whoever started the fleet once HELLO is sent; it does nothing unless they asked for events.
 *
 * A match has `start(seed)` and `advance(actions)`, actions by seat; both give a turn, or a promise of one: then all
 * matches wait at the same time, and a row goes out when it is ready. It may have `close()`. A turn that goes on is
 * {seats, obs: [{leaf: values}, ...], legal: [[a boolean an action], ...], reward: [by seat]}; the last one is
 * {score, reward} and may have {facts, log}; a match cut short by a limit ends with {score, reward, truncated: true,
 * obs}, obs of all seats.
 */
function serve({ options = {}, setUp }) {
	takeStdout();
	const host = new TurnHost({ options, setUp }, writeAll, text => process.stderr.write(text));
	process.on('unhandledRejection', error => leave(host, error));
	answerEvents(host);
}

/** What `setUp` throws to refuse its options. */
function refuse(words) {
	return new HostError('configuration', words);
}

class TurnHost extends WaitingHost {
	constructor(game, send, log) {
		super(send, log);
		this.game = game;
	}

	async configure(body) {
		const message = decodeConfigure(body);
		const { matches, resume, parts, keepLog } = message;
		const send = event => this.event(event);
		const spec = this.game.setUp(checkedOptions(message.options, this.game.options), send);
		const { name, seats, actions, schema, obs, newMatch, deadlineS = DEADLINE_S } = spec;
		Object.assign(this, { seats, newMatch, deadlineS, keepLog, layout: new Layout(obs) });
		const { layout = {}, facts = {} } = spec;
		const packed = Object.entries(spec.tables ?? {}).map(([each, { shape, data }]) => [each, packTable(shape, data)]);
		const tables = Object.fromEntries(packed);
		const hello = { protocol: VERSION, name, seats, actions, schema, obs, layout, tables, facts };
		const maskBytes = Math.ceil(actions / 8);
		this.prepareSlots(message, { seats, actions, maskBytes, obsBytes: this.layout.bytes, hello });
		this.flushAfter = Math.ceil(matches / parts);
		for (let slot = 0; slot < matches; slot++) {
			this.openNext(slot, resume ? resume.open[slot] : null);
			this.flushWhenDue(slot < matches - 1);
		}
		this.settleNow();
	}

	act(body) {
		this.clock.lap(WAIT);
		const { rows, actions } = this.choices(body);
		this.owed++;
		for (let i = 0; i < rows.length; i++) {
			const slot = Math.floor(rows[i] / this.seats);
			this.choose(this.matchAt(slot, rows[i], actions[i]), rows[i] - slot * this.seats, actions[i]);
			this.flushWhenDue(i < rows.length - 1);
		}
		this.settleNow();
	}

	choose(seated, seat, action) {
		const legal = seated.asked.get(seat);
		if (!legal) throw new ProtocolError(`seat ${seat} of match ${seated.number} was not asked`);
		if (!legal[action]) throw new ProtocolError(`seat ${seat} of match ${seated.number} may not choose ${action}`);
		seated.asked.delete(seat);
		seated.chosen[seat] = action;
		if (seated.owed) return;
		const { chosen } = seated;
		seated.chosen = {};
		this.play(seated, () => seated.match.advance(chosen));
	}

	/** Put the next match into a slot, at first the one it `resumed`; leave it empty when the schedule is played. */
	openNext(slot, resumed = null) {
		const match = this.slots[slot]?.match ?? null;
		this.slots[slot] = null;
		const next = this.nextMatch(resumed);
		if (!next) return;
		const seated = new Seated(slot, next, this.seats, match);
		this.slots[slot] = seated;
		this.play(seated, () => {
			seated.match ??= this.newMatch();
			return seated.match.start(next.seed);
		});
	}

	/** Let a match go on; what it comes to is there at once, or it is waited for. */
	play(seated, act) {
		let turn;
		try {
			turn = act();
		} catch (error) {
			this.became(seated, null, error);
			return;
		}
		if (typeof turn?.then !== 'function') {
			this.became(seated, turn);
			return;
		}
		const late = () => {
			const { match } = seated;
			seated.match = null; // it may still be at work, so the next one gets another
			match?.close?.();
			this.came(seated, null, new HostError('match', `the match gave no turn within ${this.deadlineS} s`));
		};
		seated.deadline = setTimeout(late, 1000 * this.deadlineS);
		turn.then(given => this.came(seated, given), error => this.came(seated, null, error));
	}

	/** A match that was waited for. One that was given up meanwhile does not count any more. */
	came(seated, turn, fault) {
		if (this.slots[seated.slot] !== seated || seated.deadline === null) return;
		clearTimeout(seated.deadline);
		seated.deadline = null;
		this.guard(() => this.became(seated, turn, fault));
		this.settleSoon();
	}

	became(seated, turn, fault = null) {
		this.clock.lap(SIMULATE);
		try {
			if (fault !== null) throw fault;
			seated.take(turn, this);
		} catch (error) {
			seated.fault = error instanceof Error ? error : new Error(String(error));
		}
		this.clock.lap(ENCODE);
		if (!seated.fault && !seated.ending) {
			this.advanced++;
			return;
		}
		if (seated.fault) this.reportFault(seated.slot, seated);
		else this.reportEnding(seated);
		this.openNext(seated.slot);
	}

	/** Let the other side work while this one goes on with the rest of a batch. */
	flushWhenDue(more) {
		if (!more || this.advanced < this.flushAfter || this.stage.count === 0) return;
		this.stage.flush(this.writer, false);
		this.flushWriter();
	}

	settleNow() {
		if (this.isWorking) this.settleSoon();
		else this.settle();
	}

	stop() {
		for (const seated of this.slots ?? []) seated?.match?.close?.();
	}
}

/** A match in its slot: who was asked, what the seats have chosen and earned. */
class Seated {
	constructor(slot, { number, seed }, seats, match) {
		Object.assign(this, { slot, number, seed, match });
		this.asked = new Map(); // seat -> the mask it was sent
		this.chosen = {};
		this.earned = Array(seats).fill(0);
		this.met = Array(seats).fill(false);
		this.ending = this.finalObs = this.fault = this.deadline = null;
	}

	get owed() {
		return this.asked.size > 0;
	}

	/** Stage the rows of a turn, or set `ending`. Nothing is staged of a turn that cannot be: it throws. */
	take(turn, host) {
		const expect = (ok, words) => {
			if (!ok) throw new HostError('match', words);
		};
		const { seats } = host;
		const isList = (values, length) => values?.length === length && Array.from(values).every(Number.isFinite);
		expect(isList(turn?.reward, seats), `a turn's reward is ${turn?.reward}, expected ${seats} numbers`);
		for (let seat = 0; seat < seats; seat++) this.earned[seat] += turn.reward[seat];
		if (turn.score) {
			this.end(turn, host, expect, isList);
			return;
		}
		expect(turn.seats?.length > 0, 'nobody must choose and there is no score');
		const { length } = turn.seats;
		expect(turn.obs?.length === length, `${length} seats must choose, and ${turn.obs?.length} of them are shown`);
		expect(turn.legal?.length === length, `${length} seats must choose, and there are ${turn.legal?.length} masks`);
		const before = host.stage.count;
		try {
			turn.seats.forEach((seat, i) => this.ask(seat, turn.obs[i], turn.legal[i], host, expect));
		} catch (error) {
			host.stage.count = before;
			this.asked.clear();
			throw error;
		}
	}

	ask(seat, obs, legal, { stage, seats, actions, layout }, expect) {
		expect(Number.isInteger(seat) && seat >= 0 && seat < seats, `seat ${seat} must choose, there are ${seats}`);
		expect(!this.asked.has(seat), `seat ${seat} is asked twice in one turn`);
		expect(legal?.length === actions, `a mask has ${legal?.length} entries, expected ${actions}`);
		const mask = stage.nextMask().fill(0);
		for (let action = 0; action < actions; action++) if (legal[action]) mask[action >> 3] |= 1 << (action & 7);
		expect(mask.some(byte => byte > 0), `seat ${seat} must choose and no action is legal`);
		layout.pack(obs, stage.obs, stage.nextObsOffset());
		stage.add(this.slot * seats + seat, this.number, this.earned[seat], !this.met[seat]);
		this.asked.set(seat, legal);
		this.met[seat] = true;
		this.earned[seat] = 0;
	}

	end({ score, truncated = false, obs, facts = {}, log = '' }, { seats, layout, keepLog }, expect, isList) {
		expect(this.met.includes(true), 'it was over before anybody could choose');
		const fits = isList(score, seats) && score.every(each => each >= 0 && each <= 1);
		expect(fits, `score is ${score}, expected ${seats} numbers from 0 (lost) to 1 (won)`);
		expect(Object.values(facts).every(Number.isFinite), `facts are ${JSON.stringify(facts)}, expected finite numbers`);
		if (truncated) {
			expect(obs?.length === seats, `a truncated match shows ${obs?.length} seats, expected all ${seats}`);
			this.finalObs = new Uint8Array(seats * layout.bytes);
			obs.forEach((each, seat) => layout.pack(each, this.finalObs, seat * layout.bytes));
		}
		const { slot, number, seed, earned: reward } = this;
		this.ending = { slot, number, score, reward, truncated, seed, facts, log: keepLog ? log : '' };
	}
}

module.exports = { TurnHost, refuse, serve };
