'use strict';
// Matches of the host's own parts on the real core of the checkout at OPENFRONT_HOME, played by a careful player.

const path = require('node:path');

const { islandMap } = require('./island_map.js');

const HOST = path.join(__dirname, '../../src/ludus/games/openfront/host');
const { ACTIONS } = require(path.join(HOST, 'actions.js'));
const { loadCore } = require(path.join(HOST, 'checkout.js'));
const { openMaps } = require(path.join(HOST, 'maps.js'));
const { OpenFrontMatch } = require(path.join(HOST, 'match.js'));
const { OPTIONS } = require(path.join(HOST, 'options.js'));
const { SplitMix } = require('../../src/ludus/sdk/javascript');

const core = loadCore(process.env.OPENFRONT_HOME);
const DEFAULTS = Object.fromEntries(Object.entries(OPTIONS).map(([name, { fallback }]) => [name, fallback]));
const onion = openMaps(process.env.OPENFRONT_HOME, ['onion'], true);
const map = islandMap([[20, 25], [92, 40]]);
const EASY = { difficulty: 'easy', nations: 1, bots: 5 };

function newMatch(options = {}, maps = [map]) {
	return new OpenFrontMatch(core, maps, { ...DEFAULTS, bots: 3, nations: 2, grid: 16, ...options }, false);
}

/** Start a match in which alliances are so short that they can be extended at once. */
function startFriendly(match, seed) {
	const turn = match.start(seed);
	match.world.game.config().allianceDuration = () => 250;
	return turn;
}

/** Choose like a careful player, who rests in most decisions: among all legal actions of a kind drawn first. */
function chosen(turn, random, rest = 3) {
	return Object.fromEntries(turn.seats.map((seat, i) => {
		const legal = ACTIONS.flatMap((action, at) => (turn.legal[i][at] && action.share <= 0.2 ? [[action.kind, at]] : []));
		const kinds = [...new Set(legal.map(([kind]) => kind))];
		if (kinds.includes('noop') && random.nextBelow(rest + 1) < rest) return [seat, 0];
		const kind = kinds[random.nextBelow(kinds.length)];
		const actions = legal.filter(([each]) => each === kind);
		return [seat, actions[random.nextBelow(actions.length)][1]];
	}));
}

/** Play up to `decisions` of a match; `each(match, turn)` is called before every decision. */
function play(match, seed, decisions, each = () => {}, rest = 3) {
	const random = new SplitMix(seed + 1);
	let turn = match.start(seed);
	for (let i = 0; i < decisions && !turn.score; i++) {
		each(match, turn, i);
		turn = match.advance(chosen(turn, random, rest));
	}
	return turn;
}

/** Give a seat so much gold that everything can be built. */
function enrich(match) {
	for (const seat of match.seats) if (seat.player.gold() < 5_000_000n) seat.player.addGold(5_000_000n);
	return match;
}

function newMatchStarted(options) {
	const match = newMatch(options);
	match.start(1);
	return match;
}

module.exports = {
	DEFAULTS, EASY, HOST, SplitMix, chosen, core, enrich, map, newMatch, newMatchStarted, onion, play, startFriendly,
};
