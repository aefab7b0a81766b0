#!/usr/bin/env node
'use strict';
/**
 * Proves that the speed-up in src/ludus/games/showdown/host/engine.js changes nothing but speed.
 *
 *   node scripts/compare_engines.js --sim <pokemon-showdown folder> [--formats a,b] [--battles 200] [--seed 1]
 *       [--engine <file>]
 *
 * Each format is played with seeded random legal choices on the stock and on the patched simulator, in one process
 * each, because patching is in place. A battle's transcript is every answered request, every accepted and refused
 * choice, the whole log (without its time stamps), the input log, the generator state and the serialised state at the
 * end. Every eighth battle goes on from a deserialised copy half-way. Battles are stepped in turn, eight at a time,
 * so state that leaks from one battle into another shows.
 *
 * Prints one line a format. The CPU figures are of processes that have played a few hundred battles; the ratio goes on
 * rising until about 600, when everything is compiled. Exits 1 at the first difference and says which battle and which
 * line, 2 on bad usage.
 */

const {fork} = require('node:child_process');
const crypto = require('node:crypto');
const path = require('node:path');

const ENGINE = path.join(__dirname, '../src/ludus/games/showdown/host/engine.js');

const FORMATS = [
	'gen1randombattle', 'gen2randombattle', 'gen3randombattle', 'gen4randombattle', 'gen5randombattle',
	'gen6randombattle', 'gen7randombattle', 'gen8randombattle', 'gen9randombattle', 'gen9randomdoublesbattle',
	'gen9doubleshackmonscup', 'gen8multirandombattle', 'gen9freeforallrandombattle',
];

const INTERLEAVED = 8;
const CHUNK = 4 * INTERLEAVED;
const MAX_DECISIONS = 20_000; // no battle reaches it: the simulator ties on turn 1000
const MAX_REFUSALS = 100;

async function main(argv) {
	const options = parse(argv);
	const players = [startPlayer('stock', options), startPlayer('patched', options)];
	try {
		for (const format of options.formats) {
			const difference = await compareFormat(format, players, options);
			if (difference) {
				console.log(difference);
				return 1;
			}
		}
	} finally {
		for (const player of players) player.stop();
	}
	return 0;
}

function parse(argv) {
	const options = {sim: null, engine: ENGINE, formats: FORMATS, battles: 200, seed: 1};
	for (let i = 0; i < argv.length; i += 2) {
		const name = argv[i].replace(/^--/, '');
		const value = argv[i + 1];
		if (!(name in options) || value === undefined) usage(`unknown or incomplete option ${argv[i]}`);
		options[name] = READERS[name](value);
	}
	if (!options.sim) usage('--sim is missing');
	if (!(options.battles > 0) || !Number.isInteger(options.seed)) usage('--battles and --seed are whole numbers');
	return options;
}

const READERS = {
	sim: folder => path.resolve(folder), engine: file => path.resolve(file), formats: names => names.split(','),
	battles: Number, seed: Number,
};

function usage(problem) {
	const options = '--sim <folder> [--formats a,b] [--battles 200] [--seed 1] [--engine <file>]';
	console.error(`${problem}\nusage: compare_engines.js ${options}`);
	process.exit(2);
}

/** One simulator in a child process, asked for one chunk of battles at a time. */
function startPlayer(engine, options) {
	const file = engine === 'patched' ? options.engine : '';
	const child = fork(__filename, ['--player', options.sim, file], {stdio: ['ignore', 'inherit', 'inherit', 'ipc']});
	let settle = null;
	child.on('message', reply => settle.resolve(reply));
	child.on('exit', code => settle?.reject(new Error(`the ${engine} player ended with code ${code}`)));
	return {
		play(request) {
			return new Promise((resolve, reject) => {
				settle = {resolve, reject};
				child.send({...request, seed: options.seed});
			});
		},
		stop() {
			settle = null;
			child.kill();
		},
	};
}

