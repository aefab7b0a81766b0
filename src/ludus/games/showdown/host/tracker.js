'use strict';
/**
 * The public state of a battle, from protocol lines alone.
 *
 * Feed it the lines a spectator sees, in order, once; or, for one player, the lines the server sends to that player:
 * they differ in the HP of the player's own Pokemon only, which observations take from the request.
 */

const {BOOSTS, STATUSES, NONE} = require('./tables');
const {Effects} = require('./effects');

const BAR = 124; // '|'
const COLON = 58;
const BOOST_INDEX = new Map(BOOSTS.map((stat, i) => [stat, i]));
const STATUS_INDEX = new Map(STATUSES.map((status, i) => [status, i + 1]));
const SLEEP = STATUS_INDEX.get('slp');
const TOXIC = STATUS_INDEX.get('tox');
const MAX_FIELDS = 32;

const LOCKING = ['outrage', 'petaldance', 'thrash', 'ragingfury'];
const BINDING = ['bind', 'wrap', 'clamp', 'firespin'];
const STALLING = new Set(['protect', 'endure', 'maxguard', 'wideguard', 'quickguard', 'detect']);
const BEST_STATS = ['atk', 'def', 'spa', 'spd', 'spe'];

/** One Pokemon as everybody sees it. Rows and type ids are those of tables.js. */
class Mon {
	constructor(side, tables, effects) {
		this.side = side;
		this.name = ''; // '' until it has been sent out (known from team preview alone)
		this.details = '';
		this.species = 0; // of its lasting forme
		this.shown = 0; // what it looks like now: forme changes and Transform included
		this.level = 100;
		this.seen = false; // sent out at least once
		this.hp = 1;
		this.fainted = false;
		this.status = 0; // 1 + index into STATUSES
		this.statusTurns = 0;
		this.baseAbility = 0;
		this.ability = 0;
		this.item = tables.gen < 2 ? NONE : 0;
		this.moves = new Uint16Array(4);
		this.uses = new Uint8Array(4);
		this.moveCount = 0;
		this.kept = null; // moves to come back to after Transform or Mimic
		this.lastMove = 0;
		this.disabledMove = 0;
		this.type1 = 0;
		this.type2 = 0;
		this.addedType = 0;
		this.tera = 0; // tera type, once shown
		this.terastallized = false;
		this.dynamaxed = false;
		this.transformed = false;
		this.boosts = new Int8Array(7);
		this.volatiles = new Uint8Array(effects.volatiles.length);
		this.enteredTurn = 0;
		this.stallTurn = -1;
		this.trapper = null;
		this.snapshot = null; // what was known when it came in, should it turn out to be an illusion
		this.version = 1; // grows with every change
		this.combat = 1; // grows with every change that matters for damage, other than HP
	}
}

class Side {
	constructor(index, slots, effects) {
		this.index = index;
		this.mons = []; // in order of reveal; team preview counts as one
		this.active = new Array(slots).fill(null);
		this.size = 6;
		this.fainted = 0;
		this.conditions = new Uint8Array(effects.sideConditions.length);
		this.since = new Uint16Array(effects.sideConditions.length);
		this.spent = {mega: false, zmove: false, dynamax: false, tera: false};
		this.version = 1; // grows when its conditions change
	}
}

class Tracker {
	constructor(tables, slots, effects = new Effects(tables.dex)) {
		this.tables = tables;
		this.gen = tables.gen;
		this.effects = effects;
		this.slots = slots;
		this.sides = [new Side(0, slots, effects), new Side(1, slots, effects)];
		this.turn = 0;
		this.started = false;
		this.weather = -1;
		this.weatherSince = 0;
		this.terrain = -1;
		this.terrainSince = 0;
		this.rooms = new Uint8Array(effects.rooms.length);
		this.roomSince = new Uint16Array(effects.rooms.length);
		this.fieldVersion = 1;
		this.mover = null;
		this.text = '';
		this.bars = new Int32Array(MAX_FIELDS + 1);
		this.fields = 0;
		this.locking = new Set(LOCKING.map(id => tables.moves.row(id)));
		this.binding = new Set(BINDING.map(id => tables.moves.row(id)));
		this.pressure = tables.abilities.row('pressure');
		this.asOne = new Set(['asoneglastrier', 'asonespectrier'].map(id => tables.abilities.byId.get(id)));
		this.struggle = tables.moves.row('struggle');
	}

	/** Takes one line. Lines it has no use for are ignored. */
	line(text) {
		const {length} = text;
		if (length < 4) return;
		const {bars} = this;
		let hash = 0;
		let at = 1;
		for (let code; at < length && (code = text.charCodeAt(at)) !== BAR; at++) hash = Math.imul(hash, 31) + code | 0;
		const handle = HANDLERS.get(hash);
		if (handle === undefined) return;
		let fields = 0;
		while (at < length && fields < MAX_FIELDS) {
			bars[fields++] = at;
			at = text.indexOf('|', at + 1);
			if (at < 0) break;
		}
		bars[fields] = length;
		this.fields = fields;
		this.text = text;
		handle(this);
	}

	/** Field `i` of the line after its name, '' if there are fewer. */
	field(i) {
		return i < this.fields ? this.text.slice(this.bars[i] + 1, this.bars[i + 1]) : '';
	}

	/** The value of `[key]` at the end of the line, '' if it has none. */
	keyword(key) {
		const at = this.text.indexOf(key);
		if (at < 0) return '';
		const end = this.text.indexOf('|', at + key.length);
		return this.text.slice(at + key.length, end < 0 ? undefined : end).trim();
	}

