'use strict';
/** Who is there: team preview, switches, illusions, faints, and what each looks like. */

const {
	STATUS_INDEX, Mon, changed, keepMoves, leaveField, resetLooks, setStatus, standsIn, terastallize,
} = require('./state');
const {revealFrom} = require('./belongings');
const {enter} = require('./evidence');
const {useMove} = require('./moves');

const SLEEP = STATUS_INDEX.get('slp');
const TOXIC = STATUS_INDEX.get('tox');
const OF_THE_MASK = ['seen', 'hp', 'percent', 'ruledOut', 'implied', 'leastSpeed', 'mostSpeed', 'status',
	'statusTurns', 'fainted', 'item', 'baseAbility', 'moveCount', 'name',
	'called', 'tera', 'terastallized']; // what an unmasked Illusion gives back to the one it looked like

const handlers = {
	'switch': tracker => sendOut(tracker, tracker.fields > 3 ? tracker.effects.id(tracker.from()) : ''),
	'drag': tracker => sendOut(tracker, ''),
	'replace': unmask,
	'swap': swapSlots,
	'faint': faint,
	'poke': preview,
	'clearpoke': tracker => {
		for (const side of tracker.sides) {
			side.mons.length = 0;
			side.bench++;
		}
	},
	'teamsize': tracker => {
		const side = tracker.sideOf(0);
		side.size = +tracker.field(1);
		side.bench++;
		side.hurt = true;
	},
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
};

function sendOut(tracker, passing) {
	const side = tracker.sideOf(0);
	const slot = tracker.slotOf(0);
	const ident = tracker.field(0);
	const details = tracker.field(1);
	const tera = tracker.gen < 9 ? -1 : details.indexOf(', tera:');
	const bare = tera < 0 ? details : details.slice(0, tera);
	const mon = recalled(side, ident, bare) ?? identify(tracker, side, ident.slice(5), bare, slot);
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
	if (mon.fainted) { // an illusion fainted in its name
		mon.fainted = false;
		side.hurt = true;
	}
	mon.seen = true;
	if (mon.called !== ident) rename(mon, ident);
	if (mon.details !== bare || !known) readDetails(tracker, mon, bare);
	mon.terastallized = false; // the line says so if it is; an illusion is not
	if (tera >= 0) terastallize(tracker, mon, details.slice(tera + 7));
	side.active[slot] = mon;
	side.bench++;
	mon.enteredTurn = tracker.turn;
	mon.lastMove = mon.stayMove = mon.repeated = 0;
	if (mon.status === TOXIC || (mon.status === SLEEP && tracker.gen === 5)) mon.statusTurns = 0; // they begin again
	resetLooks(tracker, mon);
	readCondition(tracker, mon, 2);
	tracker.events.sendOut(side, slot);
	enter(tracker, mon);
}

function rename(mon, ident) {
	mon.called = ident;
	mon.name = ident.slice(5);
	mon.side.names++;
}

/** Whoever was sent out before by the same call and is not on the field, or null. */
function recalled(side, ident, details) {
	for (const mon of side.mons) {
		if (mon.called === ident && mon.details === details && !standsIn(side, mon)) return mon;
	}
	return null;
}

