'use strict';
/** The rows of the foe's Pokemon: what everybody sees, with stats estimated from it. */

const {Fighter} = require('../fighter');
const {standsIn} = require('../tracking/state');
const {COLUMN, EVIDENCE, MOVE_STATE, ONE, ONE8, eighths, fixed, fixed8, lasted} = require('../columns');
const {MOVES} = require('./own');
const {estimateHp, estimateStats} = require('./stats');
const {ABILITY, ITEM, TERA} = require('../beliefs/sets');
const {TEAM} = require('./team');

const PROBABLE = 0.9; // estimates of damage count on an ability or item that is as probable as this

/** The foe in one slot, as the match-ups meet it. */
class Facing {
	constructor() {
		this.mon = null;
		this.combat = 0; // the Pokemon's count of changes when this was filled
		this.ability = 0; // what estimates of damage counted on, known or probable
		this.item = 0;
		this.stale = true; // match-ups must be estimated again
		this.moves = 0; // how many it was known to have
		this.learnt = MOVES; // the first of its moves that must be estimated, if not all
		this.followsHp = false; // has a move like Eruption, or Multiscale
		this.halves = false; // has a move like Super Fang
		this.matchedHp = 0; // what the match-ups in the row were held against
		this.estimated = 0; // one bit for each own Pokemon whose match-ups are in the row
		this.fighter = new Fighter();
	}
}

class Foes {
	constructor(seat) {
		this.seat = seat;
		this.observer = seat.observer;
		this.shown = new Array(TEAM).fill(undefined); // whom each row shows now
		this.versions = new Array(TEAM).fill(0);
		this.unseen = TEAM;
		this.benchThen = 0; // the foe's count of changes on the bench when all rows were looked at
		this.benched = Array.from({length: TEAM}, () => new Fighter()); // those on the bench, by row
		this.facing = Array.from({length: seat.observer.slots}, () => new Facing());
	}

	update() {
		const {seat, observer} = this;
		const {tracker, foe} = seat;
		let i = 0;
		if (tracker.started) for (; i < observer.slots; i++) this.#row(i, foe.active[i], false);
		if (this.benchThen === foe.bench) return;
		this.benchThen = foe.bench;
		let unseen = foe.size;
		for (const mon of foe.mons) {
			if (mon.seen) unseen--;
			if (standsIn(foe, mon) || !mon.seen) continue;
			if (i < TEAM) this.#row(i++, mon, false);
		}
		this.unseen = Math.max(0, unseen);
		let named = 0;
		if (unseen > 0) {
			for (const mon of foe.mons) {
				if (mon.seen || standsIn(foe, mon)) continue;
				named++;
				if (i < TEAM) this.#row(i++, mon, false);
			}
		}
		for (let rest = unseen - named; rest > 0 && i < TEAM; rest--) this.#row(i++, null, true);
		for (; i < TEAM; i++) this.#row(i, null, false);
	}