	from() {
		return this.keyword('|[from]');
	}

	of() {
		const at = this.text.indexOf('|[of] ');
		return at < 0 ? null : this.monAt(at + 6);
	}

	has(text) {
		return this.text.indexOf(text) >= 0;
	}

	/** The Pokemon that field `i` names, or null. */
	mon(i) {
		return i < this.fields ? this.monAt(this.bars[i] + 1) : null;
	}

	monAt(at) {
		const {text} = this;
		if (text.charCodeAt(at) !== 112) return null;
		const side = this.sides[text.charCodeAt(at + 1) - 49];
		if (side === undefined) return null;
		const position = text.charCodeAt(at + 2);
		if (position !== COLON) return side.active[position - 97] ?? null;
		const end = text.indexOf('|', at);
		return named(side, text.slice(at + 4, end < 0 ? undefined : end));
	}

	sideOf(i) {
		return this.sides[this.text.charCodeAt(this.bars[i] + 2) - 49];
	}
}

function named(side, name) {
	for (const mon of side.mons) if (mon.name === name) return mon;
	return null;
}

// ---- condition and details ----

/** Reads `87/100 par` or `0 fnt` in field `i`. */
function readCondition(tracker, mon, i) {
	const {text} = tracker;
	let at = tracker.bars[i] + 1;
	const end = tracker.bars[i + 1];
	let hp = 0;
	let max = 0;
	let code = 0;
	for (; at < end && (code = text.charCodeAt(at)) >= 48 && code <= 57; at++) hp = hp * 10 + code - 48;
	if (code === 47) {
		for (at++; at < end && (code = text.charCodeAt(at)) >= 48 && code <= 57; at++) max = max * 10 + code - 48;
	}
	mon.hp = max > 0 ? hp / max : 0;
	while (at < end && text.charCodeAt(at) !== 32) at++; // gen 5's colour letter
	const status = at + 4 <= end && max > 0 ? STATUS_INDEX.get(text.slice(at + 1, at + 4)) ?? 0 : 0;
	if (status !== mon.status) setStatus(mon, status);
	mon.version++;
}

function setStatus(mon, status) {
	mon.status = status;
	mon.statusTurns = 0;
	mon.version++;
	mon.combat++;
}

/** Applies `Charizard-Mega-X, L82, M, shiny, tera:Fire`. */
function readDetails(tracker, mon, details) {
	const {tables} = tracker;
	const parts = details.split(', ');
	mon.level = 100;
	for (let i = 1; i < parts.length; i++) {
		if (parts[i].charCodeAt(0) === 76) mon.level = +parts[i].slice(1) || 100;
		else if (parts[i].startsWith('tera:')) terastallize(tracker, mon, parts.pop().slice(5));
	}
	mon.details = parts.join(', ');
	const species = tables.species.row(parts[0]);
	if (species !== mon.species) {
		mon.species = species;
		mon.baseAbility = mon.ability = tables.soleAbility[species];
	}
}

function terastallize(tracker, mon, type) {
	mon.tera = tracker.tables.typeIds.get(type) ?? 0;
	mon.terastallized = true;
	mon.addedType = 0;
	mon.side.spent.tera = true;
}

/** Back to the lasting forme: what leaving the field does to looks, types, moves and ability. */
function resetLooks(tracker, mon) {
	const {tables} = tracker;
	mon.shown = mon.species;
	mon.type1 = tables.speciesType1[mon.species];
	mon.type2 = tables.speciesType2[mon.species];
	mon.addedType = 0;
	mon.transformed = false;
	mon.ability = mon.baseAbility;
	if (mon.kept) {
		mon.moves.set(mon.kept.moves);
		mon.uses.set(mon.kept.uses);
		mon.moveCount = mon.kept.moveCount;
		mon.kept = null;
	}
	mon.version++;
	mon.combat++;
}

function leaveField(tracker, mon) {
	mon.boosts.fill(0);
	mon.volatiles.fill(0);
	mon.dynamaxed = false;
	mon.lastMove = 0;
	mon.disabledMove = 0;
	mon.stallTurn = -1;
	mon.trapper = null;
	mon.snapshot = null;
	resetLooks(tracker, mon);
	const {trapped} = tracker.effects.volatile;
	if (trapped >= 0) {
		for (const side of tracker.sides) {
			for (const other of side.active) {
				if (other !== null && other.trapper === mon) {
					other.trapper = null;
					other.volatiles[trapped] = 0;
					other.version++;
				}
			}
		}
	}
	if (tracker.gen === 1) releaseGen1(tracker, mon);
}

/** Gen 1 says nothing when Wrap ends: it ends when the one who wraps leaves or does something else. */
function releaseGen1(tracker, mon) {
	const foe = tracker.sides[1 - mon.side.index].active[0];
	if (foe !== null) volatile(tracker, foe, 'partiallytrapped', 0);
}

function keepMoves(mon) {
	mon.kept ??= {moves: mon.moves.slice(), uses: mon.uses.slice(), moveCount: mon.moveCount};
}

// ---- coming and going ----

function identify(tracker, side, name, details, slot) {
	const {species} = tracker.tables;
	let found = null;
	for (const mon of side.mons) {
		const elsewhere = side.active.indexOf(mon);
		if (mon.name !== name || (elsewhere >= 0 && elsewhere !== slot)) continue;
		if (mon.details === details) return mon;
		found ??= mon;
	}
	if (found) return found;
	const comma = details.indexOf(',');
	const row = species.row(comma < 0 ? details : details.slice(0, comma));
	for (const mon of side.mons) {
		if (mon.name === '' && (mon.species === row || sameBase(species, mon.species, row))) return mon;
	}
	const mon = new Mon(side, tracker.tables, tracker.effects);
	side.mons.push(mon);
	return mon;
}

