'use strict';
// Runs a game written in JavaScript as a host: calls its matches and speaks the host protocol (docs/hosts.md).

const { ENCODE, SIMULATE, WAIT } = require('./clock.js');
const { HostError, ProtocolError, VERSION, decodeConfigure } = require('./frames.js');
const { Layout, packTable } = require('./layout.js');
const { checkedOptions } = require('./options.js');
const { leave, takeStdout, writeAll } = require('./process.js');
const { WaitingHost, answerEvents } = require('./waiting.js');

const DEADLINE_S = 20; // limit for one turn of a match that waits; less than fleet.reply_deadline_s

/**
 * Run the game until the fleet says stop.
 *
 * `options` describes each option: {name: {fallback, valid(value), expected}}. `setUp(options, sendEvent)` returns
 * {name, seats, actions, schema, obs: [[leaf, dtype, shape], ...], newMatch()}, optionally with {layout, tables, facts,
 * deadlineS}. It may throw `refuse(words)` to refuse its options. `sendEvent(object)` sends a JSON object to whoever
 * started the fleet, once HELLO is sent; it does nothing unless they asked for events. `newMatch` is passed {keepLog}:
 * if it is false, nobody reads the `log` of a match, which then need not be made.
 *
 * A match has `start(seed)`, `advance(actions)` with actions by seat, and optionally `close()`. `start` and `advance`
 * return a turn or a promise of one. With promises, all matches wait at the same time, and a row is sent when it is
 * ready.
 *
 * A turn in which seats must choose is {seats, obs: [{leaf: values}, ...], legal: [[one boolean per action], ...],
 * reward: [by seat]}. The last turn is {score, reward}, optionally with {facts, log}. If a limit cut the match short,
 * it is {score, reward, truncated: true, obs}, with observations of all seats. Any turn may name the parts of its
 * reward, `terms: {name: [by seat]}`: their sums become facts of the match, `reward_NAME@SEAT`.
 */
function serve({ options = {}, setUp }) {
	takeStdout();
	const host = new TurnHost({ options, setUp }, writeAll, text => process.stderr.write(text));
	process.on('unhandledRejection', error => leave(host, error));
	answerEvents(host);
}