	/** Row `i` shows `mon`; or one that exists but is not known (`hidden`); or nothing. */
	#row(i, mon, hidden) {
		const key = mon ?? hidden;
		const version = mon !== null ? mon.version : 0;
		if (this.shown[i] === key && this.versions[i] === version) return;
		this.shown[i] = key;
		this.versions[i] = version;
		this.seat.clearMon(TEAM + i);
		const {observer} = this;
		const {at, words, numbers: out} = this.seat;
		const row = at.pokemon + (TEAM + i) * observer.pokemonColumns.length;
		if (mon === null) {
			if (hidden) out[row + COLUMN.hp] = out[row + COLUMN.alive] = out[row + COLUMN.present] = ONE;
			if (i < observer.slots) this.facing[i].combat = -1, this.facing[i].stale = true;
			return;
		}
		const active = standsIn(this.seat.foe, mon);
		const p = TEAM + i;
		words[at.species + p] = mon.shown;
		words[at.ability + p] = mon.ability;
		words[at.item + p] = mon.item;
		const facing = i < observer.slots && active ? this.facing[i] : null;
		const fighter = facing !== null ? facing.fighter : this.benched[i];
		this.seat.types(p, fighter, mon.type1, mon.type2, mon.addedType, mon.tera, mon.terastallized);
		fighter.ability = mon.ability;
		fighter.item = mon.item;
		const belief = observer.beliefs === null || mon.transformed ? null : observer.beliefs.about(mon);
		if (observer.beliefs !== null) this.#writeBelief(p, row, mon, belief, fighter);
		const alive = !mon.fainted;
		out[row + COLUMN.hp] = alive ? fixed(mon.hp) : 0;
		out[row + COLUMN.alive] = alive ? ONE : 0;
		out[row + COLUMN.present] = ONE;
		out[row + COLUMN.active] = active && alive ? ONE : 0;
		out[row + COLUMN.revealed] = mon.seen ? ONE : 0;
		out[row + COLUMN.level] = fixed(mon.level / 100);
		if (mon.status > 0) {
			out[row + COLUMN.brn + mon.status - 1] = ONE;
			out[row + COLUMN.status_turns] = eighths(mon.statusTurns);
		}
		this.#writeStats(row, mon, fighter);
		if (active) {
			out[row + COLUMN.active_turns] = lasted(this.seat.tracker.turn, mon.enteredTurn);
			out[row + COLUMN.transformed] = mon.transformed ? ONE : 0;
			if (observer.dynamaxedAt >= 0) out[row + observer.dynamaxedAt] = mon.dynamaxed ? ONE : 0;
		}
		if (observer.terastallizedAt >= 0) out[row + observer.terastallizedAt] = mon.terastallized ? ONE : 0;
		this.#writeEvidence(row, mon, fighter);
		this.#writeMoves(p, mon, active);
		if (belief !== null) this.#writeProbableMoves(p, mon.moveCount, belief);
		fighter.hp = alive ? mon.hp : 0;
		if (mon.transformed) estimateHp(observer.data, fighter, mon.species, mon.level);
		fighter.species = mon.shown;
		fighter.level = mon.level;
		fighter.status = mon.status;
		fighter.dynamaxed = mon.dynamaxed;
		fighter.boosts = mon.boosts;
		if (facing !== null) this.#markChanges(facing, mon, p);
	}

	/** Writes what is known of its Speed, and what it does not have. */
	#writeEvidence(row, mon, fighter) {
		const {speedsAt, evidenceAt} = this.observer;
		const {numbers: out} = this.seat;
		if (speedsAt >= 0) {
			fighter.leastSpeed = mon.leastSpeed;
			fighter.mostSpeed = mon.mostSpeed;
			out[row + speedsAt] = fixed(mon.leastSpeed / 500);
			out[row + speedsAt + 1] = fixed(Math.min(2, mon.mostSpeed / 500));
		}
		if (evidenceAt < 0) return;
		out[row + evidenceAt] = eighths(mon.repeated);
		for (let k = 1; k < EVIDENCE.length; k++) {
			out[row + evidenceAt + k] = mon.item === 0 && mon.ruledOut & EVIDENCE[k][1] ? ONE : 0;
		}
	}

	/** Writes the moves of a Pokemon that were seen into row `p`. */
	#writeMoves(p, mon, active) {
		const {at, words, small} = this.seat;
		const {movePp} = this.observer.data;
		const width = MOVE_STATE.length;
		for (let m = 0; m < mon.moveCount; m++) {
			const move = mon.moves[m];
			const state = at.move_state + (p * MOVES + m) * width;
			const pp = mon.transformed ? Math.min(5, movePp[move]) : movePp[move];
			words[at.moves + p * MOVES + m] = move;
			small[state] = ONE8;
			small[state + 1] = pp > 0 ? fixed8(Math.max(0, 1 - mon.uses[m] / pp)) : 0;
			small[state + 2] = move === mon.disabledMove ? ONE8 : 0;
			small[state + 3] = active && move === mon.lastMove ? ONE8 : 0;
		}
	}

	/** Writes the estimated stats, which `fighter` holds afterwards. */
	#writeStats(row, mon, fighter) {
		const {numbers: out} = this.seat;
		estimateStats(this.observer.data, fighter, mon.shown, mon.level);
		out[row + COLUMN.maxhp] = fixed(fighter.maxhp / 500);
		out[row + COLUMN.atk] = fixed(fighter.atk / 500);
		out[row + COLUMN.def] = fixed(fighter.def / 500);
		out[row + COLUMN.spa] = fixed(fighter.spa / 500);
		out[row + COLUMN.spd] = fixed(fighter.spd / 500);
		out[row + COLUMN.spe] = fixed(fighter.spe / 500);
	}

	/** Writes ability, item and tera type where they are not known, and how probable each is. 1 stands for known. */
	#writeBelief(p, row, mon, belief, fighter) {
		const {abilityChanceAt, itemChanceAt, teraChanceAt} = this.observer;
		const {at, bytes, words, numbers: out} = this.seat;
		if (abilityChanceAt >= 0) {
			if (mon.ability > 0) {
				out[row + abilityChanceAt] = ONE;
			} else if (belief !== null && belief.ability > 0) {
				words[at.ability + p] = belief.ability;
				out[row + abilityChanceAt] = fixed(belief.of[ABILITY]);
				if (belief.of[ABILITY] >= PROBABLE) fighter.ability = belief.ability;
			}
		}
		if (itemChanceAt >= 0) {
			if (mon.item > 0) {
				out[row + itemChanceAt] = ONE;
			} else if (belief !== null && belief.item > 0) {
				words[at.item + p] = belief.item;
				out[row + itemChanceAt] = fixed(belief.of[ITEM]);
				if (belief.of[ITEM] >= PROBABLE) fighter.item = belief.item;
			}
		}
		if (teraChanceAt >= 0) {
			if (mon.tera > 0) {
				out[row + teraChanceAt] = ONE;
			} else if (belief !== null && belief.tera > 0) {
				bytes[at.types + p * 3 + 2] = belief.tera;
				out[row + teraChanceAt] = fixed(belief.of[TERA]);
			}
		}
	}

	/** Fills the places of moves that were not seen with the most probable ones. */
	#writeProbableMoves(p, first, {moves, chances}) {
		const {at, words, small} = this.seat;
		for (let m = first; m < MOVES && moves[m - first] > 0; m++) {
			const state = at.move_state + (p * MOVES + m) * MOVE_STATE.length;
			words[at.moves + p * MOVES + m] = moves[m - first];
			small[state] = fixed8(chances[m - first]);
			small[state + 1] = ONE8;
		}
	}

	/** Whether the match-ups must be estimated again, or only those of moves that were not known before. */
	#markChanges(facing, mon, p) {
		const {damage} = this.observer;
		const {at, words} = this.seat;
		const {moveCount} = mon;
		let first = 0;
		const {ability, item} = facing.fighter;
		if (facing.combat === mon.combat && facing.mon === mon && facing.ability === ability && facing.item === item) {
			if (facing.moves === moveCount) return;
			first = facing.moves;
			if (facing.learnt > first) facing.learnt = first;
		} else {
			facing.combat = mon.combat;
			facing.mon = mon;
			facing.stale = true;
			facing.ability = ability;
			facing.item = item;
			facing.followsHp = damage.scaled[ability] > 0;
			facing.halves = false;
		}
		facing.moves = moveCount;
		for (let m = first; m < MOVES; m++) { // those that were not seen are probable ones, or 0
			const move = words[at.moves + p * MOVES + m];
			if (damage.followsUsersHp(move)) facing.followsHp = true;
			if (damage.followsTargetsHp(move)) facing.halves = true;
		}
	}
}

module.exports = {Foes};