/** Returns a description of the first difference, or null after printing the format's line. */
async function compareFormat(format, [stock, patched], {battles, seed}) {
	let decisions = 0;
	let timed = 0;
	let stockMs = 0;
	let patchedMs = 0;
	for (let first = 0; first < battles; first += CHUNK) {
		// the first half runs while the code is still being compiled, so only the second half is timed
		const isTimed = battles >= CHUNK && 2 * first + CHUNK >= battles;
		const request = {format, first, battles: Math.min(CHUNK, battles - first), isTimed};
		const expected = await stock.play(request);
		const seen = await patched.play(request);
		for (let i = 0; i < request.battles; i++) {
			if (expected.digests[i] !== seen.digests[i]) {
				return describeDifference({...request, keep: first + i}, [stock, patched], seed);
			}
		}
		decisions += expected.decisions;
		if (!isTimed) continue;
		timed += request.battles;
		stockMs += expected.cpuMs;
		patchedMs += seen.cpuMs;
	}
	const cost = timed ?
		`CPU ms per battle: stock ${(stockMs / timed).toFixed(2)}, patched ${(patchedMs / timed).toFixed(2)}, ` +
		`ratio ${(stockMs / patchedMs).toFixed(2)}` :
		`CPU measured from ${CHUNK} battles on`;
	console.log(
		`${format.padEnd(28)} ${battles} battles, ${battles} equal, ` +
		`${(decisions / battles).toFixed(0)} decisions each, ${cost}`
	);
	return null;
}

async function describeDifference(request, players, seed) {
	const [expected, seen] = [await players[0].play(request), await players[1].play(request)].map(reply => reply.kept);
	const where = `${request.format}: battle ${request.keep} with --seed ${seed} differs`;
	for (let line = 0; line < Math.max(expected.length, seen.length); line++) {
		if (expected[line] !== seen[line]) {
			const before = expected.slice(Math.max(0, line - 5), line).map(text => `          ${text.slice(0, 200)}`);
			const [stockLine, patchedLine] = excerpts(`${expected[line]}`, `${seen[line]}`);
			return `${where} at line ${line}:\n${before.join('\n')}\n  stock   ${stockLine}\n  patched ${patchedLine}`;
		}
	}
	return `${where}, but not when played again: the result depends on what was played before`;
}

/** The neighbourhood of the first differing character: lines with requests run to thousands of characters. */
function excerpts(a, b) {
	let at = 0;
	while (at < a.length && a[at] === b[at]) at++;
	const from = Math.max(0, at - 100);
	return [a, b].map(text => (from ? '... ' : '') + text.slice(from, from + 200));
}

// ---- in the child ----

function servePlayer(sim, engine) {
	if (engine) require(engine).speedUp(sim);
	const simulator = require(path.join(sim, 'dist/sim'));
	process.on('message', request => process.send(playChunk(simulator, request)));
}

/** Plays the chunk writing transcripts, and where timed again for the clock, with nothing but choosing in it. */
function playChunk(simulator, {format, first, battles, seed, keep, isTimed}) {
	const recorded = playAll(simulator, format, first, battles, seed, true);
	const digests = recorded.map(match => crypto.createHash('sha1').update(match.transcript.join('\n')).digest('hex'));
	const kept = keep === undefined ? null : recorded[keep - first].transcript;
	const before = process.cpuUsage();
	if (isTimed) playAll(simulator, format, first, battles, seed, false);
	const {user, system} = process.cpuUsage(before);
	return {
		digests,
		kept,
		cpuMs: (user + system) / 1000,
		decisions: recorded.reduce((sum, match) => sum + match.decisions, 0),
	};
}

function playAll(simulator, format, first, battles, seed, recording) {
	const matches = [];
	for (let start = first; start < first + battles; start += INTERLEAVED) {
		const group = [];
		for (let n = start; n < Math.min(start + INTERLEAVED, first + battles); n++) {
			group.push(new Match(simulator, format, seed, n, recording));
		}
		for (let live = group; live.length;) live = live.filter(match => match.step());
		matches.push(...group);
	}
	return matches;
}

