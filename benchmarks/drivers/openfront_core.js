'use strict';
// OpenFront's core alone: node openfront_core.js CHECKOUT OPTIONS MATCHES [turns]. It first plays the matches as a host
// does, with a careful random player, and notes the intents; measured is the core's work on the same ticks and intents:
// one match after the other or, with `turns`, a decision of each in turn, as a host plays them.
// Lines of JSON as in drivers/lines.py.

const path = require('node:path');
const readline = require('node:readline');

const HOST = path.join(__dirname, '../../src/ludus/games/openfront/host');
const { ACTIONS } = require(path.join(HOST, 'actions.js'));
const { loadCore } = require(path.join(HOST, 'checkout.js'));
const { openMaps } = require(path.join(HOST, 'maps.js'));
const { OpenFrontMatch } = require(path.join(HOST, 'match.js'));
const { OPTIONS } = require(path.join(HOST, 'options.js'));
const { World } = require(path.join(HOST, 'world.js'));
const { SplitMix } = require('../../src/ludus/sdk/javascript');

const [checkout, given, count, order] = process.argv.slice(2);
const defaults = Object.fromEntries(Object.entries(OPTIONS).map(([name, { fallback }]) => [name, fallback]));
const options = { ...defaults, ...JSON.parse(given) };
const core = loadCore(checkout);
const maps = openMaps(checkout, options.maps, options.size === 'compact');

/** Play a match like the scripted player `cautious`. Returns its seed and the intents of each tick. */
function recorded(seed) {
	const match = new OpenFrontMatch(core, maps, options, false);
	const random = new SplitMix(seed);
	const ticks = [];
	const { execution, tick } = World.prototype;
	let intents = [];
	World.prototype.execution = function note(seat, intent) {
		intents.push([seat, intent]);
		return execution.call(this, seat, intent);
	};
	let turn = match.start(seed);
	match.world.tick = function note(executions) {
		ticks.push(intents);
		intents = [];
		return tick.call(this, executions);
	};
	while (!turn.score) {
		const isModest = (at, { share, kind }) => turn.legal[0][at] && share <= 0.2 && kind !== 'noop';
		const legal = ACTIONS.flatMap((action, at) => (isModest(at, action) ? [at] : []));
		const rests = turn.legal[0][0] && (legal.length === 0 || random.nextBelow(5) < 4);
		turn = match.advance({ 0: rests ? 0 : legal[random.nextBelow(legal.length)] });
	}
	World.prototype.execution = execution;
	return { seed, ticks };
}

function* replayed(matches) {
	for (let i = 0; ; i = (i + 1) % matches.length) {
		const random = new SplitMix(matches[i].seed);
		const world = new World(core, maps[random.nextBelow(maps.length)], options, random);
		for (const intents of matches[i].ticks) {
			world.tick(intents.map(([seat, intent]) => world.execution(seat, intent)));
			yield;
		}
	}
}

function* inTurn(players) {
	while (true) {
		for (const player of players) {
			for (let i = 0; i < options.ticks; i++) yield player.next();
		}
	}
}

const matches = Array.from({ length: Number(count) }, (_, i) => recorded(i + 1));
const playing = order === 'turns' ? inTurn(matches.map(match => replayed([match]))) : replayed(matches);
process.stdout.write('{"ready": true}\n');
readline.createInterface({ input: process.stdin }).on('line', line => {
	const until = performance.now() + 1000 * JSON.parse(line).seconds;
	const begin = performance.now();
	const before = process.cpuUsage();
	let ticks = 0;
	while (performance.now() < until) {
		for (let i = 0; i < 20; i++) playing.next();
		ticks += 20;
	}
	const seconds = (performance.now() - begin) / 1000;
	const used = process.cpuUsage(before);
	const answer = { decisions: ticks / options.ticks, ticks, seconds, cpu_s: (used.user + used.system) / 1e6 };
	process.stdout.write(`${JSON.stringify({ ...answer, host_rss_mib: process.memoryUsage().rss / 2 ** 20 })}\n`);
});
