'use strict';
// The mask against recorded requests, against requests made up for rare cases, and against the simulator itself.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { SplitMix, actionSetOf, legalActions, sim, startBattle, waitsFor } = require('./simulator.js');

const RECORDED = path.join(__dirname, '../data/showdown-requests');

test('every recorded request allows what was written down for it', () => {
	const expected = JSON.parse(fs.readFileSync(path.join(RECORDED, 'expected.json'), 'utf8'));
	assert.equal(Object.keys(expected).length, 57);
	for (const [file, wanted] of Object.entries(expected)) {
		const { _format, request } = JSON.parse(fs.readFileSync(path.join(RECORDED, file), 'utf8'));
		const actionSet = actionSetOf(_format);
		const texts = legalActions(actionSet, request).map(action => actionSet.choice(request, action));
		if (Array.isArray(wanted)) {
			assert.deepEqual(texts, wanted, file);
		} else if (wanted.pairs === undefined) {
			assert.deepEqual({ count: texts.length, first: texts[0], last: texts.at(-1) }, wanted, file);
		} else {
			const [left, right] = [0, 1].map(slot => [...new Set(texts.map(text => text.split(', ')[slot]))]);
			assert.deepEqual({ left, right, pairs: texts.length }, wanted, file);
		}
	}
});

// -- requests made up for what seldom happens

const benched = (...conditions) => conditions.map(condition => ({ condition }));
const HEALTHY = '100/100';
const FAINTED = '0 fnt';
const tackle = { move: 'Tackle', id: 'tackle', pp: 5, maxpp: 5, target: 'normal', disabled: false };

function textsOf(formatId, request) {
	const actionSet = actionSetOf(formatId);
	return legalActions(actionSet, request).map(action => actionSet.choice(request, action));
}

test('a commanding Pokemon passes', () => {
	const [first, ...rest] = benched(HEALTHY, HEALTHY);
	const pokemon = [{ ...first, commanding: true }, ...rest];
	const request = { active: [{ moves: [tackle] }, { moves: [tackle] }], side: { pokemon } };
	const texts = textsOf('gen9randomdoublesbattle', request);
	assert.deepEqual(texts, ['pass, move 1 +1', 'pass, move 1 +2', 'pass, move 1 -1']);
});

test('a reviver names the fainted, and its partner still gets the one replacement left', () => {
	const pokemon = benched(HEALTHY, FAINTED, FAINTED, HEALTHY);
	pokemon[0].reviving = true;
	const request = { forceSwitch: [true, true], side: { pokemon } };
	assert.deepEqual(textsOf('gen9randomdoublesbattle', request), ['switch 2, pass', 'switch 3, pass']);
	pokemon.push({ condition: HEALTHY });
	const texts = textsOf('gen9randomdoublesbattle', request);
	assert.deepEqual(texts, ['switch 2, switch 4', 'switch 2, switch 5', 'switch 3, switch 4', 'switch 3, switch 5']);
});

test('a reviver with an empty bench may not pass', () => {
	const pokemon = benched(HEALTHY, HEALTHY, FAINTED);
	pokemon[1].reviving = true;
	const request = { forceSwitch: [false, true], side: { pokemon } };
	assert.deepEqual(textsOf('gen9randomdoublesbattle', request), ['pass, switch 3']);
});

test('one side mega evolves once, yet an ultra burst may go beside it', () => {
	const side = { pokemon: benched(HEALTHY, HEALTHY) };
	const self = { ...tackle, target: 'self' };
	const both = { active: [{ moves: [self], canMegaEvo: true }, { moves: [self], canMegaEvo: true }], side };
	assert.deepEqual(textsOf('gen7doublesou', both), ['move 1, move 1', 'move 1, move 1 mega', 'move 1 mega, move 1']);
	const mixed = { active: [{ moves: [self], canMegaEvo: true }, { moves: [self], canUltraBurst: true }], side };
	assert.deepEqual(textsOf('gen7doublesou', mixed).at(-1), 'move 1 mega, move 1 ultra');
});

