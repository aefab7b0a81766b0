'use strict';
/** The rows of the foe's Pokemon: what everybody sees, with stats estimated from it. */

const {Fighter} = require('../damage');
const {COLUMN, MOVE_STATE, lasted} = require('../columns');
const {MOVES} = require('./own');
const {estimateHp, estimateStats} = require('./stats');
const {TEAM} = require('./team');

class Foes {
	constructor(seat) {
		const {slots} = seat.observer;
		this.seat = seat;
		this.observer = seat.observer;
		this.shown = new Array(TEAM).fill(undefined); // whom each row shows now
		this.versions = new Int32Array(TEAM);
		this.unseen = TEAM;
		// of the active ones, by slot
		this.fighters = Array.from({length: slots}, () => new Fighter());
		this.combat = new Int32Array(slots);
		this.owners = new Array(slots).fill(null);
		this.stale = new Array(slots).fill(true); // match-ups must be estimated again
		this.followsHp = new Array(slots).fill(false);
		this.halves = new Array(slots).fill(false); // has a move like Super Fang
	}

	update() {
		const {seat, observer} = this;
		const {tracker, foe} = seat;
		let i = 0;
		if (tracker.started) for (; i < observer.slots; i++) this.#row(i, foe.active[i], false);
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
		const row = (TEAM + i) * observer.pokemonColumns.length;
		const out = this.seat.pokemonLeaf;
		if (mon === null) {
			if (hidden) out[row + COLUMN.hp] = out[row + COLUMN.alive] = out[row + COLUMN.present] = 1;
			if (i < observer.slots) this.combat[i] = -1, this.stale[i] = true;
			return;
		}
		const {data} = observer;
		const active = standsIn(this.seat.foe, mon);
		const p = TEAM + i;
		this.seat.speciesLeaf[p] = mon.shown;
		this.seat.abilityLeaf[p] = mon.ability;
		this.seat.itemLeaf[p] = mon.item;
		const fighter = i < observer.slots && active ? this.fighters[i] : scratch;
		this.seat.types(p, fighter, mon.type1, mon.type2, mon.addedType, mon.tera, mon.terastallized);
		const alive = !mon.fainted;
		out[row + COLUMN.hp] = alive ? mon.hp : 0;
		out[row + COLUMN.alive] = alive ? 1 : 0;
		out[row + COLUMN.present] = 1;
		out[row + COLUMN.active] = active && alive ? 1 : 0;
		out[row + COLUMN.revealed] = mon.seen ? 1 : 0;
		out[row + COLUMN.level] = mon.level / 100;
		if (mon.status > 0) {
			out[row + COLUMN.brn + mon.status - 1] = 1;
			out[row + COLUMN.status_turns] = Math.min(1, mon.statusTurns / 8);
		}
		estimateStats(data, fighter, mon.shown, mon.level);
		out[row + COLUMN.maxhp] = fighter.maxhp / 500;
		out[row + COLUMN.atk] = fighter.atk / 500;
		out[row + COLUMN.def] = fighter.def / 500;
		out[row + COLUMN.spa] = fighter.spa / 500;
		out[row + COLUMN.spd] = fighter.spd / 500;
		out[row + COLUMN.spe] = fighter.spe / 500;
		if (active) {
			out[row + COLUMN.active_turns] = lasted(this.seat.tracker.turn, mon.enteredTurn);
			out[row + COLUMN.transformed] = mon.transformed ? 1 : 0;
			if (observer.dynamaxedAt >= 0) out[row + observer.dynamaxedAt] = mon.dynamaxed ? 1 : 0;
		}
		if (observer.terastallizedAt >= 0) out[row + observer.terastallizedAt] = mon.terastallized ? 1 : 0;
		const width = MOVE_STATE.length;
		for (let m = 0; m < mon.moveCount; m++) {
			const move = mon.moves[m];
			const state = (p * MOVES + m) * width;
			const pp = mon.transformed ? Math.min(5, data.movePp[move]) : data.movePp[move];
			this.seat.movesLeaf[p * MOVES + m] = move;
			this.seat.move_stateLeaf[state] = 1;
			this.seat.move_stateLeaf[state + 1] = pp > 0 ? Math.max(0, 1 - mon.uses[m] / pp) : 0;
			this.seat.move_stateLeaf[state + 2] = move === mon.disabledMove ? 1 : 0;
			this.seat.move_stateLeaf[state + 3] = active && move === mon.lastMove ? 1 : 0;
		}
		if (fighter === scratch) return;
		fighter.hp = alive ? mon.hp : 0;
		if (mon.transformed) estimateHp(data, fighter, mon.species, mon.level);
		fighter.species = mon.shown;
		fighter.level = mon.level;
		fighter.ability = mon.ability;
		fighter.item = mon.item;
		fighter.status = mon.status;
		fighter.dynamaxed = mon.dynamaxed;
		fighter.boosts = mon.boosts;
		if (this.combat[i] === mon.combat && this.owners[i] === mon) return;
		this.combat[i] = mon.combat;
		this.owners[i] = mon;
		this.stale[i] = true;
		this.followsHp[i] = observer.damage.scaled.has(mon.ability);
		this.halves[i] = false;
		for (let m = 0; m < mon.moveCount; m++) {
			if (observer.damage.followsUsersHp(mon.moves[m])) this.followsHp[i] = true;
			if (observer.damage.followsTargetsHp(mon.moves[m])) this.halves[i] = true;
		}
	}
}

const scratch = new Fighter();

function standsIn(side, mon) {
	const {active} = side;
	return active[0] === mon || (active.length > 1 && active[1] === mon);
}

module.exports = {Foes};
