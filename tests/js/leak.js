'use strict';
/**
 * Proves that observations hold nothing the player cannot know, at every decision of seeded battles:
 *   lived    the row of the view that has followed the battle;
 *   rebuilt  the row of a view that got nothing but the public lines and the seat's own requests, through JSON;
 *   retold   the same with every secret line replaced by nonsense;
 *   served   the row of a view that got the lines a server sends to that player: its own secret lines, else the public
 *            ones;
 *   anew     the row after the seat forgot which parts of its row were up to date;
 *   changed  the row of a view made after everything hidden in the live battle was changed (the foe's unseen Pokemon,
 *            moves, items, abilities, stats, tera types, exact HP), against that of one made before;
 *   twin     the row in a second real battle, same seed and choices, in which the foe has other Pokemon on the bench,
 *            for as long as the two public logs are equal.
 * All must be equal bytes. With LEAKY=hp|team|moves|item|speed|log, an observer is made to leak, and must be found.
 *
 * usage: node leak.js SIMULATOR FORMAT[:TEAMS_FROM] BATTLES [SEED]; prints one JSON object.
 */

const {Setting, View, randomFrom} = require('./battles');

class Proof {
	constructor(setting, leak) {
		this.setting = setting;
		this.leak = leak;
		this.decisions = 0;
		this.changes = 0;
		this.differences = {rebuilt: 0, retold: 0, served: 0, anew: 0, changed: 0, twin: 0};
		this.twins = 0;
		this.first = null;
		this.buffers = Array.from({length: 7}, () => new Uint8Array(setting.observer.nbytes + 16));
	}

	play(seed) {
		const random = randomFrom(seed + 99);
		const stories = [new Story(this.setting, 0), new Story(this.setting, 1)];
		this.setting.play(seed, (battle, view, seat, request) => {
			this.decisions++;
			const [lived, rebuilt, retold, served, anew, before, changed] = this.buffers;
			view.encode(seat, request, lived, 8);
			this.#plant(battle, seat, lived);
			stories[seat].continue(battle.log, request, [rebuilt, retold, served]);
			forget(view.seats[seat]);
			view.encode(seat, request, anew, 8);
			this.#plant(battle, seat, anew);
			this.#fresh(battle, seat, request, before);
			const undo = change(battle, view.tracker, seat, random);
			this.changes += undo.length;
			this.#fresh(battle, seat, request, changed);
			for (const restore of undo.reverse()) restore();
			this.#compare('rebuilt', lived, rebuilt, battle, seat);
			this.#compare('served', lived, served, battle, seat);
			this.#compare('anew', lived, anew, battle, seat);
			this.#compare('changed', before, changed, battle, seat);
			this.#compare('retold', lived, retold, battle, seat);
		});
	}

