'use strict';
// Search: positions read from rows, copies of battles, and that nothing hidden can reach a decision.

const assert = require('node:assert/strict');
const path = require('node:path');
const { test } = require('node:test');
const { HOST, actionSetOf, legalActions, sim } = require('./simulator.js');

const ROOT = process.env.LUDUS_TEST_SIMULATOR;
const { setUp } = require(path.join(HOST, 'setup.js'));
const { View } = require(path.join(HOST, 'observe.js'));
const { battleCopier } = require(path.join(HOST, 'search', 'copying.js'));
const { SearchProcess } = require(path.join(HOST, 'search', 'process.js'));
const { State } = require(path.join(ROOT, 'dist', 'sim', 'state.js'));
const { Setting, randomFrom } = require('./battles.js');

const FORMATS = ['gen1randombattle', 'gen4randombattle', 'gen9randombattle'];
const FOREVER_MS = 1e6;
const EXACT = ['species', 'ability', 'item', 'types', 'boosts', 'volatiles', 'field'];
const ITEM_BYTES = { uint8: 1, int8: 1, uint16: 2, fixed8: 1, fixed16: 2 };

function started(format) {
	const searching = new SearchProcess(ROOT);
	searching.answer({ kind: 'start', options: { format } }, new Uint8Array(0));
	return searching;
}

function rowOf(view, observer, seat, request) {
	const row = new Uint8Array(new ArrayBuffer(observer.nbytes));
	view.encode(seat, request, row, 0);
	return row;
}

/** Plays one battle with random choices and calls `look` with a row and its legal actions, some of the time. */
function watch(format, seed, look, share = 0.3) {
	const setting = new Setting(ROOT, format);
	const random = randomFrom(seed);
	setting.play(seed, (battle, view, seat, request) => {
		if (random() > share) return;
		const legal = legalActions(setting.actionSet, request);
		if (legal.length > 1) look(rowOf(view, setting.observer, seat, request), legal, { battle, view, seat, setting });
	}, { maxTurns: 40 });
}

for (const format of FORMATS) {
	test(`the world of a row shows that row again, ${format}`, () => {
		const { searcher } = started(format);
		const random = randomFrom(5);
		const { observer } = searcher;
		let rows = 0;
		let wrong = 0;
		for (const seed of [1, 2, 3]) {
			watch(format, seed, (row, legal) => {
				searcher.draw(row, legal, 1, random, () => true);
				assert.equal(searcher.worlds.length, 1);
				const [{ battle, tracker }] = searcher.worlds;
				const view = new View(observer, battle, tracker);
				const again = rowOf(view, observer, 0, battle.sides[0].activeRequest);
				rows++;
				for (const [name, dtype, shape] of observer.leaves()) {
					const from = observer.offsets[name];
					const to = from + shape.reduce((a, b) => a * b, 1) * ITEM_BYTES[dtype];
					if (EXACT.includes(name)) assert.deepEqual(again.subarray(from, to), row.subarray(from, to), name);
					for (let i = from; i < to; i++) if (row[i] !== again[i]) wrong++;
				}
			});
		}
		assert.ok(rows > 15, `${rows} rows`);
		assert.ok(wrong < 0.01 * rows * observer.nbytes, `${wrong} bytes of ${rows} rows are wrong`);
		assert.equal(searcher.failures, 0);
	});

	test(`a copy plays like the battle it was made from, which it leaves alone, ${format}`, () => {
		setUp(ROOT, { format }, false);
		const load = file => require(path.join(ROOT, 'dist', 'sim', `${file}.js`));
		const files = ['battle', 'side', 'pokemon', 'field', 'battle-queue', 'battle-actions', 'prng'];
		const copyBattle = battleCopier(Object.assign({}, ...files.map(load)));
		const actionSet = actionSetOf(format);
		const random = randomFrom(3);
		const battle = new sim.Battle({ formatid: format, seed: [3, 5, 7, 9], strictChoices: false, send() {} });
		for (const id of ['p1', 'p2']) battle.setPlayer(id, { name: id, seed: [4, 6, 8, id === 'p1' ? 1 : 2] });
		for (let turn = 0; turn < 30 && !battle.ended; turn++) {
			const choices = battle.sides.map(side => choiceOf(actionSet, side, random));
			const before = stateOf(battle);
			const copy = copyBattle(battle);
			if (!choices.every((choice, i) => choice === null || copy.choose(battle.sides[i].id, choice))) continue;
			assert.equal(stateOf(battle), before);
			choices.forEach((choice, i) => choice === null || battle.choose(battle.sides[i].id, choice));
			assert.equal(stateOf(copy), stateOf(battle));
		}
		assert.ok(battle.turn > 10);
	});
}