/** Team preview hides some formes: `Urshifu-*`. */
function sameBase(species, a, b) {
	return a > 0 && b > 0 &&
		species.entries[a - species.first].baseSpecies === species.entries[b - species.first].baseSpecies;
}

function sendOut(tracker, passing) {
	const at = tracker.bars[0] + 1;
	const side = tracker.sides[tracker.text.charCodeAt(at + 1) - 49];
	const slot = tracker.text.charCodeAt(at + 2) - 97;
	const name = tracker.field(0).slice(5);
	const details = tracker.field(1);
	const tera = details.indexOf(', tera:');
	const bare = tera < 0 ? details : details.slice(0, tera);
	const mon = identify(tracker, side, name, bare, slot);
	const previous = side.active[slot];
	if (previous !== null && previous !== mon) {
		if (passing === 'batonpass') handOver(tracker, previous, mon, false);
		else if (passing === 'shedtail') handOver(tracker, previous, mon, true);
		leaveField(tracker, previous);
	} else if (previous !== null) {
		leaveField(tracker, mon); // one of the two was an illusion
	}
	const known = mon.seen;
	if (tracker.gen >= 5) mon.snapshot = snapshot(mon);
	if (mon.fainted) mon.fainted = false; // an illusion fainted in its name
	mon.seen = true;
	mon.name = name;
	if (mon.details !== bare || !known) readDetails(tracker, mon, bare);
	mon.terastallized = false; // the line says so if it is; an illusion is not
	if (tera >= 0) terastallize(tracker, mon, details.slice(tera + 7));
	side.active[slot] = mon;
	mon.enteredTurn = tracker.turn;
	mon.lastMove = 0;
	if (mon.status === TOXIC) mon.statusTurns = 0;
	resetLooks(tracker, mon);
	readCondition(tracker, mon, 2);
}

function handOver(tracker, from, to, substituteOnly) {
	const {passed, volatile: ids} = tracker.effects;
	to.boosts.fill(0);
	to.volatiles.fill(0);
	if (substituteOnly) {
		to.volatiles[ids.substitute] = from.volatiles[ids.substitute];
		return;
	}
	to.boosts.set(from.boosts);
	for (let i = 0; i < passed.length; i++) if (passed[i]) to.volatiles[i] = from.volatiles[i];
	to.trapper = from.trapper;
	to.volatiles[ids.typechange] = 0;
}

function snapshot(mon) {
	return {
		seen: mon.seen, hp: mon.hp, status: mon.status, statusTurns: mon.statusTurns, fainted: mon.fainted,
		item: mon.item, baseAbility: mon.baseAbility, moveCount: mon.moveCount, uses: mon.uses.slice(), name: mon.name,
		tera: mon.tera, terastallized: mon.terastallized,
	};
}

/** `|replace|`: the Pokemon in that slot has been another one since it came in. */
function unmask(tracker) {
	const at = tracker.bars[0] + 1;
	const side = tracker.sides[tracker.text.charCodeAt(at + 1) - 49];
	const slot = tracker.text.charCodeAt(at + 2) - 97;
	const mask = side.active[slot];
	if (mask === null) return;
	const before = mask.snapshot ?? snapshot(mask);
	const real = identify(tracker, side, tracker.field(0).slice(5), tracker.field(1), slot);
	if (real === mask) return;
	real.name = tracker.field(0).slice(5);
	readDetails(tracker, real, tracker.field(1));
	resetLooks(tracker, real);
	real.seen = true;
	if (mask.item !== before.item) real.item = mask.item;
	for (const key of ['hp', 'status', 'statusTurns', 'fainted', 'lastMove', 'disabledMove', 'dynamaxed', 'tera',
		'terastallized', 'enteredTurn', 'stallTurn', 'trapper']) real[key] = mask[key];
	real.boosts.set(mask.boosts);
	real.volatiles.set(mask.volatiles);
	for (let i = 0; i < mask.moveCount; i++) {
		const uses = mask.uses[i] - (i < before.moveCount ? before.uses[i] : 0);
		if (uses > 0 || i >= before.moveCount) useMove(tracker, real, mask.moves[i], uses);
	}
	side.active[slot] = real;
	for (const key of ['seen', 'hp', 'status', 'statusTurns', 'fainted', 'item', 'baseAbility', 'moveCount', 'name', 'tera',
		'terastallized']) mask[key] = before[key];
	mask.uses.set(before.uses);
	for (let i = mask.moveCount; i < 4; i++) mask.moves[i] = mask.uses[i] = 0;
	mask.boosts.fill(0);
	mask.volatiles.fill(0);
	mask.dynamaxed = false;
	mask.lastMove = mask.disabledMove = 0;
	mask.snapshot = null;
	resetLooks(tracker, mask);
	if (!mask.seen && mask.name === '' && !mask.previewed) side.mons.splice(side.mons.indexOf(mask), 1);
	changed(real);
}

function changed(mon) {
	mon.version++;
	mon.combat++;
}

function faint(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	mon.side.fainted++;
	mon.fainted = true;
	mon.hp = 0;
	mon.status = 0;
	mon.terastallized = false;
	leaveField(tracker, mon);
}

function swapSlots(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	const {active} = mon.side;
	const from = active.indexOf(mon);
	const to = +tracker.field(1);
	if (!(to >= 0 && to < active.length)) return;
	active[from] = active[to];
	active[to] = mon;
	for (const each of active) if (each !== null) changed(each);
}