	/** A row by a view that meets the battle now: nothing is kept from before. */
	#fresh(battle, seat, request, row) {
		const view = new View(this.setting.observer, battle);
		view.read();
		view.encode(seat, request, row, 8);
		this.#plant(battle, seat, row);
	}

	/** Seat 0's rows in two battles that differ in seat 1's bench; seat 1 never switches of itself. */
	playTwins(seed) {
		const {setting} = this;
		const random = randomFrom(seed);
		const battles = setting.startTwins(seed);
		const views = battles.map(battle => new View(setting.observer, battle));
		while (battles.every(battle => !battle.ended && battle.turn < 60)) {
			views.forEach(view => view.read());
			if (publicLines(battles[0]) !== publicLines(battles[1])) return;
			const requests = battles.map(battle => battle.sides[0].activeRequest);
			if (JSON.stringify(requests[0]) !== JSON.stringify(requests[1])) return; // its own exact HP, which it may know
			if (battles[0].sides[1].activeRequest?.forceSwitch) return;
			if (requests[0] && !requests[0].wait) {
				const [one, other] = this.buffers;
				views.forEach((view, i) => {
					const row = this.buffers[i];
					view.encode(0, requests[i], row, 8);
					this.#plant(battles[i], 0, row);
				});
				this.twins++;
				this.#compare('twin', one, other, battles[0], 0);
			}
			for (const seat of [0, 1]) {
				const request = battles[0].sides[seat].activeRequest;
				if (!request || request.wait) continue;
				const choice = setting.pick(request, random, seat === 1);
				if (!battles.every(battle => battle.choose(battle.sides[seat].id, choice))) return;
			}
		}
	}

	/** The negative controls: observers that look where they must not. */
	#plant(battle, seat, row) {
		const foe = battle.sides[1 - seat];
		if (this.leak === 'hp') row[8 + this.setting.observer.offsets.pokemon] ^= foe.active[0]?.hp & 0xff;
		if (this.leak === 'team') row[8] ^= foe.pokemon[foe.pokemon.length - 1].species.num & 0xff;
		if (this.leak === 'moves') row[9] ^= (foe.active[0]?.moves.join().length ?? 0) & 0xff;
		if (this.leak === 'item') row[8 + this.setting.observer.offsets.item] ^= foe.active[0]?.item.length ?? 0;
		const {offsets} = this.setting.observer;
		if (this.leak === 'speed') row[8 + offsets.pairs] ^= (foe.active[0]?.storedStats.spe ?? 0) & 0xff;
		if (this.leak === 'log') {
			const secret = battle.log.findLast((line, i) => battle.log[i - 1] === `|split|${foe.id}`) ?? '';
			row[10] ^= secret.length;
		}
	}

	#compare(kind, a, b, battle, seat) {
		for (let i = 8; i < this.setting.observer.nbytes + 8; i++) {
			if (a[i] === b[i]) continue;
			this.differences[kind]++;
			this.first ??= {kind, leaf: this.#leafAt(i - 8), turn: battle.turn, seat, recent: battle.log.slice(-12)};
			return;
		}
	}

	#leafAt(offset) {
		const {offsets} = this.setting.observer;
		const name = Object.keys(offsets).findLast(leaf => offsets[leaf] <= offset);
		return {name, byte: offset - offsets[name]};
	}
}

/** One seat's story: its own requests and public lines, and views that know nothing else. */
class Story {
	constructor(setting, seat) {
		this.seat = seat;
		this.logs = [{log: []}, {log: []}, {log: []}]; // rebuilt, retold, served
		this.views = this.logs.map(told => new View(setting.observer, told));
		this.cursor = 0;
	}

	continue(log, request, rows) {
		const [plain, garbled, served] = this.logs;
		for (; this.cursor < log.length; this.cursor++) {
			const line = log[this.cursor];
			if (line.startsWith('|split|')) {
				const [secret, shared] = log.slice(this.cursor + 1, this.cursor + 3);
				plain.log.push(JSON.parse(JSON.stringify(shared)));
				garbled.log.push('|split|p1', '|switch|p1a: Nobody|Mew, L1|1/999 brn', shared);
				served.log.push(line === `|split|p${this.seat + 1}` ? secret : shared);
				this.cursor += 2;
			} else {
				for (const told of this.logs) told.log.push(line);
			}
		}
		const asked = JSON.parse(JSON.stringify(request));
		this.views.forEach((view, i) => {
			view.read();
			view.encode(this.seat, asked, rows[i], 8);
		});
	}
}

function forget(seat) {
	const {observer, row} = seat;
	for (const [name, dtype, shape] of observer.leaves()) {
		const size = {uint8: 1, int8: 1, uint16: 2, fixed8: 1, fixed16: 2}[dtype] * shape.reduce((a, b) => a * b, 1);
		row.fill(0x5a, observer.offsets[name], observer.offsets[name] + size); // what is between leaves stays 0
	}
	seat.foes.shown.fill(undefined);
	seat.foes.benchThen = seat.team.benchThen = 0;
	seat.team.resting.fill(null);
	for (const facing of seat.foes.facing) facing.mon = null, facing.stale = true, facing.estimated = 0b111111;
	seat.matchups.fieldVersion = 0;
	seat.matchups.pairs.forget();
	if (seat.matchups.forms !== null) seat.matchups.forms.isEmpty = false;
	for (const own of seat.team.known) own.position = -1;
	seat.team.filled = 0b111111;
}