function identify(tracker, side, name, details, slot) {
	const {species} = tracker.tables;
	let found = null;
	for (const mon of side.mons) {
		if (mon.name !== name) continue;
		const elsewhere = side.active.indexOf(mon);
		if (elsewhere >= 0 && elsewhere !== slot) continue;
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

/** Reads `87/100 par` or `0 fnt` in field `i`. */
function readCondition(tracker, mon, i) {
	const text = tracker.field(i);
	const end = text.length;
	let at = 0;
	let hp = 0;
	let max = 0;
	let code = 0;
	for (; at < end && (code = text.charCodeAt(at)) >= 48 && code <= 57; at++) hp = hp * 10 + code - 48;
	if (code === 47) {
		for (at++; at < end && (code = text.charCodeAt(at)) >= 48 && code <= 57; at++) max = max * 10 + code - 48;
	}
	const share = max > 0 ? hp / max : 0;
	mon.percent = percentOf(hp, max, tracker.floors);
	if (share !== mon.hp) {
		mon.hp = share;
		mon.side.hurt = true;
	}
	while (at < end && text.charCodeAt(at) !== 32) at++; // gen 5's colour letter
	const status = at + 4 <= end && max > 0 ? STATUS_INDEX.get(text.slice(at + 1, at + 4)) ?? 0 : 0;
	if (status !== mon.status) setStatus(mon, status);
	mon.version++;
}

/** What everybody sees of HP that the line may tell exactly, to the Pokemon's own player. */
function percentOf(hp, max, floors) {
	if (hp === 0 || max === 100) return hp;
	const percent = 100 * hp / max;
	if (floors) return Math.floor(percent) || 1;
	return hp < max ? Math.min(99, Math.ceil(percent)) : 100;
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
	if (tracker.effects.passesTrap) {
		for (const side of tracker.sides) {
			for (const mon of side.active) if (mon !== null && mon.trapper === from) mon.trapper = to;
		}
	}
	to.volatiles[ids.typechange] = 0;
}

function snapshot(mon) {
	const {uses} = mon;
	return {
		seen: mon.seen, hp: mon.hp, percent: mon.percent, ruledOut: mon.ruledOut, implied: mon.implied,
		leastSpeed: mon.leastSpeed, mostSpeed: mon.mostSpeed,
		status: mon.status, statusTurns: mon.statusTurns, fainted: mon.fainted,
		item: mon.item, baseAbility: mon.baseAbility, moveCount: mon.moveCount, name: mon.name, called: mon.called,
		uses: [uses[0], uses[1], uses[2], uses[3]], // slicing a typed array takes longer than all the rest
		tera: mon.tera, terastallized: mon.terastallized,
	};
}

/** `|replace|`: the Pokemon in that slot has been another one since it came in. */
function unmask(tracker) {
	const side = tracker.sideOf(0);
	const slot = tracker.slotOf(0);
	const mask = side.active[slot];
	if (mask === null) return;
	const before = mask.snapshot ?? snapshot(mask);
	const real = identify(tracker, side, tracker.field(0).slice(5), tracker.field(1), slot);
	if (real === mask) return;
	rename(real, tracker.field(0));
	readDetails(tracker, real, tracker.field(1));
	resetLooks(tracker, real);
	real.seen = true;
	if (mask.item !== before.item) real.item = mask.item;
	for (const key of ['hp', 'percent',
		'status', 'statusTurns', 'fainted', 'lastMove', 'disabledMove', 'dynamaxed', 'tera',
		'terastallized', 'enteredTurn', 'stallTurn', 'trapper']) real[key] = mask[key];
	real.boosts.set(mask.boosts);
	real.volatiles.set(mask.volatiles);
	for (let i = 0; i < mask.moveCount; i++) {
		const uses = mask.uses[i] - (i < before.moveCount ? before.uses[i] : 0);
		if (uses > 0 || i >= before.moveCount) useMove(tracker, real, mask.moves[i], uses);
	}
	side.active[slot] = real;
	side.bench++;
	for (const key of OF_THE_MASK) mask[key] = before[key];
	side.names++;
	side.hurt = true;
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

function faint(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	mon.side.fainted++;
	mon.side.hurt = true;
	mon.fainted = true;
	mon.hp = mon.percent = 0;
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
	mon.side.bench++;
	for (const each of active) if (each !== null) changed(each);
}

function preview(tracker) {
	const side = tracker.sideOf(0);
	const mon = new Mon(side, tracker.tables, tracker.effects);
	mon.previewed = true;
	readDetails(tracker, mon, tracker.field(1));
	resetLooks(tracker, mon);
	side.mons.push(mon);
	side.bench++;
}

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

module.exports = {handlers, readCondition};