// ---- moves ----

function useMove(tracker, mon, row, uses) {
	const {moves} = mon;
	let i = 0;
	while (i < mon.moveCount && moves[i] !== row) i++;
	if (i === mon.moveCount) {
		if (i === 4) return;
		moves[i] = row;
		mon.uses[i] = 0;
		mon.moveCount++;
		mon.combat++;
	}
	mon.uses[i] = Math.min(255, mon.uses[i] + uses);
}

function move(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	const {tables, effects} = tracker;
	const row = tables.moves.row(tracker.field(1));
	const from = tracker.fields > 3 ? tracker.from() : '';
	const source = from === '' ? '' : effects.id(from);
	tracker.mover = mon;
	mon.version++;
	volatile(tracker, mon, 'twoturnmove', 0);
	clearUntilMove(tracker, mon);
	if (row === 0 || row === tracker.struggle) return;
	const continued = source === 'lockedmove' || (source !== '' && tables.moves.row(source) === row && tracker.gen < 3);
	if (from.startsWith('ability: ')) reveal(tracker, mon, from.slice(9));
	if (source === '' || continued || tables.moves.row(source) === row) {
		let uses = continued ? 0 : 1;
		if (uses > 0 && tracker.pressure > 0) {
			const target = tracker.mon(2);
			if (target !== null && target.side !== mon.side && target.ability === tracker.pressure) uses = 2;
		}
		useMove(tracker, mon, row, uses);
		mon.lastMove = row;
	} else if (source === 'sleeptalk') {
		useMove(tracker, mon, row, 0);
	}
	volatile(tracker, mon, 'lockedmove', tracker.locking.has(row) && !tracker.has('|[notarget]') ? 1 : 0);
	if (tracker.gen === 1) {
		if (!tracker.binding.has(row)) releaseGen1(tracker, mon);
		volatile(tracker, mon, 'partiallytrapped', 0); // whoever acts is free
	}
}

/** What being stopped ends; gen 1 forgets it only when paralysed or hurt by confusion. */
function loseGrip(tracker, mon) {
	volatile(tracker, mon, 'lockedmove', 0);
	volatile(tracker, mon, 'twoturnmove', 0);
	if (tracker.gen === 1) {
		volatile(tracker, mon, 'bide', 0);
		releaseGen1(tracker, mon);
	}
}

function clearUntilMove(tracker, mon) {
	volatile(tracker, mon, 'destinybond', 0);
	volatile(tracker, mon, 'grudge', 0);
	volatile(tracker, mon, 'glaiverush', 0);
	volatile(tracker, mon, 'rage', 0);
}

function cannot(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	const reason = tracker.field(1);
	const id = tracker.effects.id(reason);
	if (reason.startsWith('ability: ')) reveal(tracker, mon, reason.slice(9));
	if (tracker.fields > 3 && tracker.of() !== null) return; // Damp and its like: `mon` stopped somebody else
	mon.version++;
	if (id === 'slp' && mon.status === SLEEP) mon.statusTurns++;
	volatile(tracker, mon, 'mustrecharge', 0);
	if (tracker.gen > 1 || id === 'par') loseGrip(tracker, mon);
	clearUntilMove(tracker, mon);
	const tried = tracker.tables.moves.row(tracker.field(2));
	if (tried > 0 && tried !== tracker.struggle) useMove(tracker, mon, tried, 0);
}

// ---- volatiles ----

function volatile(tracker, mon, name, value) {
	const index = tracker.effects.volatile[name];
	if (index >= 0) mon.volatiles[index] = value;
}

function start(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	const {effects, tables} = tracker;
	const id = effects.id(tracker.field(1));
	changed(mon);
	revealFrom(tracker, mon);
	switch (id) {
	case 'typechange': return changeTypes(tracker, mon);
	case 'typeadd':
		mon.addedType = tables.typeIds.get(tracker.field(2)) ?? 0;
		break;
	case 'dynamax':
		mon.dynamaxed = true;
		mon.side.spent.dynamax = true;
		return;
	case 'disable':
		mon.disabledMove = tables.moves.row(tracker.field(2));
		break;
	case 'mimic': return mimic(tracker, mon, tracker.field(2));
	case 'futuresight':
	case 'doomdesire': {
		const target = tracker.sides[1 - mon.side.index];
		const index = effects.side.get('futuresight');
		if (index !== undefined) target.conditions[index]++;
		return;
	}
	case 'confusion':
		volatile(tracker, mon, 'lockedmove', 0);
		break;
	}
	const index = effects.volatile[id];
	if (index >= 0) mon.volatiles[index] = 1;
	else if (index === undefined) startCounted(tracker, mon, id);
}

/** `perish2`, `stockpile3`, `fallen1`, `protosynthesisatk`. */
function startCounted(tracker, mon, id) {
	const last = id.charCodeAt(id.length - 1) - 48;
	if (id.startsWith('perish')) volatile(tracker, mon, 'perish', 4 - last);
	else if (id.startsWith('stockpile')) volatile(tracker, mon, 'stockpile', last);
	else if (id.startsWith('fallen')) volatile(tracker, mon, 'fallen', last);
	else if (id.startsWith('protosynthesis')) volatile(tracker, mon, 'protosynthesis', 1 + BEST_STATS.indexOf(id.slice(14)));
	else if (id.startsWith('quarkdrive')) volatile(tracker, mon, 'quarkdrive', 1 + BEST_STATS.indexOf(id.slice(10)));
}