function publicLines(battle) {
	const {log} = battle;
	const lines = [];
	for (let i = 0; i < log.length; i++) {
		if (log[i].startsWith('|split|')) i += 2;
		if (!log[i].startsWith('|t:|')) lines.push(log[i]);
	}
	return lines.join('\n');
}

/** Changes what `seat` cannot know and returns how to take it back. */
function change(battle, tracker, seat, random) {
	const undo = [];
	const set = (object, key, value) => {
		const before = object[key];
		undo.push(() => { object[key] = before; });
		object[key] = value;
	};
	const foe = battle.sides[1 - seat];
	const mew = battle.dex.species.get('Mew');
	for (const pokemon of foe.pokemon) {
		const seen = tracker.sides[1 - seat].mons.some(mon => mon.seen && mon.name === pokemon.name);
		if (!seen) {
			set(pokemon, 'species', mew);
			set(pokemon, 'baseSpecies', mew);
			set(pokemon, 'details', 'Mew, L1');
			set(pokemon, 'types', ['Psychic']);
			set(pokemon, 'level', 1 + Math.floor(random() * 99));
		}
		set(pokemon, 'hp', hpShownAlike(pokemon, random));
		set(pokemon, 'item', 'berryjuice');
		set(pokemon, 'ability', 'stench');
		set(pokemon, 'baseAbility', 'stench');
		set(pokemon, 'teraType', 'Stellar');
		set(pokemon, 'storedStats', {atk: 7, def: 7, spa: 7, spd: 7, spe: 7});
		set(pokemon, 'baseStoredStats', {hp: 7, atk: 7, def: 7, spa: 7, spd: 7, spe: 7});
		set(pokemon, 'moveSlots', [{id: 'splash', move: 'Splash', pp: 1, maxpp: 40, disabled: false, used: false}]);
		set(pokemon, 'baseMoveSlots', pokemon.moveSlots);
		set(pokemon, 'set', {...pokemon.set, species: 'Mew', moves: ['splash'], item: 'berryjuice', ability: 'Stench'});
	}
	set(foe, 'pokemon', [...foe.pokemon].reverse());
	set(foe, 'activeRequest', null);
	set(foe, 'team', []);
	set(battle, 'prng', null);
	set(battle, 'inputLog', []);
	return undo;
}

/** Another HP that the public sees as the same percentage, if there is one. */
function hpShownAlike(pokemon, random) {
	const shown = hp => {
		const before = pokemon.hp;
		pokemon.hp = hp;
		const text = pokemon.getHealth().shared;
		pokemon.hp = before;
		return text;
	};
	const alike = [];
	for (let hp = Math.max(1, pokemon.hp - 4); hp <= Math.min(pokemon.maxhp, pokemon.hp + 4); hp++) {
		if (hp !== pokemon.hp && pokemon.hp > 0 && shown(hp) === shown(pokemon.hp)) alike.push(hp);
	}
	return alike.length ? alike[Math.floor(random() * alike.length)] : pokemon.hp;
}

function main([root, spec, battles, seed = '1']) {
	const [formatId, teamsFrom = null] = spec.split(':');
	const proof = new Proof(new Setting(root, formatId, {teamsFrom}), process.env.LEAKY ?? '');
	for (let i = 0; i < +battles; i++) {
		proof.play(+seed + i);
		if (!spec.includes(':')) proof.playTwins(+seed + i); // team preview would show the bench
	}
	const {decisions, twins, changes, differences, first} = proof;
	console.log(JSON.stringify({format: formatId, battles: +battles, decisions, twins, changes, differences, first}));
}

main(process.argv.slice(2));
