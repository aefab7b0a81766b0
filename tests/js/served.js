'use strict';
/**
 * Plays battles on a real server and replays each from its input log on the embedded host's engine, or on the stock
 * one: every line that a player was told must come again, in order, and with it the result.
 *
 * usage: node served.js SIMULATOR ADDRESS FORMAT[:TEAM_FOLDER] BATTLES [stock]; prints one JSON object.
 */

const path = require('node:path');
const {randomFrom} = require('./battles');

const HOST = path.join(__dirname, '..', '..', 'src', 'ludus', 'games', 'showdown', 'host');
const SDK = path.join(__dirname, '..', '..', 'src', 'ludus', 'sdk', 'javascript');
const {ArrivalBuffer} = require(path.join(SDK, 'frames.js'));
const {setUp} = require(path.join(HOST, 'setup.js'));
const {ServerMatch} = require(path.join(HOST, 'server', 'match.js'));
const {Pair} = require(path.join(HOST, 'server', 'pair.js'));

const DEADLINE_MS = 60_000;
const OF_THE_ROOM = new RegExp('^\\|(init|title|j|l|n|c|c:|:|t:|raw|html|uhtml|uhtmlchange|' +
	'inactive|inactiveoff|deinit|debug|-message)\\|');
const CONSENT = '/allowexportinputlog '; // asked of the other player where teams were brought, and only valid then
const INPUT_LOG = /^\|html\|<div class="chat"><code[^>]*>(.*)<\/code><\/div>$/;

/** One match after the other between two accounts. */
class Game {
	constructor(setup, url) {
		this.setup = setup;
		this.arrivals = new ArrivalBuffer(2, setup.actionSet.maskBytes, setup.observer.nbytes);
		this.random = randomFrom(5);
		this.pair = new Pair(url, 'replay', setup.format, {
			hear: (match, seat, lines) => this.#hear(match, seat, lines),
			fail: (match, error) => this.#lose(error),
			log: text => process.stderr.write(text),
		});
	}

	/** Until its input log is there: {match, inputLog}. */
	play(number) {
		return new Promise((resolve, reject) => {
			this.#lose = reject;
			this.#export = inputLog => resolve({match, inputLog});
			const match = new ServerMatch(this.setup, 0, number, number, 0);
			this.pair.start(match);
		});
	}

	#lose = null;
	#export = null;

	#hear(match, seat, lines) {
		const exported = lines.map(line => INPUT_LOG.exec(line)).find(found => found);
		if (exported) this.#export(unescape(exported[1]).split('\n'));
		if (seat === 1 && lines.some(line => line.includes(CONSENT))) {
			this.pair.say(match, 1, `${CONSENT}${this.pair.accounts[0].id}`);
		}
		if (match.ending) return;
		match.hear(seat, lines, this.arrivals, 0);
		if (match.fault) this.#lose(match.fault);
		const {count, row: waiting, masks} = this.arrivals;
		const rows = Array.from({length: count}, (_, i) => [waiting[i], this.#pick(masks[i])]);
		this.arrivals.count = 0;
		for (const [row, action] of rows) this.pair.say(match, row, match.act(row, action, this.arrivals, 0));
		if (match.ending) this.pair.say(match, 0, '/exportinputlog');
	}

	#pick(mask) {
		const legal = [];
		for (let i = 0; i < this.setup.actionSet.size; i++) if (mask[i >> 3] >> (i & 7) & 1) legal.push(i);
		const moves = legal.filter(action => action < this.setup.actionSet.moveActions);
		const among = moves.length && this.random() < 0.7 ? moves : legal;
		return among[Math.floor(this.random() * among.length)];
	}
}

function unescape(html) {
	const characters = {'&lt;': '<', '&gt;': '>', '&quot;': '"', '&apos;': '\'', '&#x2f;': '/', '&amp;': '&'};
	return html.replaceAll('<br />', '\n').replace(/&[a-z0-9#]+;/g, found => characters[found] ?? found);
}

/** The lines of each player when the engine is given that input log. */
function replay(inputLog, {BattleStream}, extractChannelMessages) {
	const lines = [];
	const stream = new BattleStream({keepAlive: true});
	stream.push = text => {
		const [type, ...rest] = text.split('\n');
		if (type === 'update') lines.push(...rest);
	};
	for (const input of inputLog) {
		stream._writeLines(input);
		stream.battle.sendUpdates();
	}
	const channels = extractChannelMessages(lines.join('\n'), [1, 2]);
	return [channels[1], channels[2]];
}

const told = lines => lines.filter(line => line !== '' && !OF_THE_ROOM.test(line));

function firstDifference(one, other) {
	for (let i = 0; i < Math.max(one.length, other.length); i++) if (one[i] !== other[i]) return i;
	return -1;
}

async function main([root, url, spec, battles, engine = 'patched']) {
	const [format, teams = null] = spec.split(':');
	const setup = setUp(root, {format, teams, stock_engine: engine === 'stock'}, true);
	const {extractChannelMessages} = require(path.join(root, 'dist', 'sim', 'battle.js'));
	const game = new Game(setup, url);
	const deadline = setTimeout(() => {
		throw new Error(`not all of ${battles} battles ended in ${DEADLINE_MS / 1000} s`);
	}, DEADLINE_MS);
	await game.pair.connect();
	const report = {format, battles: 0, lines: 0, differences: 0, first: null};
	for (let number = 0; number < +battles; number++) {
		const {match, inputLog} = await game.play(number);
		const replayed = replay(inputLog, require(root), extractChannelMessages);
		for (const seat of [0, 1]) {
			const [there, here] = [told(match.battles[seat].log), told(replayed[seat])];
			report.lines += here.length;
			const at = firstDifference(here, there);
			if (at < 0) continue;
			report.differences++;
			report.first ??= {number, seat, at, here: here.slice(at, at + 3), there: there.slice(at, at + 3), inputLog};
		}
		report.battles++;
		game.pair.leave(match);
	}
	clearTimeout(deadline);
	game.pair.close();
	console.log(JSON.stringify(report));
}

main(process.argv.slice(2));