function end(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	const {effects} = tracker;
	changed(mon);
	const id = effects.id(tracker.field(1));
	if (tracker.has('|[partiallytrapped]')) return volatile(tracker, mon, id === 'octolock' ? id : 'partiallytrapped', 0);
	switch (id) {
	case 'typechange':
		mon.type1 = tracker.tables.speciesType1[mon.shown];
		mon.type2 = tracker.tables.speciesType2[mon.shown];
		break;
	case 'dynamax':
		mon.dynamaxed = false;
		return;
	case 'disable':
		mon.disabledMove = 0;
		break;
	case 'futuresight':
	case 'doomdesire': {
		const index = effects.side.get('futuresight');
		if (mon.side.conditions[index] > 0) mon.side.conditions[index]--;
		return;
	}
	case 'neutralizinggas': return reveal(tracker, mon, 'Neutralizing Gas');
	}
	const name = id.startsWith('fallen') ? 'fallen' : id;
	volatile(tracker, mon, name, 0);
}

function changeTypes(tracker, mon) {
	const {typeIds} = tracker.tables;
	const text = tracker.field(2);
	volatile(tracker, mon, 'typechange', 1);
	mon.addedType = 0;
	if (text === '' || text.startsWith('[')) {
		const model = tracker.of(); // Reflect Type
		if (model === null) return;
		mon.type1 = model.type1;
		mon.type2 = model.type2;
		mon.addedType = model.addedType;
		if (model.terastallized) {
			mon.type1 = model.tera;
			mon.type2 = 0;
		}
		return;
	}
	const slash = text.indexOf('/');
	mon.type1 = typeIds.get(slash < 0 ? text : text.slice(0, slash)) ?? 0;
	mon.type2 = slash < 0 ? 0 : typeIds.get(text.slice(slash + 1)) ?? 0;
}

function mimic(tracker, mon, name) {
	const row = tracker.tables.moves.row(name);
	const mimicRow = tracker.tables.moves.row('mimic');
	const i = mon.moves.indexOf(mimicRow);
	if (row === 0 || i < 0) return;
	keepMoves(mon);
	mon.moves[i] = row;
	mon.uses[i] = 0;
	changed(mon);
}

const SINGLE_TURN = new Map([
	['protect', 'protect'], ['maxguard', 'protect'], ['endure', 'endure'], ['followme', 'followme'],
	['ragepowder', 'followme'], ['spotlight', 'followme'], ['helpinghand', 'helpinghand'],
]);

function singleTurn(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	const id = tracker.effects.id(tracker.field(1));
	mon.version++;
	const name = SINGLE_TURN.get(id);
	if (name !== undefined) volatile(tracker, mon, name, 1);
	if (STALLING.has(id)) {
		const index = tracker.effects.volatile.stall;
		if (index >= 0) mon.volatiles[index] = Math.min(6, mon.volatiles[index] + 1);
		mon.stallTurn = tracker.turn;
	}
}

function endOfTurn(tracker) {
	for (const side of tracker.sides) {
		for (const mon of side.active) {
			if (mon === null) continue;
			mon.version++;
			volatile(tracker, mon, 'protect', 0);
			volatile(tracker, mon, 'endure', 0);
			volatile(tracker, mon, 'followme', 0);
			volatile(tracker, mon, 'helpinghand', 0);
			if (mon.stallTurn !== tracker.turn) volatile(tracker, mon, 'stall', 0);
		}
	}
}

function activate(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	const {effects, tables} = tracker;
	const effect = tracker.field(1);
	const id = effects.id(effect);
	changed(mon);
	if (effect.startsWith('ability: ')) return activateAbility(tracker, mon, id, effect.slice(9));
	if (effect.startsWith('item: ')) {
		if (!tracker.has('|[consumed]') && mon.item !== NONE) mon.item = tables.items.row(effect.slice(6));
		return;
	}
	switch (id) {
	case 'trapped':
		volatile(tracker, mon, 'trapped', 1);
		mon.trapper = tracker.mover === mon ? null : tracker.mover;
		return;
	case 'mimic': return mimic(tracker, mon, tracker.field(2));
	case 'poltergeist':
		mon.item = tables.items.row(tracker.field(2));
		return;
	case 'skillswap': return swapAbilities(tracker, mon);
	case 'spite':
	case 'eeriespell':
	case 'gmaxdepletion': {
		const row = tables.moves.row(tracker.field(2));
		if (row > 0) useMove(tracker, mon, row, +tracker.field(3) || 0);
		return;
	}
	case 'bide':
		volatile(tracker, mon, 'bide', 1);
		return;
	}
	if (tracker.gen > 1 && TRAPPING.has(id)) volatile(tracker, mon, 'partiallytrapped', 1);
}

const TRAPPING = new Set([
	'bind', 'wrap', 'clamp', 'firespin', 'whirlpool', 'sandtomb', 'magmastorm', 'infestation', 'snaptrap', 'thundercage',
	'gmaxcentiferno', 'gmaxsandblast',
]);

