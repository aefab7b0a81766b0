'use strict';
// Parts of the engine speed-up that a comparison of whole battles would not single out.

const assert = require('node:assert/strict');
const path = require('node:path');
const { test } = require('node:test');
const { HOST, SplitMix, sim, startBattle } = require('./simulator.js');
const { createCopy } = require(path.join(HOST, 'engine/copies.js'));

require(path.join(HOST, 'engine.js')).speedUp(process.env.LUDUS_TEST_SIMULATOR);

test('a copy of a move table equals a deep clone and shares nothing with it', () => {
	const dex = sim.Dex.mod('gen9');
	for (const move of dex.moves.all()) {
		for (const key of Object.keys(move)) {
			if (typeof move[key] !== 'object' || move[key] === null) continue;
			const copy = createCopy(move[key], dex.deepClone);
			const first = copy();
			assert.deepStrictEqual(first, dex.deepClone(move[key]), `${move.id}.${key}`);
			assert.notEqual(first, copy(), `${move.id}.${key}`);
			assert.notEqual(first, move[key], `${move.id}.${key}`);
		}
	}
});

test('requests share the entry of an unchanged Pokemon and describe a changed one anew', () => {
	const { sides: [side] } = startBattle('gen9randombattle', new SplitMix(1));
	const [active, benched] = side.pokemon;
	const before = side.getRequestData().pokemon;
	assert.equal(side.getRequestData().pokemon[1], before[1]);
	const told = JSON.stringify(before[1]);
	benched.hp--;
	benched.status = 'par';
	active.moveSlots[0] = { ...active.moveSlots[0], id: 'splash' };
	const after = side.getRequestData().pokemon;
	assert.equal(after[1].condition, `${benched.hp}/${benched.maxhp} par`);
	assert.equal(after[0].moves[0], 'splash');
	assert.equal(JSON.stringify(before[1]), told);
	assert.equal(after[2], before[2]);
});

test('an entry that follows another has the same moves and stats in it until these change', () => {
	const { sides: [side] } = startBattle('gen9randombattle', new SplitMix(5));
	const [, benched] = side.pokemon;
	const [, before] = side.getRequestData().pokemon;
	benched.hp--;
	const [, hurt] = side.getRequestData().pokemon;
	assert.notEqual(hurt, before);
	assert.equal(hurt.moves, before.moves);
	assert.equal(hurt.stats, before.stats);
	assert.deepEqual({ ...hurt, condition: before.condition }, before);
	benched.baseStoredStats = { ...benched.baseStoredStats, spe: 1 };
	benched.moveSlots = benched.moveSlots.slice(1);
	const [, changed] = side.getRequestData().pokemon;
	assert.equal(changed.stats.spe, 1);
	assert.deepEqual(changed.moves, benched.moveSlots.map(slot => slot.id));
	assert.notEqual(before.stats.spe, 1);
});

test('a request tells what it has and nothing else', () => {
	const battle = startBattle('gen1randombattle', new SplitMix(6));
	const told = request => Object.keys(JSON.parse(JSON.stringify(request)));
	assert.deepEqual(battle.getRequests('move').map(told), [['active', 'side'], ['active', 'side']]);
	battle.sides[1].active[0].switchFlag = true;
	assert.deepEqual(battle.getRequests('switch').map(told), [['wait', 'side'], ['forceSwitch', 'side', 'noCancel']]);
});

test('actions of all kinds have one layout', () => {
	const battle = startBattle('gen1randombattle', new SplitMix(7));
	const [{ active: [pokemon], pokemon: [, benched] }] = battle.sides;
	const { queue } = battle;
	assert.equal(battle.sides[0].choose('move 1'), true);
	const kinds = [
		battle.sides[0].choice.actions[0], { choice: 'switch', pokemon, target: benched }, { choice: 'runSwitch', pokemon },
		{ choice: 'beforeTurn' }, { choice: 'residual' },
	];
	const [first, ...others] = kinds.map(action => Object.keys(queue.resolveAction(action)[0]));
	for (const keys of others) assert.deepEqual(keys, first);
});

