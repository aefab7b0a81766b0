'use strict';
/** What Pokemon do: moves used, moves stopped. */

const {STATUS_INDEX, changed, keepMoves, releaseGen1, volatile} = require('./state');
const {reveal} = require('./belongings');
const {seeMove, settle} = require('./evidence');

const SLEEP = STATUS_INDEX.get('slp');

const handlers = {
	'move': move,
	'cant': cannot,
};

function move(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	const {tables, effects} = tracker;
	const row = tables.moves.row(tracker.field(1));
	const from = tracker.fields > 3 ? tracker.from() : '';
	const source = from === '' ? '' : effects.id(from);
	tracker.mover = mon;
	tracker.spender = null;
	mon.version++;
	// gen 2 does not say so
	const isSecondTurn = tracker.gen === 2 && row === mon.lastMove && mon.volatiles[tracker.ids.twoturnmove] > 0;
	volatile(mon, tracker.ids.twoturnmove, 0);
	clearUntilMove(tracker, mon);
	const continued = source === 'lockedmove' || isSecondTurn ||
		(source !== '' && source !== 'pursuit' && tables.moves.row(source) === row && tracker.gen < 3);
	settle(tracker);
	if (source === '' || continued) {
		tracker.orders.move(tracker, mon, row);
		tracker.events.move(mon, row);
	}
	if (row === 0 || row === tracker.struggle) return;
	if (source === '') seeMove(tracker, mon, row);
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
	volatile(mon, tracker.ids.lockedmove, tracker.locking.has(row) && !tracker.has('[notarget]') ? 1 : 0);
	if (tracker.gen === 1) {
		if (!tracker.binding.has(row)) releaseGen1(tracker, mon);
		volatile(mon, tracker.ids.partiallytrapped, 0); // whoever acts is free
	}
}

function cannot(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	const reason = tracker.field(1);
	const id = tracker.effects.id(reason);
	if (reason.startsWith('ability: ')) reveal(tracker, mon, reason.slice(9));
	if (tracker.fields > 3 && tracker.of() !== null) return; // Damp and its like: `mon` stopped somebody else
	mon.version++;
	settle(tracker);
	tracker.events.stop(mon);
	if (id === 'slp' && mon.status === SLEEP) mon.statusTurns++;
	volatile(mon, tracker.ids.mustrecharge, 0);
	if (tracker.gen > 1 || id === 'par') loseGrip(tracker, mon);
	clearUntilMove(tracker, mon);
	const tried = tracker.tables.moves.row(tracker.field(2));
	if (tried > 0 && tried !== tracker.struggle) useMove(tracker, mon, tried, 0);
}

function useMove(tracker, mon, row, uses) {
	const {moves} = mon;
	let i = 0;
	while (i < mon.moveCount && moves[i] !== row) i++;
	if (i === mon.moveCount) {
		if (i === 4) return;
		moves[i] = row;
		mon.uses[i] = 0;
		mon.moveCount++;
	}
	mon.uses[i] = Math.min(255, mon.uses[i] + uses);
}

/** What being stopped ends; gen 1 forgets it only when paralysed or hurt by confusion. */
function loseGrip(tracker, mon) {
	volatile(mon, tracker.ids.lockedmove, 0);
	volatile(mon, tracker.ids.twoturnmove, 0);
	if (tracker.gen === 1) {
		volatile(mon, tracker.ids.bide, 0);
		releaseGen1(tracker, mon);
	}
}

function clearUntilMove(tracker, mon) {
	volatile(mon, tracker.ids.destinybond, 0);
	volatile(mon, tracker.ids.grudge, 0);
	volatile(mon, tracker.ids.glaiverush, 0);
	volatile(mon, tracker.ids.rage, 0);
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

module.exports = {handlers, useMove, loseGrip, mimic};