test('Z-moves and Max Moves bring their own targets and ignore that the move is disabled', () => {
	const side = { pokemon: benched(HEALTHY, FAINTED) };
	const disabled = { ...tackle, disabled: true };
	const status = { ...tackle, target: 'self' };
	const canZMove = [{ move: 'Breakneck Blitz', target: 'normal' }, null];
	const zMove = { active: [{ moves: [disabled, status], canZMove }, { moves: [] }], side };
	assert.deepEqual(textsOf('gen7doublesou', zMove), [
		'move 2, pass', 'move 1 +1 zmove, pass', 'move 1 +2 zmove, pass', 'move 1 -2 zmove, pass']);
	const maxMoves = [{ move: 'maxstrike', target: 'adjacentFoe' }, { move: 'maxguard', target: 'self', disabled: true }];
	const dynamaxing = { moves: [disabled, status], canDynamax: true, maxMoves: { maxMoves } };
	const before = textsOf('gen8doublesou', { active: [dynamaxing, { moves: [] }], side });
	assert.deepEqual(before, ['move 2, pass', 'move 1 +1 dynamax, pass', 'move 1 +2 dynamax, pass']);
	const after = { active: [{ moves: [tackle, disabled], maxMoves: { maxMoves } }, { moves: [] }], side };
	assert.deepEqual(textsOf('gen8doublesou', after), ['move 1 +1, pass', 'move 1 +2, pass']);
});

test('a move for an ally or oneself can be aimed at either', () => {
	const acupressure = { ...tackle, target: 'adjacentAllyOrSelf' };
	const pokemon = benched(HEALTHY, HEALTHY);
	const request = { active: [{ moves: [acupressure] }, { moves: [acupressure] }], side: { pokemon } };
	assert.deepEqual(textsOf('gen9doublesou', request), [
		'move 1 -1, move 1 -1', 'move 1 -1, move 1 -2', 'move 1 -2, move 1 -1', 'move 1 -2, move 1 -2',
	]);
});

test('small teams get each preview once', () => {
	const preview = size => ({ teamPreview: true, side: { pokemon: Array(size).fill({ condition: HEALTHY }) } });
	assert.equal(textsOf('gen9vgc2025regi', preview(6)).length, 90);
	assert.equal(textsOf('gen9vgc2025regi', preview(5)).length, 30);
	assert.deepEqual(textsOf('gen9vgc2025regi', preview(3)), ['team 1,2,3', 'team 1,3,2', 'team 2,3,1']);
	assert.equal(textsOf('gen9doublesou', preview(6)).length, 15);
	assert.equal(textsOf('gen9bssfactory', preview(6)).length, 60);
	assert.deepEqual(textsOf('gen9ou', preview(2)), ['team 1', 'team 2']);
});

// -- the simulator as the judge

const teamsFrom = formatId => random =>
	sim.Teams.pack(sim.Teams.getGenerator(formatId, random.nextBattleSeed()).getTeam());
const JUDGED = [
	{ format: 'gen1randombattle', battles: 3 },
	{ format: 'gen2randombattle', battles: 2 },
	{ format: 'gen3randombattle', battles: 2 },
	{ format: 'gen4randombattle', battles: 2 },
	{ format: 'gen5randombattle', battles: 2 },
	{ format: 'gen6randombattle', battles: 2 },
	{ format: 'gen7randombattle', battles: 3 },
	{ format: 'gen8randombattle', battles: 3 },
	{ format: 'gen9randombattle', battles: 3 },
	{ format: 'gen9randomdoublesbattle', battles: 3 },
	{ format: 'gen9ou', battles: 1, teams: teamsFrom('gen9randombattle') },
	{ format: 'gen9vgc2025regi', battles: 2, teams: teamsFrom('gen9randomdoublesbattle') },
	{ format: 'gen3doublescustomgame', battles: 1, teams: teamsFrom('gen3randombattle') },
	{ format: 'gen6doublescustomgame', battles: 1, teams: teamsFrom('gen6randombattle') },
	{ format: 'gen7doublescustomgame', battles: 2, teams: teamsFrom('gen7randombattle') },
	{ format: 'gen8doublescustomgame', battles: 2, teams: teamsFrom('gen8randombattle') },
	{ format: 'gen9nationaldexdoubles', battles: 1, teams: teamsFrom('gen7randombattle') },
];
const TIMES = Number(process.env.LUDUS_TEST_TIMES ?? 1); // as many battles
const TURNS = 80;
const TRIED_INSIDE = 60; // actions of a state
const TRIED_OUTSIDE = 60;