class Match {
	constructor(simulator, format, seed, n, recording) {
		this.simulator = simulator;
		this.random = mulberry32(seed * 1_000_003 + n);
		this.transcript = recording ? [] : null;
		this.decisions = 0;
		this.cloneAtTurn = recording && n % 8 === 7 ? 3 + n % 7 : 0;
		const word = () => this.random(0x10000);
		this.battle = new simulator.Battle({formatid: format, seed: [word(), word(), word(), word()].join(',')});
		for (let i = 0; i < this.battle.sides.length; i++) {
			this.battle.setPlayer(`p${i + 1}`, {name: `Player ${i + 1}`, seed: [word(), word(), word(), word()].join(',')});
		}
	}

	/** Answers all open requests; returns whether the battle goes on. */
	step() {
		const {battle} = this;
		if (battle.ended) {
			this.finish();
			return false;
		}
		if (this.cloneAtTurn && battle.turn >= this.cloneAtTurn) this.continueOnCopy();
		for (const side of this.battle.sides) {
			if (!side.isChoiceDone()) this.answer(side);
		}
		this.battle.commitChoices();
		return true;
	}

	answer(side) {
		if (++this.decisions > MAX_DECISIONS) throw new Error(`battle went past ${MAX_DECISIONS} decisions`);
		for (let refusals = 0; refusals < MAX_REFUSALS; refusals++) {
			this.transcript?.push(`${side.id} ${JSON.stringify(side.activeRequest)}`);
			const choice = randomChoice(side.activeRequest, this.random);
			const accepted = side.choose(choice) && side.isChoiceDone();
			this.transcript?.push(`${side.id} ${choice} ${accepted ? 'accepted' : side.choice.error}`);
			if (accepted) return;
		}
		throw new Error(`${MAX_REFUSALS} refusals: ${side.choice.error} ${JSON.stringify(side.activeRequest)}`);
	}

	continueOnCopy() {
		this.cloneAtTurn = 0;
		const state = this.battle.toJSON();
		this.transcript.push(...describeState(state));
		this.battle = this.simulator.Battle.fromJSON(JSON.stringify(state));
		this.battle.restart(() => {});
	}

	finish() {
		if (!this.transcript) return;
		const {battle} = this;
		for (const line of battle.log) if (!line.startsWith('|t:|')) this.transcript.push(line);
		this.transcript.push(...battle.inputLog, `generator ${battle.prng.getSeed()}`);
		this.transcript.push(...describeState(battle.toJSON()));
	}
}

/** One line a field, keys in alphabetical order: the order in which an object got its keys is not compared. */
function describeState(state) {
	const sorted = (key, value) => value && typeof value === 'object' && !Array.isArray(value) ?
		Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1)) : value;
	const {log, ...rest} = state; // the log is in the transcript already
	return Object.keys(rest).sort().map(key => `state ${key} ${JSON.stringify(rest[key], sorted)}`);
}

/** A legal choice as far as the request tells; the simulator can still refuse it (hidden trapping, a second mega). */
function randomChoice(request, random) {
	const pick = items => items[random(items.length)];
	if (request.teamPreview) return `team ${shuffled(request.side.pokemon.map((_, i) => i + 1), random).join(',')}`;
	const slots = request.forceSwitch || request.active;
	const taken = new Set();
	return slots.map((_, slot) => {
		const options = request.forceSwitch ? replacements(request, slot) : actions(request, slot, random);
		const choice = pick(options.filter(option => !taken.has(option))) || 'pass';
		if (choice.startsWith('switch')) taken.add(choice);
		return choice;
	}).join(', ');
}

