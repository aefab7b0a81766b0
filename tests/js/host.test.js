'use strict';
// The host's main object, driven by frames, with faults put into single battles.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const { HOST, HOSTING, SplitMix, sim } = require('./simulator.js');
const { actionsOf, decoded } = require('./spoken.js');
const { FrameReader, ProtocolError } = require(path.join(HOSTING, 'frames.js'));
const { Host, RUN_TOGETHER } = require(path.join(HOST, 'host.js'));
const { matchSeed } = require(path.join(HOSTING, 'seeds.js'));
const { loadTeams, splitTeams } = require(path.join(HOST, 'teams.js'));

/** A host whose frames are collected instead of written. */
class Driven {
	constructor({ matches = 2, options = {}, ...rest } = {}) {
		this.frames = [];
		this.logged = '';
		this.random = new SplitMix(4);
		const log = text => { this.logged += text; };
		this.host = new Host(process.env.LUDUS_TEST_SIMULATOR, pieces => this.collect(pieces), log);
		const message = { protocol: 2, matches, seed: 9, schedule: null, keep_log: false, ...rest };
		this.host.configure(Buffer.from(JSON.stringify({ ...message, options: { feature_set: 'raw', ...options } })));
	}

	collect(pieces) {
		const reader = new FrameReader();
		for (const piece of pieces) reader.push(piece);
		for (let frame = reader.next(); frame; frame = reader.next()) this.frames.push(decoded(frame, this.host));
	}

	take() {
		return this.frames.splice(0);
	}

	/** Answer rows with random legal actions, in one frame. */
	answer(rows) {
		const body = actionsOf(rows, legal => legal[this.random.nextBelow(legal.length)]);
		this.host.act(body);
	}
}

const rowsOf = frames => frames.flatMap(frame => frame.rows ?? []);

test('a host says hello, opens its matches and answers every actions frame with one last arrivals frame', () => {
	const driven = new Driven({ matches: 3 });
	const [hello, ...opening] = driven.take();
	assert.equal(hello.frame, 'HELLO');
	assert.equal(hello.actions, 10);
	assert.deepEqual(opening.map(frame => frame.done), [true]);
	let waiting = rowsOf(opening);
	assert.deepEqual(waiting.map(row => row.row), [0, 1, 2, 3, 4, 5]);
	for (let round = 0; round < 40; round++) {
		driven.answer(waiting);
		const frames = driven.take();
		assert.deepEqual(frames.filter(frame => frame.done).length, 1);
		assert.ok(frames.at(-1).done);
		waiting = rowsOf(frames);
	}
});

test('asked for two parts, half of the matches are sent ahead while the rest still runs', () => {
	const driven = new Driven({ matches: 4, parts: 2 });
	const opening = rowsOf(driven.take());
	driven.answer(opening);
	const frames = driven.take().filter(frame => frame.frame === 'ARRIVALS');
	const matchesOf = frame => new Set(frame.rows.map(row => row.row >> 1)).size;
	assert.deepEqual(frames.map(frame => [frame.done, matchesOf(frame)]), [[false, 2], [true, 2]]);
});

test('more matches than run together are all answered, whichever of their battles fail', () => {
	const matches = 2 * RUN_TOGETHER + 3;
	const driven = new Driven({ matches });
	const opening = rowsOf(driven.take());
	for (const slot of [0, RUN_TOGETHER, matches - 1]) {
		driven.host.slots[slot].view.read = () => {
			throw new Error('broken on purpose');
		};
	}
	driven.answer(opening);
	const frames = driven.take();
	const failed = frames.filter(frame => frame.frame === 'ERROR').map(frame => frame.slot);
	assert.deepEqual(failed, [0, RUN_TOGETHER, matches - 1]);
	const slots = new Set(rowsOf(frames).map(row => row.row >> 1));
	assert.equal(slots.size, matches);
});

test('when one of two seats has chosen nothing arrives', () => {
	const driven = new Driven({ matches: 1 });
	const [first, second] = rowsOf(driven.take());
	driven.answer([second]);
	assert.deepEqual(driven.take(), [{ frame: 'ARRIVALS', done: true, rows: [] }]);
	driven.answer([first]);
	assert.ok(rowsOf(driven.take()).length > 0);
});

test('a battle that fails is reported and its slot goes on with the next match', () => {
	const driven = new Driven({ matches: 2 });
	const opening = rowsOf(driven.take());
	driven.host.slots[1].battle.choose = () => {
		throw new Error('broken on purpose');
	};
	driven.answer(opening);
	const frames = driven.take();
	const errors = frames.filter(frame => frame.frame === 'ERROR');
	assert.equal(errors.length, 1);
	assert.deepEqual(errors[0], { frame: 'ERROR', message: 'broken on purpose', kind: 'match', slot: 1, number: 1 });
	assert.match(driven.logged, /match 1 \(seed \d+\) failed: Error: broken on purpose/);
	assert.deepEqual(rowsOf(frames).filter(row => row.row >= 2).map(row => [row.row, row.match]), [[2, 2], [3, 2]]);
});

test('a failed battle waits for the other seat before its slot is used again', () => {
	const driven = new Driven({ matches: 1 });
	const [first, second] = rowsOf(driven.take());
	driven.host.slots[0].battle.choose = () => {
		throw new Error('broken on purpose');
	};
	driven.answer([first]);
	assert.deepEqual(driven.take(), [{ frame: 'ARRIVALS', done: true, rows: [] }]);
	driven.answer([second]);
	const frames = driven.take();
	assert.equal(frames[0].kind, 'match');
	assert.deepEqual(rowsOf(frames).map(row => [row.row, row.match]), [[0, 1], [1, 1]]);
});