function choiceOf(actionSet, side, random) {
	const request = side.activeRequest;
	if (!request || request.wait) return null;
	const legal = legalActions(actionSet, request);
	return actionSet.choice(request, legal[Math.floor(random() * legal.length)]);
}

/** Everything of a battle but what was said: logs, and requests, which a copy shares. */
function stateOf(battle) {
	const state = State.serializeBattle(battle);
	const said = ['log', 'inputLog', 'messageLog', 'sentLogPos', 'lastMoveLine', 'hints', 'sentRequests'];
	for (const key of said) delete state[key];
	return JSON.stringify(state, (key, value) => value === null || key === 'effectOrder' ? undefined : value);
}

test('what is hidden cannot change what search finds', () => {
	const setting = new Setting(ROOT, 'gen9randombattle');
	const searching = started('gen9randombattle');
	const weigh = (row, legal) => searching.answer(
		{ kind: 'weigh', seed: 7, worlds: 2, legal, budget_ms: FOREVER_MS }, row)[0];
	let decisions = 0;
	let differing = 0;
	for (const seed of [1, 2, 3, 4]) {
		const battles = setting.startTwins(seed); // the foe's bench differs
		const views = battles.map(battle => new View(setting.observer, battle));
		const random = randomFrom(seed);
		for (let turn = 0; turn < 3; turn++) {
			views.forEach(view => view.read());
			const requests = battles.map(battle => battle.sides[0].activeRequest);
			const rows = views.map((view, i) => rowOf(view, setting.observer, 0, requests[i]));
			if (JSON.stringify(requests[0]) !== JSON.stringify(requests[1]) || requests[0].wait) break;
			if (Buffer.compare(rows[0], rows[1]) !== 0) break; // the foe has switched: no longer hidden
			const legal = legalActions(setting.actionSet, requests[0]);
			if (legal.length > 1) {
				const found = rows.map(row => weigh(row, legal));
				assert.deepEqual(found[0], { ...found[1], failures: found[0].failures });
				assert.ok(found[0].cells.length > 0);
				decisions++;
				rows[0][setting.observer.offsets.species + 12] ^= 1; // the negative control: another active foe is seen
				if (JSON.stringify(weigh(rows[0], legal).cells) !== JSON.stringify(found[1].cells)) differing++;
			}
			for (const seat of [0, 1]) {
				const { activeRequest: request, id } = battles[0].sides[seat];
				if (!request || request.wait) continue;
				const choice = setting.pick(request, random, seat === 1);
				for (const battle of battles) battle.choose(id, choice);
			}
			if (battles.some(battle => battle.ended)) break;
		}
	}
	assert.ok(decisions >= 4, `${decisions} decisions`);
	assert.ok(differing >= decisions / 2, 'a row that differs must be able to change what is found');
});

test('a search without time finds nothing, and says so', () => {
	const searching = started('gen1randombattle');
	watch('gen1randombattle', 2, (row, legal) => {
		const [answer] = searching.answer({ kind: 'weigh', seed: 1, worlds: 3, legal, budget_ms: -1 }, row);
		assert.deepEqual([answer.own, answer.cells], [[], []]);
	}, 0.1);
});

test('rows of worlds and of what they lead to have the size that was announced', () => {
	const searching = started('gen9randombattle');
	const { nbytes } = searching.searcher.observer;
	watch('gen9randombattle', 4, (row, legal) => {
		const question = { kind: 'worlds', seed: 9, count: 2, legal, budget_ms: FOREVER_MS };
		const [worlds, rows] = searching.answer(question, row);
		assert.equal(rows[0].length, worlds.legal.length * nbytes);
		const own = legal.slice(0, 2);
		const foe = worlds.legal.map(actions => actions.slice(0, 2));
		const [leaves, more] = searching.answer({ kind: 'expand', own, foe, budget_ms: FOREVER_MS }, new Uint8Array(0));
		assert.equal(leaves.cells.length, foe.reduce((sum, actions) => sum + own.length * Math.max(1, actions.length), 0));
		assert.equal(more[0].length, leaves.cells.filter(([, , , sign]) => sign !== 0).length * nbytes);
	}, 0.1);
});