function replacements({forceSwitch, side: {pokemon}}, slot) {
	if (!forceSwitch[slot]) return ['pass'];
	const reviving = !!pokemon[slot].reviving;
	return bench(pokemon, forceSwitch.length, reviving);
}

function actions({active, side: {pokemon}}, slot, random) {
	const request = active[slot];
	if (!request || isFainted(pokemon[slot]) || pokemon[slot].commanding) return ['pass'];
	const options = [];
	const maxMoves = request.maxMoves?.maxMoves;
	const isDynamaxed = maxMoves && !request.canDynamax;
	request.moves.forEach((move, i) => {
		const target = isDynamaxed ? maxMoves[i].target : move.target;
		const disabled = isDynamaxed ? maxMoves[i].disabled : move.disabled;
		if (!disabled) options.push(...aimed(`move ${i + 1}`, target, active.length, slot, ''));
	});
	if (random(2)) options.push(...upgrades(request, active.length, slot));
	if (!request.trapped) options.push(...bench(pokemon, active.length, false));
	return options;
}

/** Mega evolution, Z-moves, Dynamax and Terastallization, for each move that can carry them. */
function upgrades(request, actives, slot) {
	const options = [];
	const words = [
		[request.canMegaEvo, 'mega'], [request.canMegaEvoX, 'megax'], [request.canMegaEvoY, 'megay'],
		[request.canUltraBurst, 'ultra'], [request.canTerastallize, 'terastallize'],
	];
	request.moves.forEach((move, i) => {
		const choice = `move ${i + 1}`;
		for (const [offered, word] of words) {
			if (offered && !move.disabled) options.push(...aimed(choice, move.target, actives, slot, ` ${word}`));
		}
		const zMove = request.canZMove?.[i];
		if (zMove) options.push(...aimed(choice, zMove.target, actives, slot, ' zmove'));
		const maxMove = request.canDynamax && request.maxMoves.maxMoves[i];
		if (maxMove && !maxMove.disabled) options.push(...aimed(choice, maxMove.target, actives, slot, ' dynamax'));
	});
	return options;
}

function aimed(choice, target, actives, slot, suffix) {
	const foes = actives === 1 ? [''] : [' 1', ' 2'];
	const ally = actives === 1 ? [] : [slot === 0 ? ' -2' : ' -1'];
	const self = actives === 1 ? [''] : [slot === 0 ? ' -1' : ' -2'];
	const targets = {
		normal: [...foes, ...ally],
		any: [...foes, ...ally],
		adjacentFoe: foes,
		adjacentAlly: actives === 1 ? [''] : ally,
		adjacentAllyOrSelf: actives === 1 ? [''] : [...ally, ...self],
	}[target] || [''];
	return targets.map(aim => `${choice}${aim}${suffix}`);
}

function bench(pokemon, actives, wantFainted) {
	const options = [];
	pokemon.forEach((entry, i) => {
		const reachable = wantFainted ? true : i >= actives;
		if (reachable && isFainted(entry) === wantFainted) options.push(`switch ${i + 1}`);
	});
	return options;
}

function isFainted(entry) {
	return entry.condition.endsWith(' fnt');
}

function shuffled(items, random) {
	for (let i = items.length - 1; i > 0; i--) {
		const j = random(i + 1);
		[items[i], items[j]] = [items[j], items[i]];
	}
	return items;
}

/** A seeded generator of our own, so that choosing never draws from the battle's. */
function mulberry32(seed) {
	let state = seed >>> 0;
	return limit => {
		state = state + 0x6D2B79F5 >>> 0;
		let mixed = Math.imul(state ^ state >>> 15, state | 1);
		mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61);
		return Math.floor(((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32 * limit);
	};
}

if (process.argv[2] === '--player') {
	servePlayer(process.argv[3], process.argv[4]);
} else {
	main(process.argv.slice(2)).then(code => { process.exitCode = code; }, error => {
		console.error(error.stack);
		process.exitCode = 1;
	});
}
