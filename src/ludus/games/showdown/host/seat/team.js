'use strict';
/** The rows of a seat's own Pokemon: what its requests tell, and what everybody sees of them. */

const {NO_BOOSTS} = require('../fighter');
const {NONE} = require('../tables');
const {COLUMN, MOVE_STATE, ONE, ONE8, clearNumbers, eighths, fixed, fixed8, lasted} = require('../columns');
const {standsIn} = require('../tracking/state');
const {MOVES, Own} = require('./own');
const {estimateStats} = require('./stats');

const TEAM = 6;

class Team {
	constructor(seat) {
		this.seat = seat;
		this.observer = seat.observer;
		this.known = [];
		this.order = new Array(TEAM).fill(null);
		this.twins = false; // two of them have one name
		// entries of those on the bench whose rows are up to date while nothing changes there: to look at every Pokemon
		// would fetch all of them from memory
		this.resting = new Array(TEAM).fill(null);
		this.benchThen = 0; // the side's count of changes on the bench at the last update
		// one bit for each place in the team, so that most decisions need not look at who is on the bench
		this.filled = 0; // its row holds something
		this.alive = 0;
		this.hurt = 0; // only its HP has changed
		this.stale = 0; // its match-ups must be estimated again
		this.halving = 0; // has a move like Super Fang
	}

	update(request) {
		const entries = request.side.pokemon;
		const count = Math.min(entries.length, TEAM);
		const {bench} = this.seat.mine;
		const isBenchAsBefore = this.benchThen === bench;
		this.benchThen = bench;
		for (let i = 0; i < count; i++) {
			if (isBenchAsBefore && this.resting[i] === entries[i]) continue;
			const own = this.#see(entries[i], i, request);
			this.resting[i] = this.#rests(own) ? entries[i] : null;
		}
		for (let i = count; i < TEAM; i++) {
			if ((this.filled & 1 << i) === 0) continue;
			this.filled &= ~(1 << i);
			this.alive &= ~(1 << i);
			this.order[i] = this.resting[i] = null;
			this.seat.clearMon(i);
		}
	}

	/** Brings row `i` up to date and returns whom it shows. */
	#see(entry, i, request) {
		const {mine} = this.seat;
		let own = this.order[i];
		if (own !== null && own.entry === entry && own.slot < 0 && own.position === i && this.#isUpToDate(own)) return own;
		if (own === null || own.ident !== entry.ident || this.#ambiguous(own, entry)) own = this.#find(entry, i);
		own.entry = entry;
		own.namesThen = mine.names;
		const slot = entry.active && request.teamPreview !== true ? i : -1;
		const shown = slot >= 0 ? mine.active[slot] : own.shown ?? this.#named(own.name);
		if (own.position === i && slot < 0 && own.slot < 0 && own.condition === entry.condition &&
			own.itemId === entry.item && own.abilityId === (entry.ability ?? entry.baseAbility) &&
			own.details === entry.details && own.shown === shown &&
			(shown === null || own.shownVersion === shown.version)) return own;
		own.position = i;
		own.slot = slot;
		own.shown = shown ?? this.#named(own.name);
		this.#write(own, entry, i, slot >= 0 && request.active ? request.active[slot] : null);
		return own;
	}

	/** Whether nothing but a change on the bench can change what is known of it: an Illusion fights in another's name. */
	#rests({entry, slot, shown}) {
		return slot < 0 && !entry.active && (shown === null || !standsIn(this.seat.mine, shown));
	}