for (const { format, battles, teams } of JUDGED) {
	test(`${format}: the simulator takes what the mask allows and refuses what it does not`, () => {
		const seen = judge(format, TIMES * battles, teams);
		assert.ok(seen.inside > 200, `only ${seen.inside} allowed actions tried`);
		assert.ok(seen.outside > 200, `only ${seen.outside} forbidden actions tried`);
	});
}

function judge(format, battles, teams) {
	const actionSet = actionSetOf(format);
	const random = new SplitMix(20);
	const seen = { inside: 0, outside: 0 };
	for (let i = 0; i < battles; i++) {
		const battle = startBattle(format, random, teams);
		while (!battle.ended && battle.turn <= TURNS) {
			battle.sentLogPos = battle.log.length;
			const side = battle.sides.find(waitsFor);
			const legal = legalActions(actionSet, side.activeRequest);
			assert.ok(legal.length > 0, JSON.stringify(side.activeRequest));
			if (random.nextBelow(3) > 0) judgeState(battle, side, actionSet, legal, random, seen);
			const request = side.activeRequest;
			request.update = false;
			const text = actionSet.choice(request, legal[random.nextBelow(legal.length)]);
			assert.ok(battle.choose(side.id, text) || request.update, `${text}: ${side.choice.error}`);
		}
	}
	return seen;
}

function judgeState(battle, side, actionSet, legal, random, seen) {
	const asked = JSON.stringify(side.activeRequest);
	for (const action of sample(legal, TRIED_INSIDE, random)) {
		const text = actionSet.choice(side.activeRequest, action);
		const answer = trial(battle, side, asked, text);
		assert.ok(answer === 'taken' || answer === 'hidden', `${text}: ${answer} ${JSON.stringify(side.activeRequest)}`);
		seen.inside++;
	}
	const allowed = new Set(legal);
	const forbidden = Array.from({ length: actionSet.size }, (_, action) => action).filter(action => !allowed.has(action));
	for (const action of sample(forbidden, TRIED_OUTSIDE, random)) {
		const request = side.activeRequest;
		if (action >= actionSet.joint || request.teamPreview) continue; // says nothing else than a preview
		const text = actionSet.choice(request, action);
		if (repeats(request, text)) continue;
		assert.notEqual(trial(battle, side, asked, text), 'taken', `${text} ${JSON.stringify(request)}`);
		seen.outside++;
	}
}

/** What the simulator would answer; everything that asking changes is put back, the request from its text. */
function trial(battle, side, asked, text) {
	const keys = ['maybeDisabled', 'maybeLocked', 'maybeTrapped', 'trapped', 'switchFlag'];
	const actives = side.active.filter(Boolean); // nobody is out during the preview
	const flags = actives.map(pokemon => keys.map(key => pokemon[key]));
	const seed = battle.prng.getSeed();
	side.activeRequest.update = false;
	side.choice.cantUndo = false;
	let answer;
	try {
		if (side.choose(text) && side.isChoiceDone()) answer = 'taken';
		else answer = side.activeRequest.update ? 'hidden' : side.choice.error;
	} catch (error) {
		answer = error.message;
	}
	battle.prng.setSeed(seed);
	side.activeRequest = JSON.parse(asked);
	for (const [i, pokemon] of actives.entries()) keys.forEach((key, k) => { pokemon[key] = flags[i][k]; });
	side.clearChoice();
	return answer;
}

/**
 * True for texts the simulator takes although they say the same as an allowed one: it drops "mega" and its like where
 * the move is locked, and "dynamax" where the Pokemon is dynamaxed already.
 */
function repeats(request, text) {
	if (!request.active) return false;
	return text.split(', ').some((part, slot) => {
		const active = request.active[slot];
		const locked = active && active.moves.length === 1;
		const dynamaxed = active && active.maxMoves && !active.canDynamax;
		return (locked && / (mega|zmove|dynamax|terastallize)$/.test(part)) || (dynamaxed && part.endsWith(' dynamax'));
	});
}

function sample(items, count, random) {
	if (items.length <= count) return items;
	return Array.from({ length: count }, () => items[random.nextBelow(items.length)]);
}
