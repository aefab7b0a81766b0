'use strict';
/**
 * Fixed amounts of work of a Showdown host, for gate.py: the same battles and choices for the same request.
 *
 * usage: node gate_showdown.js encoder|showdown SIMULATOR TREE FORMAT
 * The code comes from TREE, a checkout, and is loaded before "ready". Requests and answers are lines of JSON
 * (benchmarks/gating/benches.py). A unit is a battle for `encoder`, of which only the reading of the log, the encoding
 * and the masks are timed, and a decision for `showdown`.
 */

const path = require('node:path');
const readline = require('node:readline');

const MOST_TURNS = 300;

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

function main([name, root, tree, format]) {
	const bench = new {encoder: Encoder, showdown: Matches}[name](root, tree, format);
	console.log(JSON.stringify({ready: true}));
	readline.createInterface({input: process.stdin}).on('line', line => {
		const {units, seed} = JSON.parse(line);
		console.log(JSON.stringify(bench.work(units, seed)));
	});
}

main(process.argv.slice(2));
