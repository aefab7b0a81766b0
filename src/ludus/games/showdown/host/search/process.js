'use strict';
/**
 * The search process: answers questions about positions, one at a time, on stdin and stdout.
 * Usage: node process.js --sim <folder of the pokemon-showdown package>
 *
 * A message is two uint32 (bytes of JSON, further bytes), JSON and the further bytes. `ludus/games/showdown/search`
 * asks, and docs/games/showdown.md ("Search") says what the messages mean.
 */

const path = require('node:path');
const {readSome, takeStdout, writeAll} = require('../../../../sdk/javascript/process.js');
const {setUp} = require('../setup.js');
const {randomFrom} = require('../random.js');

const HEADER = 8;
const LARGEST = 1 << 24;
const ALIGNMENT = 8;

class SearchProcess {
	constructor(simRoot) {
		this.simRoot = simRoot;
		this.searcher = null;
	}

	/** Return [answer, bytes] to one message. */
	answer(message, bytes) {
		switch (message.kind) {
		case 'start': return this.#start(message);
		case 'worlds': return this.#worlds(message, bytes);
		case 'expand': return this.#expand(message);
		case 'weigh': return this.#weigh(message, bytes);
		default: throw new Error(`unknown message ${message.kind}`);
		}
	}

	#start({options}) {
		const setup = setUp(this.simRoot, options, false);
		const {Searcher} = require('./searcher.js');
		this.searcher = new Searcher(setup, this.simRoot);
		const {observer, actionSet} = setup;
		return [{leaves: observer.leaves(), actions: actionSet.size, slots: actionSet.slots}, []];
	}

	/** Draw worlds; the bytes of the answer are the foe's row and mask in each. */
	#worlds({seed, count, legal, budget_ms: budgetMs}, bytes) {
		const {searcher} = this;
		const {nbytes} = searcher.observer;
		searcher.draw(aligned(bytes), legal, count, randomFrom(seed), before(budgetMs));
		const legalOfFoe = searcher.worlds.map(world => searcher.legalOfFoe(world));
		const rows = new Uint8Array(new ArrayBuffer(searcher.worlds.length * nbytes));
		searcher.worlds.forEach((world, i) => legalOfFoe[i].length && searcher.encodeFoe(world, rows, i * nbytes));
		return [{legal: legalOfFoe, failures: searcher.failures}, [rows]];
	}

	/** Play joint actions in the worlds that were drawn; the bytes of the answer are rows of those that go on. */
	#expand({own, foe, budget_ms: budgetMs}) {
		const {searcher} = this;
		const {nbytes} = searcher.observer;
		const hasTime = before(budgetMs);
		const most = own.length * foe.reduce((sum, actions) => sum + Math.max(1, actions.length), 0);
		const rows = new Uint8Array(new ArrayBuffer(most * nbytes));
		const cells = []; // [world, own, foe, sign, outcome, potential]
		let count = 0;
		searcher.worlds.forEach((world, w) => {
			const answers = foe[w].length ? foe[w] : [-1];
			for (let i = 0; i < own.length; i++) {
				for (let j = 0; j < answers.length; j++) {
					if (!hasTime()) return;
					const battle = searcher.play(world, own[i], answers[j]);
					if (battle === null) continue;
					const {sign, outcome, potential} = searcher.leaf(world, battle, rows, count * nbytes);
					if (sign !== 0) count++;
					cells.push([w, i, j, sign, outcome, potential]);
				}
			}
		});
		return [{cells, failures: searcher.failures}, [rows.subarray(0, count * nbytes)]];
	}

	/** Draw worlds and evaluate joint actions by the standing they lead to. */
	#weigh({seed, worlds, legal, budget_ms: budgetMs}, bytes) {
		const {searcher} = this;
		const {candidates, standing} = searcher;
		const hasTime = before(budgetMs);
		searcher.draw(aligned(bytes), legal, worlds, randomFrom(seed), hasTime);
		if (searcher.worlds.length === 0) return [{own: [], cells: [], failures: searcher.failures}, []];
		const own = candidates.of(searcher.worlds[0].battle.sides[0], legal);
		const cells = [];
		searcher.worlds.forEach((world, w) => {
			const {battle} = world;
			const answers = candidates.of(battle.sides[1], searcher.legalOfFoe(world));
			if (answers.length === 0) answers.push(-1);
			for (let i = 0; i < own.length; i++) {
				for (let j = 0; j < answers.length; j++) {
					if (!hasTime()) return;
					const after = searcher.play(world, own[i], answers[j]);
					if (after !== null) cells.push([w, i, j, 0, standing.of(after), 0]);
				}
			}
		});
		return [{own, cells, failures: searcher.failures}, []];
	}
}

/** A copy that begins at a multiple of 8 bytes. */
function aligned(bytes) {
	const copy = new Uint8Array(new ArrayBuffer(Math.ceil(bytes.length / ALIGNMENT) * ALIGNMENT));
	copy.set(bytes);
	return copy;
}

function before(budgetMs) {
	const until = performance.now() + budgetMs;
	return () => performance.now() < until;
}

// -- the process

/** Read exactly so many bytes; null at the end of stdin. */
function readExactly(count) {
	const into = Buffer.alloc(count);
	for (let have = 0; have < count;) {
		const more = readSome(into.subarray(have));
		if (more === 0) return null;
		have += more;
	}
	return into;
}

function main() {
	takeStdout();
	const searching = new SearchProcess(path.resolve(process.argv[process.argv.indexOf('--sim') + 1]));
	for (;;) {
		const header = readExactly(HEADER);
		if (header === null) return;
		const [json, more] = [header.readUInt32LE(0), header.readUInt32LE(4)];
		if (json > LARGEST || more > LARGEST) throw new Error('a message is too large');
		const message = JSON.parse(readExactly(json).toString());
		const [answer, pieces] = searching.answer(message, readExactly(more));
		const text = Buffer.from(JSON.stringify({...answer, id: message.id}));
		const head = Buffer.alloc(HEADER);
		head.writeUInt32LE(text.length, 0);
		head.writeUInt32LE(pieces.reduce((sum, piece) => sum + piece.length, 0), 4);
		writeAll([head, text, ...pieces].filter(piece => piece.length > 0));
	}
}

if (require.main === module) main();

module.exports = {SearchProcess};
