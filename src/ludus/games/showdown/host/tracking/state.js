'use strict';
/** The nouns of the tracker, and the changes that several kinds of lines make to them. */

const {STATUSES, NONE} = require('../tables');

const STATUS_INDEX = new Map(STATUSES.map((status, i) => [status, i + 1]));

/** One Pokemon as everybody sees it. Rows and type ids are those of tables.js. */
class Mon {
	constructor(side, tables, effects) {
		// looked at in every decision: together at the front, in few cache lines
		this.version = 1; // grows with every change
		this.combat = 1; // grows with every change that matters for damage, other than HP and moves that are shown
		this.seen = false; // sent out at least once
		this.fainted = false;
		this.hp = 1;
		this.percent = 100; // HP as everybody sees it
		this.name = ''; // '' until it has been sent out (known from team preview alone)
		this.called = ''; // as the line called it that sent it out last: `p1a: Pikachu`
		this.side = side;
		this.details = '';
		this.species = 0; // of its lasting forme
		this.shown = 0; // what it looks like now: forme changes and Transform included
		this.level = 100;
		this.previewed = false;
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
		this.stayMove = 0; // the move it used last since it came in
		this.repeated = 0; // how often in a row
		this.ruledOut = 0; // kinds of items and abilities that it does not have (tracking/evidence.js)
		this.implied = 0; // kinds that it has
		this.awaits = 0; // kinds that would show themselves before the next action
		this.entered = false; // has been there when abilities were announced, and the air was clear
		this.leastSpeed = 0; // with its item, without boosts; what the foe found out by its own Speed
		this.mostSpeed = Infinity;
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
		this.belief = null; // what is probable of the rest (beliefs/sets.js); made when it is first asked for
	}
}

class Side {
	constructor(index, slots, effects) {
		this.index = index;
		this.mons = []; // in order of reveal; team preview counts as one
		this.names = 0; // grows when one of them gets a name
		this.bench = 1; // grows when one that is not on the field may have changed, and when others are
		this.active = new Array(slots).fill(null);
		this.size = 6;
		this.fainted = 0;
		this.strength = 1; // in [0, 1]: see strengthOf in observe.js
		this.hurt = true; // HP or faints have changed since `strength` was computed
		this.conditions = new Uint8Array(effects.sideConditions.length);
		this.since = new Uint16Array(effects.sideConditions.length);
		this.spent = {mega: false, zmove: false, dynamax: false, tera: false};
		this.version = 1; // grows when its conditions change
	}
}

/** Whether that Pokemon is on the field. */
function standsIn({active}, mon) {
	return active[0] === mon || (active.length > 1 && active[1] === mon);
}

function changed(mon) {
	mon.version++;
	mon.combat++;
}

function setStatus(mon, status) {
	mon.status = status;
	mon.statusTurns = 0;
	mon.version++;
	mon.combat++;
}

/** Sets a volatile by its index; -1 and undefined are those that this generation has not. */
function volatile(mon, index, value) {
	if (index >= 0) mon.volatiles[index] = value;
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
	if (mon.kept) restoreMoves(mon);
	mon.transformed = false;
	mon.ability = mon.baseAbility;
	mon.version++;
	mon.combat++;
}

function leaveField(tracker, mon) {
	const {boosts, volatiles} = mon;
	for (let i = 0; i < boosts.length; i++) boosts[i] = 0;
	for (let i = 0; i < volatiles.length; i++) volatiles[i] = 0;
	mon.dynamaxed = false;
	mon.lastMove = mon.stayMove = mon.repeated = 0;
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
	if (foe !== null) volatile(foe, tracker.ids.partiallytrapped, 0);
}

function keepMoves(mon) {
	mon.kept ??= {moves: mon.moves.slice(), uses: mon.uses.slice(), moveCount: mon.moveCount};
}

/** Brings back the moves from before Transform, or the one in whose place Mimic put another. */
function restoreMoves(mon) {
	const {moves, uses, moveCount} = mon.kept;
	for (let m = 0; m < moves.length; m++) {
		if (!mon.transformed && (m >= moveCount || mon.moves[m] === moves[m])) continue;
		mon.moves[m] = moves[m];
		mon.uses[m] = uses[m];
	}
	if (mon.transformed) mon.moveCount = moveCount;
	mon.kept = null;
}

module.exports = {
	Mon, Side, STATUS_INDEX, changed, keepMoves, leaveField, releaseGen1, resetLooks, setStatus, standsIn, terastallize,
	volatile,
};