/** Return the error that `setUp` throws to refuse its options. */
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

	/** Begin the next match, or match number `resumed`, in a slot. The slot stays empty if no match is left. */
	openNext(slot, resumed = null) {
		const match = this.slots[slot]?.match ?? null;
		this.slots[slot] = null;
		const next = this.nextMatch(resumed);
		if (!next) return;
		const seated = new Seated(slot, next, this.seats, match);
		this.slots[slot] = seated;
		this.play(seated, () => {
			seated.match ??= this.newMatch({ keepLog: this.keepLog });
			return seated.match.start(next.seed);
		});
	}

	/** Call `act` to advance a match, and handle its turn now or, if it is a promise, later. */
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
			seated.match = null; // the old object may still be working, so the next match gets a new one
			match?.close?.();
			this.came(seated, null, new HostError('match', `the match returned no turn within ${this.deadlineS} s`));
		};
		seated.deadline = setTimeout(late, 1000 * this.deadlineS);
		turn.then(given => this.came(seated, given), error => this.came(seated, null, error));
	}

	/** Handle the result of a promise. Ignores a match that was given up. */
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

	/** Send a part of an answer if it is large enough, so that the fleet can work while this host continues. */
	flushWhenDue(more) {
		if (!more || this.advanced < this.flushAfter || this.arrivals.count === 0) return;
		this.arrivals.flush(this.writer, false);
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

/** A match in its slot: the seats that must choose, and their actions and rewards so far. */
class Seated {
	constructor(slot, { number, seed }, seats, match) {
		Object.assign(this, { slot, number, seed, match });
		this.asked = new Map(); // seat -> the mask it was sent
		this.chosen = {};
		this.earned = Array(seats).fill(0);
		this.met = Array(seats).fill(false);
		this.terms = {}; // what each seat earned by each named part of the reward
		this.ending = this.finalObs = this.fault = this.deadline = null;
	}

	get owed() {
		return this.asked.size > 0;
	}

	/** Add the rows of a turn to the host's arrivals, or set `ending`. An invalid turn throws, and adds no rows. */
	take(turn, host) {
		const expect = (ok, words) => {
			if (!ok) throw new HostError('match', words);
		};
		const { seats } = host;
		const isList = (values, length) => values?.length === length && Array.from(values).every(Number.isFinite);
		expect(isList(turn?.reward, seats), `a turn's reward is ${turn?.reward}, expected ${seats} numbers`);
		for (let seat = 0; seat < seats; seat++) this.earned[seat] += turn.reward[seat];
		if (turn.terms) this.addTerms(turn.terms, host, expect, isList);
		if (turn.score) {
			this.end(turn, host, expect, isList);
			return;
		}
		expect(turn.seats?.length > 0, 'no seat must choose and there is no score');
		const { length } = turn.seats;
		expect(turn.obs?.length === length, `${length} seats must choose, but there are ${turn.obs?.length} observations`);
		expect(turn.legal?.length === length, `${length} seats must choose, but there are ${turn.legal?.length} masks`);
		const before = host.arrivals.count;
		try {
			turn.seats.forEach((seat, i) => this.ask(seat, turn.obs[i], turn.legal[i], host, expect));
		} catch (error) {
			host.arrivals.count = before;
			this.asked.clear();
			throw error;
		}
	}

	addTerms(terms, host, expect, isList) {
		for (const [name, values] of Object.entries(terms)) {
			expect(isList(values, host.seats), `reward term ${name} is ${values}, expected ${host.seats} numbers`);
			const sums = this.terms[name] ??= Array(host.seats).fill(0);
			for (let seat = 0; seat < host.seats; seat++) sums[seat] += values[seat];
		}
		if (host.wantsEvents) host.event({ reward_terms: { match: this.number, terms } });
	}

	get termFacts() {
		const facts = {};
		for (const [name, sums] of Object.entries(this.terms)) {
			sums.forEach((sum, seat) => {
				facts[`reward_${name}@${seat}`] = sum;
			});
		}
		return facts;
	}

	ask(seat, obs, legal, { arrivals, seats, actions, layout }, expect) {
		expect(Number.isInteger(seat) && seat >= 0 && seat < seats, `seat ${seat} must choose, there are ${seats}`);
		expect(!this.asked.has(seat), `seat ${seat} is asked twice in one turn`);
		expect(legal?.length === actions, `a mask has ${legal?.length} entries, expected ${actions}`);
		const mask = arrivals.nextMask().fill(0);
		for (let action = 0; action < actions; action++) if (legal[action]) mask[action >> 3] |= 1 << (action & 7);
		expect(mask.some(byte => byte > 0), `seat ${seat} must choose and no action is legal`);
		layout.pack(obs, arrivals.obs, arrivals.nextObsOffset());
		arrivals.add(this.slot * seats + seat, this.number, this.earned[seat], !this.met[seat]);
		this.asked.set(seat, legal);
		this.met[seat] = true;
		this.earned[seat] = 0;
	}

	end({ score, truncated = false, obs, facts = {}, log = '' }, { seats, layout, keepLog }, expect, isList) {
		expect(this.met.includes(true), 'the match was over before any seat had to choose');
		const fits = isList(score, seats) && score.every(each => each >= 0 && each <= 1);
		expect(fits, `score is ${score}, expected ${seats} numbers from 0 (lost) to 1 (won)`);
		expect(Object.values(facts).every(Number.isFinite), `facts are ${JSON.stringify(facts)}, expected finite numbers`);
		if (truncated) {
			expect(obs?.length === seats, `a truncated match has ${obs?.length} observations, expected ${seats}`);
			this.finalObs = new Uint8Array(seats * layout.bytes);
			obs.forEach((each, seat) => layout.pack(each, this.finalObs, seat * layout.bytes));
		}
		const { slot, number, seed, earned: reward } = this;
		const all = { ...this.termFacts, ...facts };
		this.ending = { slot, number, score, reward, truncated, seed, facts: all, log: keepLog ? log : '' };
	}
}

module.exports = { TurnHost, refuse, serve };