	/** Whether a Pokemon on the bench, told of by the very entry as before, looks as it did to everybody. */
	#isUpToDate({entry, shown, shownVersion, namesThen}) {
		if (entry.active) return false;
		return shown !== null ? shownVersion === shown.version : namesThen === this.seat.mine.names;
	}

	/** Two Pokemon of one name: tell them apart by their stats. */
	#ambiguous(own, entry) {
		return this.twins && own.stats !== statsKey(entry);
	}

	#find(entry, i) {
		if (this.known.length === TEAM && !this.twins) { // a switch: all are known by name
			for (const each of this.known) if (each.ident === entry.ident) return this.#place(each, i);
		}
		let own = null;
		const key = statsKey(entry);
		for (const each of this.known) {
			if (each.ident !== entry.ident) continue;
			if (own !== null) this.twins = true;
			if (own === null || each.stats === key) own = each;
		}
		const taken = own !== null && this.order.indexOf(own) >= 0 && this.order.indexOf(own) < i;
		if (own === null || (this.known.length < TEAM && own.stats !== key && taken)) {
			if (own !== null) this.twins = true;
			own = new Own(entry.ident, this.known.length);
			this.known.push(own);
		}
		own.stats = key;
		return this.#place(own, i);
	}

	#place(own, i) {
		const before = this.order.indexOf(own);
		if (before >= 0) {
			this.order[before] = this.resting[before] = null;
			this.alive &= ~(1 << before);
		}
		this.order[i] = own;
		own.position = -1;
		return own;
	}

	#named(name) {
		for (const mon of this.seat.mine.mons) if (mon.name === name) return mon;
		return null;
	}

	/** Takes in what the request says of one Pokemon. */
	#read(own, entry) {
		const {data, gen} = this.observer;
		if (own.details !== entry.details) {
			own.details = entry.details;
			const comma = entry.details.indexOf(',');
			own.species = data.species.row(comma < 0 ? entry.details : entry.details.slice(0, comma));
			const level = entry.details.indexOf(', L');
			own.level = level < 0 ? 100 : parseInt(entry.details.slice(level + 3), 10) || 100;
		}
		own.readCondition(entry.condition);
		const abilityId = entry.ability ?? entry.baseAbility;
		if (own.itemId !== entry.item) {
			own.itemId = entry.item;
			own.item = entry.item === '' ? NONE : data.items.row(entry.item);
		}
		if (own.abilityId !== abilityId) {
			own.abilityId = abilityId;
			own.ability = gen < 3 || abilityId === '' ? NONE : data.abilities.row(abilityId);
		}
		if (own.teraType !== entry.teraType) {
			own.teraType = entry.teraType;
			own.tera = data.typeIds.get(entry.teraType) ?? 0;
		}
	}

	#write(own, entry, i, active) {
		this.#read(own, entry);
		const {observer} = this;
		const {data} = observer;
		const {shown, slot, fighter} = own;
		const looks = slot >= 0 && shown !== null && (shown.transformed || shown.shown !== shown.species);
		const species = looks ? shown.shown : own.species;
		const terastallized = !!entry.terastallized;
		this.filled |= 1 << i;
		const {at, words} = this.seat;
		const ability = this.#ability(own, shown);
		words[at.species + i] = species;
		words[at.ability + i] = ability;
		words[at.item + i] = own.item;
		const changedTypes = slot >= 0 && shown !== null && (looks || shown.addedType > 0 ||
			shown.volatiles[observer.effects.volatile.typechange] > 0);
		const type1 = changedTypes ? shown.type1 : data.speciesType1[species];
		const type2 = changedTypes ? shown.type2 : data.speciesType2[species];
		const added = changedTypes ? shown.addedType : 0;
		this.seat.types(i, fighter, type1, type2, added, own.tera, terastallized);
		this.#writeNumbers(own, entry, i, active, terastallized);
		own.shownVersion = shown !== null ? shown.version : 0;
		const movesChanged = this.#moves(own, entry, i, active);
		this.#setFighter(own, entry, species, ability, looks && shown.transformed);
		this.#markChanges(own, i, movesChanged);
	}

	/** Writes the numeric columns of row `i`. */
	#writeNumbers(own, entry, i, active, terastallized) {
		const {observer} = this;
		const {shown, slot, fighter} = own;
		const {at, numbers: out} = this.seat;
		const row = at.pokemon + i * observer.pokemonColumns.length;
		clearNumbers(out, row, observer.pokemonColumns.length);
		const alive = own.hp > 0;
		if (alive) this.alive |= 1 << i;
		else this.alive &= ~(1 << i);
		out[row + COLUMN.hp] = fixed(own.hp);
		out[row + COLUMN.alive] = alive ? ONE : 0;
		out[row + COLUMN.present] = ONE;
		out[row + COLUMN.active] = slot >= 0 && alive ? ONE : 0;
		out[row + COLUMN.revealed] = shown !== null && shown.seen ? ONE : 0;
		out[row + COLUMN.level] = fixed(own.level / 100);
		if (own.status > 0) {
			out[row + COLUMN.brn + own.status - 1] = ONE;
			if (shown !== null) out[row + COLUMN.status_turns] = eighths(shown.statusTurns);
		}
		const {stats} = entry;
		out[row + COLUMN.maxhp] = fixed(fighter.maxhp / 500);
		out[row + COLUMN.atk] = fixed(stats.atk / 500);
		out[row + COLUMN.def] = fixed(stats.def / 500);
		out[row + COLUMN.spa] = fixed(stats.spa / 500);
		out[row + COLUMN.spd] = fixed(stats.spd / 500);
		out[row + COLUMN.spe] = fixed(stats.spe / 500);
		if (slot >= 0 && shown !== null) {
			out[row + COLUMN.active_turns] = lasted(this.seat.tracker.turn, shown.enteredTurn);
			out[row + COLUMN.transformed] = shown.transformed ? ONE : 0;
			if (observer.dynamaxedAt >= 0) out[row + observer.dynamaxedAt] = shown.dynamaxed ? ONE : 0;
		}
		if (active !== null) {
			out[row + COLUMN.trapped] = active.trapped ? ONE : 0;
			out[row + COLUMN.maybe_trapped] = active.maybeTrapped ? ONE : 0;
		}
		if (observer.terastallizedAt >= 0) out[row + observer.terastallizedAt] = terastallized ? ONE : 0;
		if (observer.abilityChanceAt >= 0) out[row + observer.abilityChanceAt] = ONE;
		if (observer.itemChanceAt >= 0) out[row + observer.itemChanceAt] = ONE;
		if (observer.teraChanceAt >= 0) out[row + observer.teraChanceAt] = ONE;
		if (observer.speedsAt >= 0) {
			const isQuick = own.item > NONE && own.item === observer.damage.quickItem;
			out[row + observer.speedsAt] = out[row + observer.speedsAt + 1] = fixed((isQuick ? 1.5 : 1) * stats.spe / 500);
		}
	}

	/** Sets what the estimate of damage needs to know; one that has transformed has the stats of its new species. */
	#setFighter(own, {stats}, species, ability, isTransformed) {
		const {shown, slot, fighter} = own;
		fighter.species = species;
		fighter.level = own.level;
		fighter.hp = own.hp;
		fighter.status = own.status;
		fighter.ability = ability;
		fighter.item = own.item;
		fighter.dynamaxed = slot >= 0 && shown !== null && shown.dynamaxed;
		if (isTransformed) {
			const {maxhp} = fighter;
			estimateStats(this.observer.data, fighter, species, own.level);
			fighter.maxhp = maxhp;
		} else {
			fighter.atk = stats.atk;
			fighter.def = stats.def;
			fighter.spa = stats.spa;
			fighter.spd = stats.spd;
			fighter.spe = stats.spe;
		}
		fighter.boosts = slot >= 0 && shown !== null ? shown.boosts : NO_BOOSTS;
	}

	/** Whether the match-ups must be estimated again, or only be held against another HP. */
	#markChanges(own, i, movesChanged) {
		const {fighter, shown} = own;
		const combat = shown !== null && own.slot >= 0 ? shown.combat : 0;
		if (!movesChanged && own.matchedAt === i && own.matchedCombat === combat && own.matchedShown === shown &&
			own.matchedStatus === own.status && own.matchedSpecies === fighter.species &&
			own.matchedAbility === fighter.ability && own.matchedItem === fighter.item && own.matchedSlot === own.slot &&
			own.matchedTera === fighter.tera && own.matchedMaxhp === fighter.maxhp) {
			if (own.matchedHp === own.hp) return;
			own.matchedHp = own.hp;
			this.hurt |= 1 << i;
			if (own.followsOwnHp) this.stale |= 1 << i;
			return;
		}
		own.matchedAt = i;
		own.matchedCombat = combat;
		own.matchedShown = shown;
		own.matchedStatus = own.status;
		own.matchedSpecies = fighter.species;
		own.matchedAbility = fighter.ability;
		own.matchedItem = fighter.item;
		own.matchedSlot = own.slot;
		own.matchedTera = fighter.tera;
		own.matchedMaxhp = fighter.maxhp;
		own.matchedHp = own.hp;
		this.stale |= 1 << i;
		this.halving &= ~(1 << i);
		const {damage} = this.observer;
		own.followsOwnHp = damage.scaled[fighter.ability] > 0;
		for (let m = 0; m < MOVES; m++) {
			const move = this.seat.words[this.seat.at.moves + i * MOVES + m];
			if (damage.followsTargetsHp(move)) this.halving |= 1 << i;
			if (damage.followsUsersHp(move)) own.followsOwnHp = true;
		}
	}

	#ability(own, shown) {
		const {gen} = this.observer;
		// Requests tell the present ability from gen 7 on; before, a changed one is known from the log.
		const told = gen > 2 && gen < 7 && own.slot >= 0 && shown !== null;
		return told && shown.ability !== shown.baseAbility && shown.ability > 0 ? shown.ability : own.ability;
	}

	/** Writes the moves and returns whether they are others than before. */
	#moves(own, entry, i, active) {
		const {data} = this.observer;
		const {moves} = entry;
		for (let m = 0; m < MOVES; m++) {
			const id = m < moves.length ? moves[m] : '';
			if (own.moveIds[m] === id) continue;
			own.moveIds[m] = id;
			own.setMove(m, id === '' ? 0 : data.moves.row(id));
		}
		const {shown} = own;
		const {at, small, words} = this.seat;
		const width = MOVE_STATE.length;
		const last = own.slot >= 0 && shown !== null ? shown.lastMove : 0;
		const offered = active !== null ? active.moves : null;
		let movesChanged = false;
		for (let m = 0; m < MOVES; m++) {
			let row = own.move(m);
			let index = m;
			let disabled = 0;
			let left = -1;
			if (offered !== null) {
				if (m >= offered.length) {
					row = 0;
				} else {
					const move = offered[m];
					index = own.moveIndex(move.id, m);
					row = index >= 0 ? own.move(index) : data.moves.row(move.id);
					if (move.disabled) disabled = ONE8;
					if (index >= 0 && move.maxpp > 0) left = own.seePp(index, move);
				}
			}
			const place = at.moves + i * MOVES + m;
			const state = at.move_state + (i * MOVES + m) * width;
			if (words[place] !== row) {
				words[place] = row;
				movesChanged = true;
			}
			small[state] = row > 0 ? ONE8 : 0;
			small[state + 1] = row === 0 ? 0 : fixed8(left >= 0 ? left : index >= 0 ? own.ppLeft(index, data) : 1);
			small[state + 2] = disabled;
			small[state + 3] = row > 0 && row === last ? ONE8 : 0;
		}
		return movesChanged;
	}
}

function statsKey(entry) {
	const {atk, def, spa, spd, spe} = entry.stats;
	return ((((atk * 1021 + def) * 1021 + spa) * 1021 + spd) * 1021 + spe);
}

module.exports = {Team, TEAM};
