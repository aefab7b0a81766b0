'use strict';
// Masks and actions on the real core: what is legal, what it changes, and what never becomes an intent.

const assert = require('node:assert/strict');
const path = require('node:path');
const { test } = require('node:test');

const {
	DEFAULTS, EASY, HOST, SplitMix, chosen, core, enrich, map, newMatch, newMatchStarted, onion, play, startFriendly,
} = require('./playing.js');
const { ACTIONS, KINDS, STRUCTURES, nameOf } = require(path.join(HOST, 'actions.js'));
const { planned } = require(path.join(HOST, 'intents.js'));
const { isLegal, upgradable } = require(path.join(HOST, 'legality.js'));
const { leavesOf } = require(path.join(HOST, 'observe.js'));
const { isSite } = require(path.join(HOST, 'sites.js'));
const { ProtocolError } = require('../../src/ludus/sdk/javascript/frames.js');
const { TurnHost } = require('../../src/ludus/sdk/javascript/serve.js');

test('a structure can be built or a boat sent exactly where the mask says so', () => {
	let [built, refused, sailed] = [0, 0, 0];
	for (const seed of [1, 2, 3, 4]) {
		play(enrich2(newMatch({ max_minutes: 10 }), seed), seed, 160, match => {
			const [seat] = match.seats;
			if (!seat.isAlive || match.world.game.inSpawnPhase()) return;
			for (const unit of STRUCTURES) {
				const site = seat.siteOf(unit);
				const action = ACTIONS.find(each => each.kind === 'build' && each.unit === unit);
				const canPay = seat.costs[unit] <= seat.player.gold();
				if (isLegal(seat, action)) {
					assert.equal(seat.player.canBuild(core.UnitType[unit], site), site, `${unit} at ${site}`);
					built++;
				} else if (!canPay) {
					for (const tile of [...seat.player.tiles()].slice(0, 3)) {
						assert.equal(seat.player.canBuild(core.UnitType[unit], tile), false);
						refused++;
					}
				}
			}
			for (const [owner, { tile }] of seat.coasts) {
				const target = match.world.game.playerBySmallID(owner);
				const may = seat.boats.length < 3 && (owner === 0 || seat.player.canAttackPlayer(target));
				assert.equal(seat.player.canBuild(core.UnitType.TransportShip, tile) !== false, may);
				sailed++;
			}
		});
	}
	assert.ok(built > 300 && refused > 100 && sailed > 300, `${built} built, ${refused} refused, ${sailed} boats`);
});

test('the rules for sites and upgrades are the game\'s, on any tile and for any structure', () => {
	const random = new SplitMix(17);
	let [sites, others, free, full, upgrades] = [0, 0, 0, 0, 0];
	for (const [seed, maps] of [[1, [map]], [2, [map]], [3, onion], [4, onion]]) {
		play(newMatch({ ...EASY, nations: 0, max_minutes: 10 }, maps), seed, 160, match => {
			const { world: { territory, structures }, seats: [seat] } = match;
			if (!seat.isAlive || match.world.game.inSpawnPhase()) return;
			enrich(match);
			const own = [...seat.player.tiles()];
			for (let i = 0; i < 12; i++) {
				const tile = i % 3 ? own[random.nextBelow(own.length)] : random.nextBelow(territory.state.length);
				const may = isSite(territory, seat.id, tile, structures);
				assert.equal(seat.player.canBuild(core.UnitType.City, tile) === tile, may, `city at ${tile}`);
				const mayPort = may && seat.world.game.isShore(tile);
				assert.equal(seat.player.canBuild(core.UnitType.Port, tile) === tile, mayPort, `port at ${tile}`);
				may ? sites++ : others++;
			}
			for (const { unit } of seat.own) {
				const may = ACTIONS.some(each => each.kind === 'upgrade' && canUpgrade(seat, each, unit));
				assert.equal(seat.player.canUpgradeUnit(unit), may, unit.type());
				upgrades++;
			}
			seat.looks = 0; // search anew, with the gold of now
			seat.look(structures);
			const exists = own.some(tile => isSite(territory, seat.id, tile, structures));
			assert.equal(seat.siteOf('City') >= 0, exists, 'a site is found if there is any');
			exists ? free++ : full++;
		}, 1);
	}
	const counts = `${sites} sites, ${others} other tiles, ${free} lands with room, ${full} without, ${upgrades} upgrades`;
	assert.ok(sites > 300 && others > 1000 && free > 50 && full > 5 && upgrades > 300, counts);
});