function activateAbility(tracker, mon, id, name) {
	const of = tracker.of();
	switch (id) {
	case 'mummy':
	case 'lingeringaroma': {
		const target = tracker.mon(2);
		reveal(tracker, mon, name);
		if (target === null) return;
		const old = tracker.tables.abilities.row(tracker.keyword('|[ability]'));
		if (old > 0) target.baseAbility = target.ability === target.baseAbility ? old : target.baseAbility;
		target.ability = tracker.tables.abilities.row(name);
		changed(target);
		return;
	}
	case 'symbiosis':
		reveal(tracker, mon, name);
		if (of !== null) {
			of.item = tracker.tables.items.row(tracker.field(2));
			mon.item = NONE;
			changed(of);
		}
		return;
	case 'commander':
		volatile(tracker, mon, 'commanding', 1);
		return reveal(tracker, mon, name);
	case 'forewarn': {
		const row = tracker.tables.moves.row(tracker.field(2));
		if (row > 0 && of !== null) useMove(tracker, of, row, 0), changed(of);
		return reveal(tracker, mon, name);
	}
	}
	reveal(tracker, mon, name);
}

function swapAbilities(tracker, mon) {
	const target = tracker.of();
	if (target === null) return;
	const {abilities} = tracker.tables;
	const mine = abilities.row(tracker.field(3));
	const theirs = abilities.row(tracker.field(2));
	if (mine > 0 && mon.ability === mon.baseAbility) mon.baseAbility = mine;
	if (theirs > 0 && target.ability === target.baseAbility) target.baseAbility = theirs;
	const old = mon.ability;
	mon.ability = theirs || target.ability;
	target.ability = mine || old;
	changed(target);
}

// ---- abilities and items ----

/** A Pokemon shows the ability it has now; it is its own unless something changed it. */
function reveal(tracker, mon, name) {
	const row = tracker.tables.abilities.row(name);
	if (row === 0 || mon.ability === row || tracker.asOne.has(mon.ability)) return; // As One shows its two halves
	if (mon.ability === mon.baseAbility) mon.baseAbility = row;
	mon.ability = row;
	changed(mon);
}

const OF_IS_ANOTHER = new Set(['waterabsorb', 'voltabsorb', 'dryskin', 'eartheater', 'pickpocket', 'magician', 'trace',
	'costar', 'wanderingspirit', 'receiver', 'powerofalchemy', 'cheekpouch', 'colorchange', 'sapsipper']);

/** `[from] ability: X` and `[from] item: X` at the end of a line about `mon`. */
function revealFrom(tracker, mon, itemIsOfs = false) {
	if (tracker.text.charCodeAt(tracker.bars[tracker.fields - 1] + 1) !== 91) return; // no keyword ends the line
	const from = tracker.from();
	if (from.startsWith('ability: ')) {
		const id = tracker.effects.id(from);
		reveal(tracker, OF_IS_ANOTHER.has(id) ? mon : tracker.of() ?? mon, from.slice(9));
	} else if (from.startsWith('item: ')) {
		const holder = (itemIsOfs ? tracker.of() : null) ?? mon;
		const row = tracker.tables.items.row(from.slice(6));
		if (holder.item !== NONE && row > 0 && holder.item !== row) {
			holder.item = row;
			changed(holder);
		}
	}
}

function ability(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	const row = tracker.tables.abilities.row(tracker.field(1));
	const from = tracker.from();
	changed(mon);
	if (from === '') return reveal(tracker, mon, tracker.field(1));
	const source = tracker.effects.id(from);
	if (source === 'trace') {
		if (mon.ability === mon.baseAbility) mon.baseAbility = tracker.tables.abilities.row('trace');
		const traced = tracker.of();
		if (traced !== null) reveal(tracker, traced, tracker.field(1));
	}
	const old = tracker.tables.abilities.row(tracker.field(2));
	if (old > 0 && mon.ability === mon.baseAbility) mon.baseAbility = old;
	mon.ability = row;
	if (source === 'roleplay' || source === 'doodle' || source === 'receiver' || source === 'powerofalchemy') {
		const model = tracker.of();
		if (model !== null && model !== mon && !model.fainted) reveal(tracker, model, tracker.field(1));
	}
}

function item(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	mon.item = tracker.tables.items.row(tracker.field(1));
	changed(mon);
	const from = tracker.from();
	if (from === '') return;
	const source = tracker.effects.id(from);
	if (from.startsWith('ability: ')) {
		reveal(tracker, source === 'frisk' ? tracker.of() ?? mon : mon, from.slice(9));
	}
	if (source === 'thief' || source === 'covet' || source === 'magician' || source === 'pickpocket' || source === 'bestow') {
		const giver = tracker.of();
		if (giver !== null && giver !== mon) {
			giver.item = NONE;
			changed(giver);
		}
	}
}

function endItem(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	mon.item = NONE;
	changed(mon);
}

// ---- hp, status, boosts ----

function hp(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	readCondition(tracker, mon, 1);
	if (tracker.fields > 2) {
		const damage = tracker.text.charCodeAt(2) === 100;
		revealFrom(tracker, mon, damage);
		if (damage && tracker.has('|[from] confusion')) loseGrip(tracker, mon);
		if (damage && mon.status === TOXIC && tracker.has('|[from] psn')) mon.statusTurns++;
		if (!damage && mon.fainted && mon.hp > 0) {
			mon.fainted = false;
			mon.side.fainted--;
		}
	} else if (tracker.gen === 1 && tracker.mover !== null && tracker.mover !== mon &&
		tracker.binding.has(tracker.mover.lastMove) && mon.hp > 0) {
		volatile(tracker, mon, 'partiallytrapped', 1);
	}
}

function status(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	setStatus(mon, STATUS_INDEX.get(tracker.field(1)) ?? 0);
	if (tracker.gen === 1 && mon.status === SLEEP) volatile(tracker, mon, 'mustrecharge', 0);
	if (tracker.fields > 2) revealFrom(tracker, mon, true);
}

function cureStatus(tracker) {
	const mon = tracker.mon(0);
	if (mon !== null) setStatus(mon, 0);
}