test('numbers are cut off after as many bits as asked for', () => {
	const { trunc } = sim.Dex;
	for (const number of [0, 0.5, 1, 255.9, 256, 8191, 8192.5, 2 ** 31, 2 ** 32 - 1, 2 ** 40 + 3, -1, -8193]) {
		assert.equal(trunc(number), number >>> 0);
		for (let bits = 1; bits <= 32; bits++) assert.equal(trunc(number, bits), (number >>> 0) % 2 ** bits);
	}
});

test('a whole spread of stats is what each stat by itself comes to', () => {
	const battle = startBattle('gen9randombattle', new SplitMix(8));
	const { baseStats } = battle.sides[0].pokemon[0].species;
	const stats = Object.keys(baseStats);
	const spread = (iv, ev) => ({
		ivs: Object.fromEntries(stats.map((stat, i) => [stat, iv + i])),
		evs: Object.fromEntries(stats.map(stat => [stat, ev])),
	});
	for (const nature of [undefined, '', 'Serious', 'Adamant', 'timid']) {
		const set = { ...spread(11, 85), level: 83, nature };
		const alone = stats.map(stat => [stat, battle.statModify(baseStats, set, stat)]);
		assert.deepEqual(battle.spreadModify(baseStats, set), Object.fromEntries(alone));
	}
});

test('stand-ins for a move are made once and cannot be written to, other unknown moves are made anew', () => {
	const { moves } = sim.Dex.mod('gen1');
	assert.equal(moves.get('fight'), moves.get('fight'));
	assert.equal(moves.get('fight').exists, false);
	assert.throws(() => { moves.get('fight').name = 'x'; }, TypeError);
	assert.notEqual(moves.get('nosuchmove'), moves.get('nosuchmove'));
});

test('a move that is out of PP is refused, one that is not is chosen', () => {
	const { sides: [side] } = startBattle('gen1randombattle', new SplitMix(2));
	side.active[0].moveSlots[0].pp = 0;
	assert.equal(side.choose('move 1'), false);
	assert.match(side.choice.error, /is disabled/);
	assert.equal(side.choose('move 2'), true);
	assert.equal(side.choice.actions[0].moveid, side.active[0].moveSlots[1].id);
});

test('a Pokemon that faints after Terastallizing is told apart by nothing', () => {
	const battle = startBattle('gen9randombattle', new SplitMix(3));
	const [pokemon] = battle.sides[0].active;
	battle.actions.terastallize(pokemon);
	assert.ok(battle.sides[0].getRequestData().pokemon[0].terastallized);
	pokemon.faint();
	battle.faintMessages();
	assert.equal(pokemon.terastallized, undefined);
	assert.equal('terastallized' in JSON.parse(JSON.stringify(battle.toJSON())).sides[0].pokemon[0], false);
});

test('a line is its parts joined, once for everybody or once for a side and once for the others', () => {
	const battle = startBattle('gen1randombattle', new SplitMix(4));
	const [pokemon] = battle.sides[0].active;
	const told = () => ({ side: 'p1', secret: '7/9', shared: '78/100' });
	const lines = (...parts) => {
		const before = battle.log.length;
		battle.add(...parts);
		return battle.log.slice(before);
	};
	const name = `p1a: ${pokemon.name}`;
	assert.deepEqual(lines(), ['|']);
	assert.deepEqual(lines(''), ['|']);
	assert.deepEqual(lines('a', null, 3, undefined, pokemon, false), [`|a||3||${name}|false`]);
	assert.deepEqual(lines('a', told, 'b'), ['|split|p1', '|a|7/9|b', '|a|78/100|b']);
	assert.deepEqual(lines('a', told, told), ['|split|p1', '|a|7/9|7/9', '|a|78/100|78/100']);
	const many = Array.from({ length: 40 }, (_, i) => i);
	assert.deepEqual(lines(...many), [`|${many.join('|')}`]);
	pokemon.isActive = false;
	assert.deepEqual(lines(pokemon), [`|p1: ${pokemon.name}`]);
});