/** Return whether an action may upgrade this structure, as far as the structure decides it. */
function canUpgrade(seat, { unit: name }, unit) {
	return unit.type() === core.UnitType[name] && upgradable({ world: seat.world, own: [{ unit }] }, name) === unit;
}

/** Give gold in every second match only, so that both sides of the mask are seen. */
function enrich2(match, seed) {
	if (seed % 2) return match;
	const start = match.start.bind(match);
	match.start = number => {
		const turn = start(number);
		enrich(match);
		return turn;
	};
	return match;
}

test('every kind of action that the mask allows changes the state', () => {
	const changed = new Set(['noop']);
	const overlooked = new Set(); // kinds whose effect the core's own hash does not show
	const wanted = new Set(KINDS);
	for (let seed = 1; seed < 40 && changed.size < wanted.size; seed++) {
		const actions = [];
		const first = newMatch({ difficulty: 'easy' });
		const random = new SplitMix(seed);
		let turn = startFriendly(first, seed);
		for (let i = 0; i < 150 && !turn.score; i++) {
			if (i === 1) enrich(first);
			const untested = ACTIONS.findIndex((action, at) => turn.legal[0][at] && !changed.has(action.kind));
			if (untested >= 0) {
				if (!assertChanges(seed, actions, untested)) overlooked.add(ACTIONS[untested].kind);
				changed.add(ACTIONS[untested].kind);
			}
			const action = chosen(turn, random, 2)[0];
			actions.push(action);
			turn = first.advance({ 0: action });
		}
	}
	assert.deepEqual([...changed].sort(), [...wanted].sort());
	assert.ok(overlooked.has('embargo') && overlooked.has('betray'), `the core's hash overlooks ${[...overlooked]}`);
});

/**
 * Play the same match twice, with and without an action at the end, and compare the states two ticks later. Returns
 * whether the core's own hash differs, too.
 */
function assertChanges(seed, actions, last) {
	const hashes = [last, 0].map(action => {
		const match = newMatch({ difficulty: 'easy' });
		startFriendly(match, seed);
		actions.forEach((each, i) => {
			if (i === 1) enrich(match);
			match.advance({ 0: each });
		});
		if (actions.length === 1) enrich(match);
		const plan = planned(match.seats[0], ACTIONS[action]);
		const execution = plan === null ? null : match.world.execution(0, plan.intent);
		for (let tick = 1; tick <= 3; tick++) {
			match.world.tick(tick === 1 && execution ? [execution] : []);
			if (tick === plan?.after) assert.ok(plan.happened(execution), `${nameOf(ACTIONS[action])} was ignored`);
		}
		return { ours: match.world.hash(), theirs: coreHash(match.world.game) };
	});
	assert.notEqual(hashes[0].ours, hashes[1].ours, nameOf(ACTIONS[last]));
	return hashes[0].theirs !== hashes[1].theirs;
}

/** The sum that the core's clients compare: of players and their units. */
function coreHash(game) {
	return game.allPlayers().reduce((sum, player) => sum + player.hash(), 0);
}

test('what the mask forbids and the core ignores changes nothing', () => {
	const tested = new Map();
	for (const [seed, decisions] of [[3, 12], [4, 40], [5, 80]]) {
		const before = newMatch(EASY);
		if (play(before, seed, decisions).score) continue;
		for (const [kind, intent] of forbidden(before)) {
			assert.equal(ACTIONS.some(action => action.kind === kind && isLegal(before.seats[0], action)), false, kind);
			const hashes = [intent, null].map(each => {
				const match = newMatch(EASY);
				play(match, seed, decisions);
				const execution = each === null ? null : match.world.execution(0, each);
				for (let tick = 0; tick < 3; tick++) match.world.tick(tick === 0 && execution ? [execution] : []);
				return match.world.hash();
			});
			assert.equal(hashes[0], hashes[1], kind);
			tested.set(kind, (tested.get(kind) ?? 0) + 1);
		}
	}
	const kinds = ['build', 'spawn', 'upgrade', 'recall', 'retreat', 'extend', 'betray', 'reject'];
	assert.deepEqual([...tested.keys()].sort(), [...kinds].sort(), 'each kind was forbidden at some time');
});