function cureTeam(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	for (const each of mon.side.mons) if (each.status) setStatus(each, 0);
}

function boost(tracker, sign) {
	const mon = tracker.mon(0);
	const stat = BOOST_INDEX.get(tracker.field(1));
	if (mon === null || stat === undefined) return;
	mon.boosts[stat] = Math.max(-6, Math.min(6, mon.boosts[stat] + sign * +tracker.field(2)));
	changed(mon);
	if (tracker.fields > 3) revealFrom(tracker, mon);
}

function setBoost(tracker) {
	const mon = tracker.mon(0);
	const stat = BOOST_INDEX.get(tracker.field(1));
	if (mon === null || stat === undefined) return;
	mon.boosts[stat] = Math.max(-6, Math.min(6, +tracker.field(2)));
	changed(mon);
	if (tracker.fields > 3) revealFrom(tracker, mon);
}

function eachBoost(tracker, change) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	for (let i = 0; i < 7; i++) mon.boosts[i] = change(mon.boosts[i]);
	changed(mon);
	revealFrom(tracker, mon);
}

function clearAllBoosts(tracker) {
	for (const side of tracker.sides) {
		for (const mon of side.active) {
			if (mon === null) continue;
			mon.boosts.fill(0);
			changed(mon);
		}
	}
}

function swapBoosts(tracker) {
	const a = tracker.mon(0);
	const b = tracker.mon(1);
	if (a === null || b === null) return;
	const listed = tracker.field(2);
	const stats = listed === '' || listed.startsWith('[') ? BOOSTS : listed.split(', ');
	for (const stat of stats) {
		const i = BOOST_INDEX.get(stat);
		[a.boosts[i], b.boosts[i]] = [b.boosts[i], a.boosts[i]];
	}
	changed(a);
	changed(b);
}

function copyBoosts(tracker) {
	const to = tracker.mon(0);
	const from = tracker.mon(1);
	if (to === null || from === null) return;
	to.boosts.set(from.boosts);
	changed(to);
	revealFrom(tracker, to);
}

// ---- formes ----

function detailsChange(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	readDetails(tracker, mon, tracker.field(1));
	const {tables} = tracker;
	mon.shown = mon.species;
	mon.type1 = tables.speciesType1[mon.species];
	mon.type2 = tables.speciesType2[mon.species];
	changed(mon);
}

function formeChange(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	const {tables} = tracker;
	const species = tables.species.row(tracker.field(1));
	if (species > 0) {
		mon.shown = species;
		mon.type1 = tables.speciesType1[species];
		mon.type2 = tables.speciesType2[species];
	}
	changed(mon);
	revealFrom(tracker, mon);
}

function transform(tracker) {
	const mon = tracker.mon(0);
	const model = tracker.mon(1);
	if (mon === null || model === null) return;
	revealFrom(tracker, mon);
	keepMoves(mon);
	mon.moves.set(model.moves);
	mon.moveCount = model.moveCount;
	mon.uses.fill(0);
	mon.transformed = true;
	mon.shown = model.shown;
	mon.type1 = model.type1;
	mon.type2 = model.type2;
	mon.addedType = model.addedType;
	mon.boosts.set(model.boosts);
	mon.lastMove = 0;
	if (tracker.gen > 2) mon.ability = model.ability;
	changed(mon);
}

function megaEvolve(tracker, stone) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	mon.side.spent.mega = true;
	const row = tracker.tables.items.row(tracker.field(stone));
	if (row > 0) mon.item = row;
	changed(mon);
}

// ---- field and sides ----

function weather(tracker) {
	const id = tracker.effects.id(tracker.field(0));
	const index = tracker.effects.weather.get(id === 'snow' ? 'snowscape' : id) ?? -1;
	if (index !== tracker.weather) {
		tracker.weather = index;
		tracker.fieldVersion++;
	}
	if (tracker.has('|[upkeep]')) return;
	tracker.weatherSince = tracker.turn;
	const holder = tracker.of();
	const from = tracker.from();
	if (holder !== null && from.startsWith('ability: ')) reveal(tracker, holder, from.slice(9));
}

function fieldCondition(tracker, on) {
	const {effects} = tracker;
	const id = effects.id(tracker.field(0));
	tracker.fieldVersion++;
	const terrain = effects.terrain.get(id);
	if (terrain !== undefined) {
		if (on) tracker.terrain = terrain;
		else if (tracker.terrain === terrain) tracker.terrain = -1;
		tracker.terrainSince = tracker.turn;
	}
	const room = effects.room.get(id);
	if (room !== undefined) {
		tracker.rooms[room] = on ? 1 : 0;
		tracker.roomSince[room] = tracker.turn;
	}
	const holder = on ? tracker.of() : null;
	const from = on ? tracker.from() : '';
	if (holder !== null && from.startsWith('ability: ')) reveal(tracker, holder, from.slice(9));
}

function sideCondition(tracker, on) {
	const side = tracker.sideOf(0);
	const index = tracker.effects.side.get(tracker.effects.id(tracker.field(1)));
	if (index === undefined) return;
	side.conditions[index] = on ? Math.min(255, side.conditions[index] + 1) : 0;
	const {layers = 1} = tracker.effects.sideConditions[index];
	if (side.conditions[index] > layers) side.conditions[index] = layers;
	side.since[index] = tracker.turn;
	side.version++;
}