test('a choice the simulator refuses for no hidden reason is a failed match', () => {
	const driven = new Driven({ matches: 1 });
	const opening = rowsOf(driven.take());
	driven.host.setup.actionSet.choice = () => 'switch 1';
	driven.answer(opening);
	assert.match(driven.take()[0].message, /refused a legal choice: Can't switch/);
	assert.match(driven.logged, /"switch 1" for \{"active"/);
});

test('an empty mask is a failed match, and a host whose matches all fail gives up', () => {
	const driven = new Driven({ matches: 1 });
	const opening = rowsOf(driven.take());
	driven.host.setup.actionSet.mask = () => 0;
	assert.throws(() => driven.answer(opening), /21 matches in a row failed, the last one: a request allows no action/);
});

test('rows that were not asked and actions out of range are refused', () => {
	const driven = new Driven({ matches: 1 });
	const opening = rowsOf(driven.take());
	assert.throws(() => driven.answer([{ row: 5, legal: [0] }]), ProtocolError);
	assert.throws(() => driven.answer([{ row: -1, legal: [0] }]), ProtocolError);
	assert.throws(() => driven.answer([{ row: 0, legal: [10] }]), /action 10, there are 10/);
	assert.throws(() => driven.answer([opening[0], opening[0]]), /was not asked/);
});

test('a schedule is played in order and then the slots stay empty', () => {
	const driven = new Driven({ matches: 2, schedule: [[40, 1], [30, 2], [20, 3]], options: { max_turns: 3 } });
	let waiting = rowsOf(driven.take());
	const endings = [];
	while (waiting.length) {
		driven.answer(waiting);
		const frames = driven.take();
		endings.push(...frames.filter(frame => frame.frame === 'ENDING'));
		waiting = rowsOf(frames);
	}
	assert.deepEqual(endings.map(ending => [ending.number, ending.seed]).sort(), [[20, 3], [30, 2], [40, 1]]);
	assert.deepEqual(driven.host.slots, [null, null]);
});

test('wrong options are refused with the nearest names', () => {
	const refused = (options, message) =>
		assert.throws(() => new Driven({ options }), { kind: 'configuration', message });
	refused({ format: 'gen1randombatle' }, /unknown format "gen1randombatle", did you mean gen1randombattle/);
	refused({ formatt: 'x' }, /unknown option formatt, did you mean format/);
	refused({ max_turns: 0 }, /max_turns must be an integer from 1, seen 0/);
	refused({ format: 'gen9multirandombattle' }, /it is multi/);
	refused({ format: 'gen2nc2000', teams: 'x' }, /depends on more than the request shows/);
	refused({ format: 'gen9ou' }, /needs teams/);
	refused({ format: 'gen9randombattle', teams: 'x' }, /makes its own teams/);
});

test('the seeds of matches are those of the Python side', () => {
	// ludus.wire.seeds.match_seed, seen for the same arguments
	const seeds = [matchSeed(0, 0), matchSeed(1, 2), matchSeed(2 ** 53 - 1, 7)];
	assert.deepEqual(seeds, [7956156453446585, 8746015278458442, 1722792280269135]);
});

// -- teams

const folder = files => {
	const made = fs.mkdtempSync(path.join(os.tmpdir(), 'teams-'));
	process.on('exit', () => fs.rmSync(made, { recursive: true }));
	for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(made, name), text);
	return made;
};
const gen9ou = sim.Dex.formats.get('gen9ou');
const TING_LU = 'Ting-Lu @ Leftovers\nAbility: Vessel of Ruin\nEVs: 252 HP\n- Earthquake\n- Spikes\n';

test('a file may hold an export, packed lines or a backup of several teams', () => {
	assert.equal(splitTeams(TING_LU).length, 1);
	assert.deepEqual(splitTeams('A|||x\n\nB|||y\n').map(team => team.text), ['A|||x', 'B|||y']);
	const [packed] = splitTeams('gen9ou]Mine|A|||x');
	assert.deepEqual([packed.format, packed.title, packed.text], ['gen9ou', 'Mine', 'A|||x']);
	const backup = splitTeams(`=== [gen9ou] One ===\r\n\r\n${TING_LU}\r\n=== [gen8ou] Two ===\n${TING_LU}`);
	assert.deepEqual(backup.map(team => [team.format, team.title]), [['gen9ou', 'One'], ['gen8ou', 'Two']]);
	assert.deepEqual(splitTeams(' \n'), []);
});

test('packed and exported teams come out the same', () => {
	const exported = loadTeams(folder({ 'a.txt': TING_LU }), gen9ou, sim);
	const packed = loadTeams(folder({ 'a.packed': `${exported[0]}\n${exported[0]}\n` }), gen9ou, sim);
	assert.deepEqual(packed, [exported[0], exported[0]]);
});

test('bad teams are refused with their file and the reasons of the validator', () => {
	const refused = (files, message) =>
		assert.throws(() => loadTeams(folder(files), gen9ou, sim), { kind: 'configuration', message });
	const surfer = TING_LU.replace('Earthquake', 'Surf');
	refused({ 'good.txt': TING_LU, 'bad.txt': surfer }, /bad\.txt: .*Ting-Lu can't learn Surf/);
	const two = `=== [gen9ou] A ===\n${TING_LU}\n=== [gen9ou] B ===\nMissingnooo\n- Surf\n`;
	refused({ 'two.txt': two }, /two\.txt, team 2 \(B\): /);
	refused({ 'empty.txt': '' }, /empty\.txt: no team in it/);
	refused({ 'notes.md': TING_LU }, /has no team; expected files ending in \.txt/);
	refused({ 'other.txt': `=== [gen8ou] A ===\n${TING_LU}` }, /1 teams in .* other formats/);
	assert.throws(() => loadTeams('/nowhere/at/all', gen9ou, sim), /cannot be read \(ENOENT\)/);
});