/** Return [kind, intent] of actions that the mask forbids at this moment, whatever their rival. */
function forbidden({ world, seats: [seat] }) {
	const tile = [...seat.player.tiles()][0];
	const recipient = world.game.allPlayers().find(player => player.type() === core.PlayerType.Nation).id();
	const all = [
		['build', { type: 'build_unit', unit: 'Missile Silo', tile }],
		['spawn', { type: 'spawn', tile: seat.places[1] }],
		['upgrade', { type: 'upgrade_structure', unit: 'City', unitId: 424242 }],
		['recall', { type: 'cancel_boat', unitID: 424242 }],
		['retreat', { type: 'cancel_attack', attackID: 'AAAAAAAA' }],
		['extend', { type: 'allianceExtension', recipient }],
		['betray', { type: 'breakAlliance', recipient }],
		['reject', { type: 'allianceReject', requestor: recipient }],
	];
	return all.filter(([kind]) => !ACTIONS.some(action => action.kind === kind && isLegal(seat, action)));
}

test('no action that the mask forbids becomes an intent', async () => {
	const match = newMatch({ ...EASY, feature_set: 'summary' });
	const leaves = leavesOf({ ...DEFAULTS, feature_set: 'summary' });
	const spec = { name: 'openfront', seats: 1, actions: ACTIONS.length, schema: 1, obs: leaves, newMatch: () => match };
	const host = new TurnHost({ options: {}, setUp: () => spec }, () => {}, () => {});
	await host.configure(Buffer.from(JSON.stringify({ protocol: 2, matches: 1, options: {}, seed: 6, schedule: null })));
	const random = new SplitMix(6);
	const refused = new Set();
	for (let i = 0; i < 60 && host.slots[0].number === 0; i++) {
		const hash = match.world.hash();
		match.world.execution = () => assert.fail('an intent was made');
		const { mask } = match.seats[0];
		for (const [at, { kind }] of ACTIONS.entries()) {
			if (mask[at]) continue;
			assert.throws(() => host.choose(host.slots[0], 0, at), ProtocolError, kind);
			refused.add(kind);
		}
		assert.equal(match.world.hash(), hash);
		delete match.world.execution;
		host.owed++; // as for a frame of one choice
		host.choose(host.slots[0], 0, chosen({ seats: [0], legal: [mask] }, random)[0]);
		host.settleNow();
	}
	assert.deepEqual([...refused].sort(), [...KINDS].sort(), 'each kind was forbidden at some time');
});

test('an attack is illegal without a common border, where the core would take the troops', () => {
	let checked = 0;
	play(newMatch({ nations: 2 }), 8, 60, match => {
		const [seat] = match.seats;
		if (match.world.game.inSpawnPhase() || !seat.isAlive) return;
		for (const action of ACTIONS) {
			if (action.kind !== 'attack' || action.rival < 1 || action.rival > seat.rivals.length) continue;
			const rival = seat.rivals[action.rival - 1];
			const may = seat.player.sharesBorderWith(rival) && seat.player.canAttackPlayer(rival) && seat.player.troops() >= 10;
			assert.equal(isLegal(seat, action), may);
			checked++;
		}
	});
	assert.ok(checked > 200);
});

test('an intent that the schema refuses never reaches the game', () => {
	const { world } = newMatchStarted();
	assert.equal(world.execution(0, { type: 'attack', targetID: null, troops: NaN }), null);
	assert.equal(world.execution(0, { type: 'build_unit', unit: 'Castle', tile: 4 }), null);
	assert.equal(world.execution(0, { type: 'boat', dst: 1.5, troops: 10 }), null);
	assert.equal(world.refused, 3);
});

test('a careful player has no ignored attacks, boats or structures', () => {
	let decisions = 0;
	for (let seed = 20; seed < 26; seed++) {
		const { facts } = play(newMatch({ max_minutes: 5 }), seed, 5000);
		assert.deepEqual([facts.ignored_attacks, facts.ignored_boats, facts.ignored_builds], [0, 0, 0]);
		assert.equal(facts.refused_intents, 0);
		decisions += facts.turns;
	}
	assert.ok(decisions > 300);
});
