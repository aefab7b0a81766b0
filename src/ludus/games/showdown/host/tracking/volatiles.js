'use strict';
/** What passes: volatile conditions, and effects that activate. */

const {NONE} = require('../tables');
const {changed, volatile} = require('./state');
const {reveal, revealFrom} = require('./belongings');
const {mimic, useMove} = require('./moves');

const STALLING = new Set(['protect', 'endure', 'maxguard', 'wideguard', 'quickguard', 'detect']);
const BEST_STATS = ['atk', 'def', 'spa', 'spd', 'spe'];
const SINGLE_TURN = new Map([
	['protect', 'protect'], ['maxguard', 'protect'], ['endure', 'endure'], ['followme', 'followme'],
	['ragepowder', 'followme'], ['spotlight', 'followme'], ['helpinghand', 'helpinghand'],
]);
const TRAPPING = new Set([
	'bind', 'wrap', 'clamp', 'firespin', 'whirlpool', 'sandtomb', 'magmastorm', 'infestation', 'snaptrap', 'thundercage',
	'gmaxcentiferno', 'gmaxsandblast',
]);

const MUDDLING = new Set(['quickclaw', 'quickdraw', 'custapberry']); // who moves first by them is not the faster one

const handlers = {
	'-start': start,
	'-end': end,
	'-singleturn': singleTurn,
	'-singlemove': tracker => {
		const mon = tracker.mon(0);
		if (mon === null) return;
		volatile(mon, tracker.ids[tracker.effects.id(tracker.field(1))], 1);
		tracker.guarded = true;
		mon.version++;
	},
	'-activate': activate,
	'-prepare': tracker => {
		const mon = tracker.mon(0);
		if (mon === null || tracker.has('[premajor]')) return;
		volatile(mon, tracker.ids.twoturnmove, 1);
		mon.version++;
	},
	'-anim': tracker => {
		const mon = tracker.mon(0);
		if (mon !== null) volatile(mon, tracker.ids.twoturnmove, 0);
	},
	'-mustrecharge': tracker => {
		const mon = tracker.mon(0);
		if (mon === null) return;
		volatile(mon, tracker.ids.mustrecharge, 1);
		mon.version++;
	},
};

function start(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	const {effects, tables} = tracker;
	const id = effects.id(tracker.field(1));
	mon.version++;
	revealFrom(tracker, mon);
	switch (id) {
	case 'typechange': return changeTypes(tracker, mon);
	case 'typeadd':
		mon.combat++;
		mon.addedType = tables.typeIds.get(tracker.field(2)) ?? 0;
		break;
	case 'dynamax':
		mon.combat++;
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
		target.version++;
		return;
	}
	case 'confusion':
		volatile(mon, tracker.ids.lockedmove, 0);
		break;
	}
	const index = effects.volatile[id];
	tracker.guarded = true;
	if (index >= 0) mon.volatiles[index] = 1;
	else if (index === undefined) startCounted(tracker, mon, id);
}

/** `perish2`, `stockpile3`, `fallen1`, `protosynthesisatk`. */
function startCounted(tracker, mon, id) {
	const last = id.charCodeAt(id.length - 1) - 48;
	if (id.startsWith('perish')) volatile(mon, tracker.ids.perish, 4 - last);
	else if (id.startsWith('stockpile')) volatile(mon, tracker.ids.stockpile, last);
	else if (id.startsWith('fallen')) volatile(mon, tracker.ids.fallen, last);
	for (const name of ['protosynthesis', 'quarkdrive']) {
		if (id.startsWith(name)) volatile(mon, tracker.ids[name], 1 + BEST_STATS.indexOf(id.slice(name.length)));
	}
}

function end(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	const {effects} = tracker;
	mon.version++;
	const id = effects.id(tracker.field(1));
	if (tracker.has('[partiallytrapped]')) {
		return volatile(mon, id === 'octolock' ? tracker.ids.octolock : tracker.ids.partiallytrapped, 0);
	}
	switch (id) {
	case 'typechange':
		mon.combat++;
		mon.type1 = tracker.tables.speciesType1[mon.shown];
		mon.type2 = tracker.tables.speciesType2[mon.shown];
		break;
	case 'dynamax':
		mon.combat++;
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
	volatile(mon, tracker.ids[name], 0);
}

function changeTypes(tracker, mon) {
	const {typeIds} = tracker.tables;
	const text = tracker.field(2);
	mon.combat++;
	volatile(mon, tracker.ids.typechange, 1);
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

function singleTurn(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	const id = tracker.effects.id(tracker.field(1));
	mon.version++;
	tracker.guarded = true;
	const name = SINGLE_TURN.get(id);
	if (name !== undefined) volatile(mon, tracker.ids[name], 1);
	if (STALLING.has(id)) {
		const index = tracker.effects.volatile.stall;
		if (index >= 0) mon.volatiles[index] = Math.min(6, mon.volatiles[index] + 1);
		mon.stallTurn = tracker.turn;
	}
}

function endOfTurn(tracker) {
	for (const side of tracker.sides) {
		for (const mon of side.active) if (mon !== null) mon.version++;
	}
	if (tracker.guarded) dropGuards(tracker);
}

function dropGuards(tracker) {
	const {ids} = tracker;
	tracker.guarded = false;
	for (const side of tracker.sides) {
		for (const mon of side.active) {
			if (mon === null) continue;
			volatile(mon, ids.protect, 0);
			volatile(mon, ids.endure, 0);
			volatile(mon, ids.followme, 0);
			volatile(mon, ids.helpinghand, 0);
			if (mon.stallTurn !== tracker.turn) volatile(mon, ids.stall, 0);
			else tracker.guarded = true;
		}
	}
}

function activate(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	const {effects, tables} = tracker;
	const effect = tracker.field(1);
	const id = effects.id(effect);
	mon.version++;
	if (MUDDLING.has(id)) tracker.orders.muddle();
	if (effect.startsWith('ability: ')) return activateAbility(tracker, mon, id, effect.slice(9));
	if (effect.startsWith('item: ')) {
		mon.combat++;
		if (!tracker.has('[consumed]') && mon.item !== NONE) mon.item = tables.items.row(effect.slice(6));
		return;
	}
	switch (id) {
	case 'protect':
		return tracker.events.foil(mon, false);
	case 'trapped':
		volatile(mon, tracker.ids.trapped, 1);
		mon.trapper = tracker.mover === mon ? null : tracker.mover;
		return;
	case 'mimic': return mimic(tracker, mon, tracker.field(2));
	case 'poltergeist':
		mon.combat++;
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
		volatile(mon, tracker.ids.bide, 1);
		return;
	}
	if (tracker.gen > 1 && TRAPPING.has(id)) volatile(mon, tracker.ids.partiallytrapped, 1);
}

function activateAbility(tracker, mon, id, name) {
	const of = tracker.of();
	mon.combat++;
	switch (id) {
	case 'mummy':
	case 'lingeringaroma': {
		const target = tracker.mon(2);
		reveal(tracker, mon, name);
		if (target === null) return;
		const old = tracker.tables.abilities.row(tracker.keyword('[ability]'));
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
		volatile(mon, tracker.ids.commanding, 1);
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
	changed(mon);
	changed(target);
}

module.exports = {handlers, endOfTurn};