function swapSideConditions(tracker) {
	const [a, b] = tracker.sides;
	const future = tracker.effects.side.get('futuresight');
	for (let i = 0; i < a.conditions.length; i++) {
		if (i === future) continue;
		[a.conditions[i], b.conditions[i]] = [b.conditions[i], a.conditions[i]];
		[a.since[i], b.since[i]] = [b.since[i], a.since[i]];
	}
	a.version++;
	b.version++;
}

// ---- the rest ----

function preview(tracker) {
	const side = tracker.sides[tracker.field(0).charCodeAt(1) - 49];
	const mon = new Mon(side, tracker.tables, tracker.effects);
	mon.previewed = true;
	readDetails(tracker, mon, tracker.field(1));
	resetLooks(tracker, mon);
	if (tracker.gen > 2 && tracker.fields > 2 && tracker.field(2) === '' && tracker.itemsShown) mon.item = NONE;
	side.mons.push(mon);
}

function aboutMon(tracker) {
	const mon = tracker.mon(0);
	if (mon !== null) revealFrom(tracker, mon);
}

const HANDLERS = new Map(Object.entries({
	'switch': tracker => sendOut(tracker, tracker.fields > 3 ? tracker.effects.id(tracker.from()) : ''),
	'drag': tracker => sendOut(tracker, ''),
	'replace': unmask,
	'swap': swapSlots,
	'faint': faint,
	'move': move,
	'cant': cannot,
	'detailschange': detailsChange,
	'-formechange': formeChange,
	'-transform': transform,
	'-mega': tracker => megaEvolve(tracker, 2),
	'-burst': tracker => megaEvolve(tracker, 2),
	'-primal': tracker => {
		const mon = tracker.mon(0);
		const row = tracker.tables.items.row(tracker.field(1));
		if (mon !== null && row > 0) mon.item = row, changed(mon);
	},
	'-zpower': tracker => {
		const mon = tracker.mon(0);
		if (mon !== null) mon.side.spent.zmove = true;
	},
	'-terastallize': tracker => {
		const mon = tracker.mon(0);
		if (mon === null) return;
		terastallize(tracker, mon, tracker.field(1));
		changed(mon);
	},
	'-start': start,
	'-end': end,
	'-singleturn': singleTurn,
	'-singlemove': tracker => {
		const mon = tracker.mon(0);
		if (mon === null) return;
		volatile(tracker, mon, tracker.effects.id(tracker.field(1)), 1);
		mon.version++;
	},
	'-activate': activate,
	'-prepare': tracker => {
		const mon = tracker.mon(0);
		if (mon === null || tracker.has('|[premajor]')) return;
		volatile(tracker, mon, 'twoturnmove', 1);
		mon.version++;
	},
	'-anim': tracker => {
		const mon = tracker.mon(0);
		if (mon !== null) volatile(tracker, mon, 'twoturnmove', 0);
	},
	'-mustrecharge': tracker => {
		const mon = tracker.mon(0);
		if (mon === null) return;
		volatile(tracker, mon, 'mustrecharge', 1);
		mon.version++;
	},
	'-damage': hp,
	'-heal': hp,
	'-sethp': hp,
	'-status': status,
	'-curestatus': cureStatus,
	'-cureteam': cureTeam,
	'-boost': tracker => boost(tracker, 1),
	'-unboost': tracker => boost(tracker, -1),
	'-setboost': setBoost,
	'-clearboost': tracker => eachBoost(tracker, () => 0),
	'-invertboost': tracker => eachBoost(tracker, value => -value),
	'-clearpositiveboost': tracker => eachBoost(tracker, value => Math.min(0, value)),
	'-clearnegativeboost': tracker => eachBoost(tracker, value => Math.max(0, value)),
	'-clearallboost': clearAllBoosts,
	'-swapboost': swapBoosts,
	'-copyboost': copyBoosts,
	'-ability': ability,
	'-endability': tracker => {
		const mon = tracker.mon(0);
		if (mon === null) return;
		const shown = tracker.field(1);
		if (shown !== '' && !shown.startsWith('[')) reveal(tracker, mon, shown);
		volatile(tracker, mon, 'gastroacid', 1);
		changed(mon);
	},
	'-item': item,
	'-enditem': endItem,
	'-immune': aboutMon,
	'-fail': aboutMon,
	'-block': tracker => {
		const mon = tracker.mon(0);
		const effect = tracker.field(1);
		if (mon === null) return;
		if (effect.startsWith('ability: ')) reveal(tracker, tracker.of() ?? mon, effect.slice(9));
		else if (effect.startsWith('item: ') && mon.item !== NONE) mon.item = tracker.tables.items.row(effect.slice(6)), changed(mon);
	},
	'-weather': weather,
	'-fieldstart': tracker => fieldCondition(tracker, true),
	'-fieldend': tracker => fieldCondition(tracker, false),
	'-sidestart': tracker => sideCondition(tracker, true),
	'-sideend': tracker => sideCondition(tracker, false),
	'-swapsideconditions': swapSideConditions,
	'turn': tracker => {
		endOfTurn(tracker);
		tracker.turn = +tracker.field(0);
	},
	'upkeep': endOfTurn,
	'start': tracker => { tracker.started = true; },
	'teamsize': tracker => { tracker.sides[tracker.field(0).charCodeAt(1) - 49].size = +tracker.field(1); },
	'clearpoke': tracker => { for (const side of tracker.sides) side.mons.length = 0; },
	'poke': preview,
}).map(([name, handle]) => [hashOf(name), handle]));

function hashOf(name) {
	let hash = 0;
	for (let i = 0; i < name.length; i++) hash = Math.imul(hash, 31) + name.charCodeAt(i) | 0;
	return hash;
}

module.exports = {Tracker, BEST_STATS};
