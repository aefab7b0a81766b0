'use strict';
/**
 * What a Pokemon does not have, because it would have shown it: items that heal, hurt or bind, and abilities that are
 * announced. Only items and abilities that are not known matter.
 */

const {
	AIRBORNE, ANNOUNCED, BALLOON, BOOTS, CHESTO, CHOICE, GUARD, HALF_BERRY, HELMET, LEFTOVERS, LIFE_ORB, LUM, ORB,
	QUARTER_BERRY, WEATHER,
} = require('../kinds');
const {STATUSES} = require('../tables');

const SLEEP = STATUSES.indexOf('slp') + 1;
const HAZARDS = new Set(['Stealth Rock', 'Spikes', 'G-Max Steelsurge']);
const WEARING = new Set(['psn', 'brn', 'Sandstorm', 'Hail', 'Leech Seed', 'leechseed']); // nothing to Magic Guard

/** `mon` has none of these kinds. */
function rule(mon, kinds) {
	if ((mon.ruledOut & kinds) === kinds) return;
	mon.ruledOut |= kinds;
	mon.version++;
	mon.side.bench++;
}

/** `mon` comes in. */
function enter(tracker, mon) {
	mon.entered = tracker.weather < 0 && tracker.terrain < 0;
	const {gen, effects} = tracker;
	if (gen < 8 || mon.item !== 0) return;
	if (mon.side.conditions[effects.side.get('stealthrock')] > 0) expect(tracker, mon, BOOTS);
}

/** `mon` uses a move of its own choice. */
function seeMove(tracker, mon, row) {
	if (mon.dynamaxed) return;
	if (mon.stayMove > 0 && mon.stayMove !== row && mon.item === 0 && works(tracker, mon)) rule(mon, CHOICE);
	mon.repeated = mon.stayMove === row ? mon.repeated + 1 : 1;
	mon.stayMove = row;
}

/** `mon` loses HP; `from` is '' for what the move in hand does. */
function seeDamage(tracker, mon, from) {
	if (from !== '') {
		if (HAZARDS.has(from)) {
			mon.awaits &= ~BOOTS;
			rule(mon, from === 'Spikes' ? BOOTS | GUARD | AIRBORNE : BOOTS | GUARD);
		} else if (WEARING.has(from)) {
			rule(mon, GUARD);
		}
		return;
	}
	const {mover, events} = tracker;
	if (events.actor < 0 || mover === null || mover.side === mon.side) return;
	const {tables, gen} = tracker;
	if (gen > 3 && mover.item === 0 && works(tracker, mover)) expect(tracker, mover, LIFE_ORB);
	if (gen > 4 && mon.item === 0 && tables.moveContact[mover.lastMove] > 0 && works(tracker, mon) &&
		!tracker.unscathed.has(mover.ability)) expect(tracker, mon, HELMET);
}

/** An item of this kind would show itself before the next action. */
function expect(tracker, mon, kind) {
	if (mon.awaits === 0) tracker.awaiting.push(mon);
	mon.awaits |= kind;
}

/** The action in hand is over: what has not shown itself by now is not there. */
function settle(tracker) {
	const {awaiting} = tracker;
	if (awaiting.length === 0) return;
	for (const mon of awaiting) {
		const kinds = mon.awaits;
		mon.awaits = 0;
		if (mon.item !== 0 || mon.fainted) continue;
		if (kinds & ~BOOTS) rule(mon, kinds & ~BOOTS);
		if (kinds & BOOTS && (mon.implied & BOOTS) === 0) {
			mon.implied |= BOOTS;
			mon.version++;
			mon.side.bench++;
		}
	}
	awaiting.length = 0;
}

/** The turn's end has done its work on all who are there. */
function atUpkeep(tracker) {
	settle(tracker);
	for (const side of tracker.sides) {
		for (const mon of side.active) {
			if (mon !== null && !mon.fainted && mon.item === 0 && works(tracker, mon)) rule(mon, notShown(tracker, mon));
		}
	}
}

function notShown(tracker, mon) {
	const {percent, status, side} = mon;
	const {effects, ids} = tracker;
	let kinds = 0;
	const isHurt = percent + tracker.events.lossOf(mon) < 100; // before the turn's end took anything
	if (isHurt && !(ids.healblock >= 0 && mon.volatiles[ids.healblock] > 0)) kinds |= LEFTOVERS;
	if (status > 0) kinds |= LUM | (status === SLEEP ? CHESTO : 0);
	else if (!(side.conditions[effects.side.get('safeguard')] > 0) && tracker.terrain < 0) kinds |= ORB;
	if (percent <= 50 && !isUnnerved(tracker, side)) kinds |= percent <= 25 ? HALF_BERRY | QUARTER_BERRY : HALF_BERRY;
	return kinds;
}

function isUnnerved(tracker, side) {
	for (const foe of tracker.sides[1 - side.index].active) {
		if (foe !== null && (foe.ability === tracker.unnerve || tracker.asOne.has(foe.ability))) return true;
	}
	return false;
}

/** A turn begins: whoever is there has announced what is announced on entry. */
function atTurn(tracker) {
	settle(tracker);
	const {gas} = tracker;
	for (const side of tracker.sides) {
		for (const mon of side.active) {
			if (mon === null || mon.fainted) continue;
			let kinds = mon.item === 0 && works(tracker, mon) ? BALLOON : 0;
			if (mon.ability === 0 && !mon.transformed && !gas) kinds |= mon.entered ? ANNOUNCED | WEATHER : ANNOUNCED;
			if (kinds > 0) rule(mon, kinds);
		}
	}
}

/** Whether items work for it. */
function works({effects, ids, rooms}, mon) {
	const room = effects.room.get('magicroom');
	return !(room !== undefined && rooms[room] > 0) && !(ids.embargo >= 0 && mon.volatiles[ids.embargo] > 0);
}

module.exports = {atTurn, atUpkeep, enter, rule, seeDamage, seeMove, settle};
