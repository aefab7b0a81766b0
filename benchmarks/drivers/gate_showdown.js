'use strict';
/**
 * Fixed amounts of work of a Showdown host, for gate.py: the same battles and choices for the same request.
 *
 * usage: node gate_showdown.js encoder|showdown|encoder-counts SIMULATOR TREE FORMAT [WARM UNITS]
 * The code comes from TREE, a checkout, and is loaded before "ready". Requests and answers are lines of JSON
 * (benchmarks/gating/benches.py). A unit is a battle for `encoder`, of which only the reading of the log, the encoding
 * and the masks are timed, and a decision for `showdown`. `encoder-counts` plays BATTLES battles, does
 * only the reading, encoding and masking of all of them WARM times, then UNITS times, and exits: valgrind counts the
 * instructions of the latter.
 */

const os = require('node:os');
const path = require('node:path');
const readline = require('node:readline');

const MOST_TURNS = 300;
const BATTLES = 2; // of `encoder-counts`

/** CPU time of this thread in microseconds, without threads that compile. Some kernels count it in milliseconds. */
function threadUs() {
	const {user, system} = process.threadCpuUsage();
	return user + system;
}

class Encoder {
	constructor(root, tree, format) {
		const {Setting, View, randomFrom} = require(path.join(tree, 'tests', 'js', 'battles.js'));
		require(path.join(tree, 'src', 'ludus', 'games', 'showdown', 'host', 'engine.js')).speedUp(root);
		this.setting = new Setting(root, format);
		this.View = View;
		this.randomFrom = randomFrom;
		this.out = new Uint8Array(this.setting.observer.nbytes);
	}

	/**
	 * Each stop of the simulator is timed by itself, and the shortest time of all requests with this seed counts: a CPU
	 * clock is too coarse for microseconds, and the shortest time is one that nothing interrupted.
	 */
	work(units, seed) {
		const windows = [];
		let decisions = 0;
		for (let i = 0; i < units; i++) decisions += this.battle(seed * 1000 + i, windows);
		if (seed !== this.seed) [this.seed, this.shortest] = [seed, windows];
		this.shortest = this.shortest.map((shortest, i) => Math.min(shortest, windows[i]));
		return {cpu_s: sum(this.shortest) / 1e3, wall_s: sum(windows) / 1e3, units: decisions};
	}

	battle(seed, windows) {
		const {setting, out} = this;
		const battle = setting.start(seed);
		const view = new this.View(setting.observer, battle);
		const random = this.randomFrom(seed);
		let decisions = 0;
		while (!battle.ended && battle.turn < MOST_TURNS) {
			const asked = battle.sides.filter(side => side.activeRequest && !side.activeRequest.wait);
			const since = performance.now();
			view.read();
			for (const side of asked) {
				view.encode(side.n, side.activeRequest, out, 0);
				setting.actionSet.mask(side.activeRequest, setting.mask);
			}
			windows.push(performance.now() - since);
			decisions += asked.length;
			for (const side of asked) {
				while (!battle.choose(side.id, setting.pick(side.activeRequest, random, random() < 0.5))) { /* asked again */ }
			}
		}
		return decisions;
	}
}

/** The work of Encoder without the simulator: what it was asked for in recorded battles. */
class Replays extends Encoder {
	constructor(...where) {
		super(...where);
		this.stops = []; // of all battles: {first, lines, requests}
		for (let seed = 1; seed <= BATTLES; seed++) this.record(seed);
	}

	record(seed) {
		const random = this.randomFrom(seed);
		const battle = this.setting.start(seed);
		let read = 0;
		while (!battle.ended && battle.turn < MOST_TURNS) {
			const asked = battle.sides.filter(side => side.activeRequest && !side.activeRequest.wait);
			const requests = asked.map(side => [side.n, structuredClone(side.activeRequest)]);
			this.stops.push({first: read === 0, lines: battle.log.slice(read), requests});
			read = battle.log.length;
			for (const side of asked) {
				while (!battle.choose(side.id, this.setting.pick(side.activeRequest, random, random() < 0.5))) { /* asked again */ }
			}
		}
	}

	replay() {
		const {setting, out} = this;
		let view;
		for (const {first, lines, requests} of this.stops) {
			if (first) view = new this.View(setting.observer, {log: []});
			view.battle.log.push(...lines);
			view.read();
			for (const [seat, request] of requests) {
				view.encode(seat, request, out, 0);
				setting.actionSet.mask(request, setting.mask);
			}
		}
	}
}

const sum = values => values.reduce((a, b) => a + b, 0);

class Matches {
	constructor(root, tree, format) {
		const {Ceiling} = require('./engine.js');
		const {randomFrom} = require(path.join(tree, 'tests', 'js', 'battles.js'));
		const host = path.join(tree, 'src', 'ludus', 'games', 'showdown', 'host');
		this.open = () => new Ceiling(root, host, format, 16);
		this.open(); // loads the code
		this.randomFrom = randomFrom;
		this.keeping = require(path.join(host, 'shapes.js')).keepShapes();
	}

	work(units, seed) {
		Math.random = this.randomFrom(seed); // seeds of matches and choices
		const player = this.open();
		const [cpu, wall] = [threadUs(), performance.now()];
		this.keeping(() => {
			while (player.decisions < units) player.advance();
		});
		return {cpu_s: (threadUs() - cpu) / 1e6, wall_s: (performance.now() - wall) / 1e3, units: player.decisions};
	}
}

function main([name, root, tree, format, warmUnits, units]) {
	if (name === 'encoder-counts') {
		const replays = new Replays(root, tree, format);
		for (let i = 0; i < Number(warmUnits); i++) replays.replay();
		os.getPriority(); // the mark of benchmarks/gating/measuring.py
		for (let i = 0; i < Number(units); i++) replays.replay();
		os.getPriority();
		process.reallyExit(0);
	}
	const bench = new {encoder: Encoder, showdown: Matches}[name](root, tree, format);
	console.log(JSON.stringify({ready: true}));
	readline.createInterface({input: process.stdin}).on('line', line => {
		const {units, seed} = JSON.parse(line);
		console.log(JSON.stringify(bench.work(units, seed)));
	});
}

main(process.argv.slice(2));
