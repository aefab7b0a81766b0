'use strict';
/** What a seat knows of one of its own Pokemon, from requests and from what everybody sees. */

const {Fighter} = require('../fighter');
const {STATUS_INDEX} = require('../tracking/state');

const MOVES = 4;
const FAINTED = '0 fnt';

// What is kept of a move, in one array for all four.
const ROW = 0;
const PP = 1; // last seen in a request; -1 never
const MAX_PP = 2;
const USES_THEN = 3; // public count of uses when the pp was seen
const MOVE_CELLS = 4;

const DIGIT_0 = 48;
const SLASH = 47;
const SPACE = 32;

class Own {
	/** `index`: its number among all that the seat has met in its own team. */
	constructor(ident, index) {
		// looked at in every decision: together at the front, in few cache lines
		this.entry = null; // of the last request
		this.position = -1;
		this.slot = -1; // >= 0 while active
		this.shown = null; // how everybody sees it
		this.shownVersion = 0;
		this.namesThen = 0; // how often anybody on its side was given a name, when it was looked for
		this.index = index;
		this.ident = ident;
		this.name = ident.slice(4);
		this.details = '';
		this.condition = '';
		this.hp = 1;
		this.itemId = null;
		this.item = 0;
		this.teraType = null;
		this.abilityId = null;
		this.ability = 0;
		this.species = 0;
		this.level = 100;
		this.status = 0;
		this.tera = 0;
		this.moveIds = ['', '', '', ''];
		this.moves = new Int16Array(MOVES * MOVE_CELLS);
		for (let m = 0; m < MOVES; m++) this.setMove(m, 0);
		this.fighter = new Fighter();
		this.stats = 0;
		this.followsOwnHp = false; // has a move like Eruption, or Multiscale
		this.matchedAt = -1; // what the match-ups in the row were estimated for
		this.matchedCombat = 0;
		this.matchedShown = null;
		this.matchedStatus = 0;
		this.matchedSpecies = 0;
		this.matchedAbility = 0;
		this.matchedItem = 0;
		this.matchedSlot = -1;
		this.matchedTera = 0;
		this.matchedMaxhp = 0;
		this.matchedHp = -1;
	}

	/** Takes `243/310 par` or `0 fnt`. */
	readCondition(condition) {
		if (this.condition === condition) return;
		this.condition = condition;
		if (condition === FAINTED) {
			this.hp = this.status = 0;
			return;
		}
		let at = 0;
		let hp = 0;
		let max = 0;
		for (let code; (code = condition.charCodeAt(at)) !== SLASH; at++) hp = 10 * hp + code - DIGIT_0;
		for (at++; at < condition.length && condition.charCodeAt(at) !== SPACE; at++) {
			max = 10 * max + condition.charCodeAt(at) - DIGIT_0;
		}
		this.hp = hp / max;
		this.fighter.maxhp = max;
		this.status = at === condition.length ? 0 : STATUS_INDEX.get(condition.slice(at + 1)) ?? 0;
	}

	/** Which of the known moves an offered one is: `hiddenpower` is what the team calls hiddenpowerfire70. */
	moveIndex(id, m) {
		if (this.moveIds[m] === id) return m;
		for (let k = 0; k < MOVES; k++) if (this.moveIds[k] === id) return k;
		for (let k = 0; k < MOVES; k++) if (this.moveIds[k].startsWith(id) && id.length > 5) return k;
		return -1;
	}

	/** Row of move `m` in the table of moves. */
	move(m) {
		return this.moves[m * MOVE_CELLS + ROW];
	}

	setMove(m, row) {
		this.moves[m * MOVE_CELLS + ROW] = row;
		this.moves[m * MOVE_CELLS + PP] = -1;
	}

	/** Keeps what a request tells of move `m`, and returns what share of its PP is left. */
	seePp(m, {pp, maxpp}) {
		const {moves} = this;
		const at = m * MOVE_CELLS;
		moves[at + PP] = pp;
		moves[at + MAX_PP] = maxpp;
		moves[at + USES_THEN] = publicUses(this.shown, moves[at + ROW]);
		return pp / maxpp;
	}

	ppLeft(m, data) {
		const {moves} = this;
		const at = m * MOVE_CELLS;
		const row = moves[at + ROW];
		const uses = publicUses(this.shown, row);
		const pp = moves[at + PP];
		const max = pp < 0 ? data.movePp[row] : moves[at + MAX_PP];
		const left = pp < 0 ? max - uses : pp - Math.max(0, uses - moves[at + USES_THEN]);
		return max > 0 ? Math.max(0, left) / max : 0;
	}
}

function publicUses(mon, row) {
	if (mon === null) return 0;
	for (let i = 0; i < mon.moveCount; i++) if (mon.moves[i] === row) return mon.uses[i];
	return 0;
}

module.exports = {Own, MOVES, FAINTED};
