'use strict';
/** One seat's observation: its own team from its requests, the foe's and the field from the public state. */

const {Fighter} = require('./damage');
const {Matchups} = require('./matchups');
const {TYPE_COUNT, BOOSTS, NONE} = require('./tables');
const {STATUS_INDEX} = require('./tracking/state');
const {COLUMN, MOVE_STATE} = require('./columns');

const TEAM = 6;
const MOVES = 4;
const FAINTED = '0 fnt';
const ARRAYS = {uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, float32: Float32Array};

/** What a seat knows of one of its own Pokemon. */
class Own {
	constructor(ident) {
		this.ident = ident;
		this.name = ident.slice(4);
		this.position = -1;
		this.slot = -1; // >= 0 while active
		this.shown = null; // how everybody sees it
		this.shownVersion = 0;
		this.details = '';
		this.condition = '';
		this.itemId = null;
		this.item = 0;
		this.teraType = null;
		this.abilityId = null;
		this.ability = 0;
		this.species = 0;
		this.level = 100;
		this.hp = 1;
		this.status = 0;
		this.tera = 0;
		this.moveIds = ['', '', '', ''];
		this.moves = new Uint16Array(MOVES);
		this.pp = new Float32Array(MOVES).fill(-1); // last seen in a request; -1 never
		this.maxPp = new Float32Array(MOVES);
		this.usesThen = new Uint8Array(MOVES); // public count of uses when the pp was seen
		this.fighter = new Fighter();
		this.followsFoesHp = false; // has a move like Super Fang
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
		this.hurt = false; // only its HP has changed
		this.stale = true; // its match-ups must be estimated again
	}
}

/** One seat's row, kept from decision to decision: only what changed is written again. */
class Seat {
	constructor(observer, tracker, index) {
		this.observer = observer;
		this.tracker = tracker;
		this.mine = tracker.sides[index];
		this.foe = tracker.sides[1 - index];
		this.team = [];
		this.order = new Array(TEAM).fill(null);
		this.filled = new Uint8Array(TEAM); // own rows that hold something
		this.foes = new Array(TEAM).fill(undefined); // whom each foe row shows now
		this.foeVersions = new Int32Array(TEAM);
		this.foeCombat = new Int32Array(observer.slots);
		this.foeFighters = Array.from({length: observer.slots}, () => new Fighter());
		this.foeStale = new Array(observer.slots).fill(true);
		this.foeFollowsHp = new Array(observer.slots).fill(false);
		this.foeHalves = new Array(observer.slots).fill(false); // has a move like Super Fang
		this.foeOwners = new Array(observer.slots).fill(null);
		this.unseen = TEAM;
		this.twins = false; // two own Pokemon have one name
		const buffer = new ArrayBuffer(observer.nbytes);
		this.bytes = new Uint8Array(buffer);
		for (const [name, dtype, shape] of observer.leaves()) {
			this[`${name}Leaf`] = new ARRAYS[dtype](buffer, observer.offsets[name], shape.reduce((a, b) => a * b, 1));
		}
		this.matchups = observer.full ? new Matchups(this) : null;
	}

	/** Brings the row up to date with the public state and this request. */
	update(request) {
		this.#ownTeam(request);
		this.#foeTeam();
		this.#slots();
		this.#field(request);
		if (this.matchups !== null) this.matchups.update();
	}

	// ---- own team ----

	#ownTeam(request) {
		const entries = request.side.pokemon;
		const count = Math.min(entries.length, TEAM);
		const preview = request.teamPreview === true;
		for (let i = 0; i < count; i++) {
			const entry = entries[i];
			let own = this.order[i];
			if (own === null || own.ident !== entry.ident || this.#ambiguous(own, entry)) own = this.#find(entry, i);
			const slot = entry.active && !preview ? i : -1;
			const shown = slot >= 0 ? this.mine.active[slot] : own.shown ?? this.#named(own.name);
			if (own.position === i && slot < 0 && own.slot < 0 && own.condition === entry.condition &&
				own.itemId === entry.item && own.abilityId === (entry.ability ?? entry.baseAbility) &&
				own.details === entry.details && own.shown === shown &&
				(shown === null || own.shownVersion === shown.version)) continue;
			own.position = i;
			own.slot = slot;
			own.shown = shown ?? this.#named(own.name);
			this.#ownMon(own, entry, i, slot >= 0 && request.active ? request.active[slot] : null);
		}
		for (let i = count; i < TEAM; i++) {
			if (!this.filled[i]) continue;
			this.filled[i] = 0;
			this.order[i] = null;
			this.clearMon(i);
		}
	}

	/** Two Pokemon of one name: tell them apart by their stats. */
	#ambiguous(own, entry) {
		return this.twins && own.stats !== statsKey(entry);
	}

	#find(entry, i) {
		const key = statsKey(entry);
		let own = null;
		for (const each of this.team) {
			if (each.ident !== entry.ident) continue;
			if (own !== null) this.twins = true;
			if (own === null || each.stats === key) own = each;
		}
		if (own === null || (this.team.length < TEAM && own.stats !== key && this.order.indexOf(own) >= 0 && this.order.indexOf(own) < i)) {
			if (own !== null) this.twins = true;
			own = new Own(entry.ident);
			this.team.push(own);
		}
		own.stats = key;
		const before = this.order.indexOf(own);
		if (before >= 0) this.order[before] = null;
		this.order[i] = own;
		own.position = -1;
		return own;
	}

	#named(name) {
		for (const mon of this.mine.mons) if (mon.name === name) return mon;
		return null;
	}

	#ownMon(own, entry, i, active) {
		const {observer} = this;
		const {data} = observer;
		const {shown, slot} = own;
		const {fighter} = own;
		if (own.details !== entry.details) {
			own.details = entry.details;
			const comma = entry.details.indexOf(',');
			own.species = data.species.row(comma < 0 ? entry.details : entry.details.slice(0, comma));
			const level = entry.details.indexOf(', L');
			own.level = level < 0 ? 100 : parseInt(entry.details.slice(level + 3), 10) || 100;
		}
		this.#condition(own, entry.condition);
		const abilityId = entry.ability ?? entry.baseAbility;
		if (own.itemId !== entry.item) {
			own.itemId = entry.item;
			own.item = entry.item === '' ? NONE : data.items.row(entry.item);
		}
		if (own.abilityId !== abilityId) {
			own.abilityId = abilityId;
			own.ability = observer.gen < 3 || abilityId === '' ? NONE : data.abilities.row(abilityId);
		}
		if (own.teraType !== entry.teraType) {
			own.teraType = entry.teraType;
			own.tera = data.typeIds.get(entry.teraType) ?? 0;
		}
		const looks = slot >= 0 && shown !== null && (shown.transformed || shown.shown !== shown.species);
		const species = looks ? shown.shown : own.species;
		const terastallized = !!entry.terastallized;
		this.filled[i] = 1;
		this.speciesLeaf[i] = species;
		this.abilityLeaf[i] = this.#ownAbility(own, shown);
		this.itemLeaf[i] = own.item;
		const changedTypes = slot >= 0 && shown !== null && (looks || shown.addedType > 0 ||
			shown.volatiles[observer.effects.volatile.typechange] > 0);
		const type1 = changedTypes ? shown.type1 : data.speciesType1[species];
		const type2 = changedTypes ? shown.type2 : data.speciesType2[species];
		const added = changedTypes ? shown.addedType : 0;
		this.#types(i, fighter, type1, type2, added, own.tera, terastallized);

		const row = i * observer.pokemonColumns.length;
		const out = this.pokemonLeaf;
		out.fill(0, row, row + observer.pokemonColumns.length);
		const alive = own.hp > 0;
		out[row + COLUMN.hp] = own.hp;
		out[row + COLUMN.alive] = alive ? 1 : 0;
		out[row + COLUMN.present] = 1;
		out[row + COLUMN.active] = slot >= 0 && alive ? 1 : 0;
		out[row + COLUMN.revealed] = shown !== null && shown.seen ? 1 : 0;
		out[row + COLUMN.level] = own.level / 100;
		if (own.status > 0) {
			out[row + COLUMN.brn + own.status - 1] = 1;
			if (shown !== null) out[row + COLUMN.status_turns] = Math.min(1, shown.statusTurns / 8);
		}
		const {stats} = entry;
		out[row + COLUMN.maxhp] = fighter.maxhp / 500;
		out[row + COLUMN.atk] = stats.atk / 500;
		out[row + COLUMN.def] = stats.def / 500;
		out[row + COLUMN.spa] = stats.spa / 500;
		out[row + COLUMN.spd] = stats.spd / 500;
		out[row + COLUMN.spe] = stats.spe / 500;
		if (slot >= 0 && shown !== null) {
			out[row + COLUMN.active_turns] = lasted(this.tracker.turn, shown.enteredTurn);
			out[row + COLUMN.transformed] = shown.transformed ? 1 : 0;
			if (observer.dynamaxedAt >= 0) out[row + observer.dynamaxedAt] = shown.dynamaxed ? 1 : 0;
		}
		if (active !== null) {
			out[row + COLUMN.trapped] = active.trapped ? 1 : 0;
			out[row + COLUMN.maybe_trapped] = active.maybeTrapped ? 1 : 0;
		}
		if (observer.terastallizedAt >= 0) out[row + observer.terastallizedAt] = terastallized ? 1 : 0;
		own.shownVersion = shown !== null ? shown.version : 0;
		const movesChanged = this.#ownMoves(own, entry, i, active);

		fighter.species = species;
		fighter.level = own.level;
		fighter.hp = own.hp;
		fighter.status = own.status;
		fighter.ability = this.abilityLeaf[i];
		fighter.item = this.itemLeaf[i];
		fighter.dynamaxed = slot >= 0 && shown !== null && shown.dynamaxed;
		if (looks && shown.transformed) {
			const {maxhp} = fighter;
			estimateStats(data, fighter, species, own.level);
			fighter.maxhp = maxhp;
		} else {
			fighter.atk = stats.atk;
			fighter.def = stats.def;
			fighter.spa = stats.spa;
			fighter.spd = stats.spd;
			fighter.spe = stats.spe;
		}
		if (slot >= 0 && shown !== null) fighter.boosts.set(shown.boosts);
		else fighter.boosts.fill(0);
		this.#markChanges(own, i, movesChanged);
	}

	/** Whether the match-ups must be estimated again, or only be held against another HP. */
	#markChanges(own, i, movesChanged) {
		const {fighter, shown} = own;
		const combat = shown !== null && own.slot >= 0 ? shown.combat : 0;
		if (!movesChanged && own.matchedAt === i && own.matchedCombat === combat && own.matchedShown === shown &&
			own.matchedStatus === own.status && own.matchedSpecies === fighter.species && own.matchedAbility === fighter.ability &&
			own.matchedItem === fighter.item && own.matchedSlot === own.slot && own.matchedTera === fighter.tera &&
			own.matchedMaxhp === fighter.maxhp) {
			if (own.matchedHp === own.hp) return;
			own.matchedHp = own.hp;
			own.hurt = true;
			if (own.followsOwnHp) own.stale = true;
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
		own.stale = true;
		const {damage} = this.observer;
		own.followsFoesHp = false;
		own.followsOwnHp = damage.scaled.has(fighter.ability);
		for (let m = 0; m < MOVES; m++) {
			const move = this.movesLeaf[i * MOVES + m];
			if (damage.followsTargetsHp(move)) own.followsFoesHp = true;
			if (damage.followsUsersHp(move)) own.followsOwnHp = true;
		}
	}

	#condition(own, condition) {
		if (own.condition === condition) return;
		own.condition = condition;
		if (condition === FAINTED) {
			own.hp = own.status = 0;
			return;
		}
		const slash = condition.indexOf('/');
		const space = condition.indexOf(' ');
		const max = parseInt(condition.slice(slash + 1), 10);
		own.hp = parseInt(condition, 10) / max;
		own.fighter.maxhp = max;
		own.status = space < 0 ? 0 : STATUS_INDEX.get(condition.slice(space + 1)) ?? 0;
	}

	#ownAbility(own, shown) {
		const {gen} = this.observer;
		// Requests tell the present ability from gen 7 on; before, a changed one is known from the log.
		if (gen > 2 && gen < 7 && own.slot >= 0 && shown !== null && shown.ability !== shown.baseAbility && shown.ability > 0) return shown.ability;
		return own.ability;
	}

	/** Writes the moves and returns whether they are others than before. */
	#ownMoves(own, entry, i, active) {
		const {data} = this.observer;
		const {moves} = entry;
		for (let m = 0; m < MOVES; m++) {
			const id = m < moves.length ? moves[m] : '';
			if (own.moveIds[m] === id) continue;
			own.moveIds[m] = id;
			own.moves[m] = id === '' ? 0 : data.moves.row(id);
			own.pp[m] = -1;
		}
		const {shown} = own;
		const out = this.movesLeaf;
		const state = this.move_stateLeaf;
		const width = MOVE_STATE.length;
		const last = own.slot >= 0 && shown !== null ? shown.lastMove : 0;
		const offered = active !== null ? active.moves : null;
		let movesChanged = false;
		for (let m = 0; m < MOVES; m++) {
			let row = own.moves[m];
			let index = m;
			let disabled = 0;
			if (offered !== null) {
				if (m >= offered.length) {
					row = 0;
				} else {
					const move = offered[m];
					index = this.#moveIndex(own, move.id, m);
					row = index >= 0 ? own.moves[index] : data.moves.row(move.id);
					if (move.disabled) disabled = 1;
					if (index >= 0 && move.maxpp > 0) this.#seePp(own, index, move);
				}
			}
			const at = (i * MOVES + m) * width;
			if (out[i * MOVES + m] !== row) {
				out[i * MOVES + m] = row;
				movesChanged = true;
			}
			state[at] = row > 0 ? 1 : 0;
			state[at + 1] = row > 0 && index >= 0 ? this.#ppLeft(own, index) : row > 0 ? 1 : 0;
			state[at + 2] = disabled;
			state[at + 3] = row > 0 && row === last ? 1 : 0;
		}
		return movesChanged;
	}

	/** Which of the known moves an offered one is: requests write `hiddenpower` for what the team calls hiddenpowerfire70. */
	#moveIndex(own, id, m) {
		if (own.moveIds[m] === id) return m;
		for (let k = 0; k < MOVES; k++) if (own.moveIds[k] === id) return k;
		for (let k = 0; k < MOVES; k++) if (own.moveIds[k].startsWith(id) && id.length > 5) return k;
		return -1;
	}

	#seePp(own, index, move) {
		own.pp[index] = move.pp;
		own.maxPp[index] = move.maxpp;
		own.usesThen[index] = publicUses(own.shown, own.moves[index]);
	}

	#ppLeft(own, index) {
		const row = own.moves[index];
		const uses = publicUses(own.shown, row);
		const max = own.pp[index] < 0 ? this.observer.data.movePp[row] : own.maxPp[index];
		const left = own.pp[index] < 0 ? max - uses : own.pp[index] - Math.max(0, uses - own.usesThen[index]);
		return max > 0 ? Math.max(0, left) / max : 0;
	}

	#types(i, fighter, type1, type2, added, tera, terastallized) {
		const stellar = tera === TYPE_COUNT - 1;
		const retyped = terastallized && tera > 0 && !stellar;
		fighter.born1 = type1;
		fighter.born2 = type2;
		fighter.type1 = retyped ? tera : type1;
		fighter.type2 = retyped ? 0 : type2;
		fighter.addedType = retyped ? 0 : added;
		fighter.tera = terastallized ? tera : 0;
		this.typesLeaf[i * 3] = fighter.type1;
		this.typesLeaf[i * 3 + 1] = fighter.type2 || fighter.addedType;
		this.typesLeaf[i * 3 + 2] = tera;
	}

	clearMon(i) {
		const {observer} = this;
		const width = observer.pokemonColumns.length;
		this.speciesLeaf[i] = this.abilityLeaf[i] = this.itemLeaf[i] = 0;
		this.typesLeaf.fill(0, i * 3, i * 3 + 3);
		this.movesLeaf.fill(0, i * MOVES, (i + 1) * MOVES);
		this.pokemonLeaf.fill(0, i * width, (i + 1) * width);
		this.move_stateLeaf.fill(0, i * MOVES * MOVE_STATE.length, (i + 1) * MOVES * MOVE_STATE.length);
	}

	// ---- foe team ----

	#foeTeam() {
		const {tracker, foe, observer} = this;
		let i = 0;
		if (tracker.started) for (; i < observer.slots; i++) this.#foeMon(i, foe.active[i], false);
		let unseen = foe.size;
		for (const mon of foe.mons) {
			if (mon.seen) unseen--;
			if (standsIn(foe, mon) || !mon.seen) continue;
			if (i < TEAM) this.#foeMon(i++, mon, false);
		}
		this.unseen = Math.max(0, unseen);
		let named = 0;
		if (unseen > 0) {
			for (const mon of foe.mons) {
				if (mon.seen || standsIn(foe, mon)) continue;
				named++;
				if (i < TEAM) this.#foeMon(i++, mon, false);
			}
		}
		for (let rest = unseen - named; rest > 0 && i < TEAM; rest--) this.#foeMon(i++, null, true);
		for (; i < TEAM; i++) this.#foeMon(i, null, false);
	}

	/** Row `i` shows `mon`; or one that exists but is not known (`hidden`); or nothing. */
	#foeMon(i, mon, hidden) {
		const key = mon ?? hidden;
		const version = mon !== null ? mon.version : 0;
		if (this.foes[i] === key && this.foeVersions[i] === version) return;
		this.foes[i] = key;
		this.foeVersions[i] = version;
		this.clearMon(TEAM + i);
		const {observer} = this;
		const row = (TEAM + i) * observer.pokemonColumns.length;
		const out = this.pokemonLeaf;
		if (mon === null) {
			if (hidden) out[row + COLUMN.hp] = out[row + COLUMN.alive] = out[row + COLUMN.present] = 1;
			if (i < observer.slots) this.foeCombat[i] = -1, this.foeStale[i] = true;
			return;
		}
		const {data} = observer;
		const active = standsIn(this.foe, mon);
		const p = TEAM + i;
		this.speciesLeaf[p] = mon.shown;
		this.abilityLeaf[p] = mon.ability;
		this.itemLeaf[p] = mon.item;
		const fighter = i < observer.slots && active ? this.foeFighters[i] : scratch;
		this.#types(p, fighter, mon.type1, mon.type2, mon.addedType, mon.tera, mon.terastallized);
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
			out[row + COLUMN.active_turns] = lasted(this.tracker.turn, mon.enteredTurn);
			out[row + COLUMN.transformed] = mon.transformed ? 1 : 0;
			if (observer.dynamaxedAt >= 0) out[row + observer.dynamaxedAt] = mon.dynamaxed ? 1 : 0;
		}
		if (observer.terastallizedAt >= 0) out[row + observer.terastallizedAt] = mon.terastallized ? 1 : 0;
		const width = MOVE_STATE.length;
		for (let m = 0; m < mon.moveCount; m++) {
			const move = mon.moves[m];
			const state = (p * MOVES + m) * width;
			const pp = mon.transformed ? Math.min(5, data.movePp[move]) : data.movePp[move];
			this.movesLeaf[p * MOVES + m] = move;
			this.move_stateLeaf[state] = 1;
			this.move_stateLeaf[state + 1] = pp > 0 ? Math.max(0, 1 - mon.uses[m] / pp) : 0;
			this.move_stateLeaf[state + 2] = move === mon.disabledMove ? 1 : 0;
			this.move_stateLeaf[state + 3] = active && move === mon.lastMove ? 1 : 0;
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
		fighter.boosts.set(mon.boosts);
		if (this.foeCombat[i] === mon.combat && this.foeOwners[i] === mon) return;
		this.foeCombat[i] = mon.combat;
		this.foeOwners[i] = mon;
		this.foeStale[i] = true;
		this.foeFollowsHp[i] = observer.damage.scaled.has(mon.ability);
		this.foeHalves[i] = false;
		for (let m = 0; m < mon.moveCount; m++) {
			if (observer.damage.followsUsersHp(mon.moves[m])) this.foeFollowsHp[i] = true;
			if (observer.damage.followsTargetsHp(mon.moves[m])) this.foeHalves[i] = true;
		}
	}

	// ---- slots and field ----

	#slots() {
		const {slots, effects} = this.observer;
		const width = effects.volatiles.length;
		for (let s = 0; s < 2 * slots; s++) {
			const mon = s < slots ? this.mine.active[s] : this.foe.active[s - slots];
			const boosts = s * BOOSTS.length;
			const volatiles = s * width;
			if (mon === null) {
				this.boostsLeaf.fill(0, boosts, boosts + BOOSTS.length);
				this.volatilesLeaf.fill(0, volatiles, volatiles + width);
				continue;
			}
			this.boostsLeaf.set(mon.boosts, boosts);
			this.volatilesLeaf.set(mon.volatiles, volatiles);
		}
	}

	#field(request) {
		const {tracker, observer, mine, foe} = this;
		const {slots, variants} = observer;
		const out = this.fieldLeaf;
		const at = observer.fieldAt;
		const {turn} = tracker;
		out.fill(0);
		if (tracker.weather >= 0) {
			out[at.weather + tracker.weather] = 1;
			out[at.weather_turns] = lasted(turn, tracker.weatherSince);
		}
		if (tracker.terrain >= 0) {
			out[at.terrain + tracker.terrain] = 1;
			out[at.terrain_turns] = lasted(turn, tracker.terrainSince);
		}
		for (let i = 0; i < tracker.rooms.length; i++) {
			if (tracker.rooms[i] > 0) {
				out[at.rooms + i] = 1;
				if (i === 0) out[at.trickroom_turns] = lasted(turn, tracker.roomSince[i]);
			}
		}
		this.#side(mine, at.own);
		this.#side(foe, at.foe);
		out[at.turn] = Math.min(turn, 500) / 100;
		const kind = request.teamPreview ? at.request_preview : request.forceSwitch ? at.request_switch : request.active ? at.request_move : -1;
		if (kind >= 0) out[kind] = 1;
		for (let s = 0; s < slots; s++) {
			if (request.forceSwitch && request.forceSwitch[s]) out[at.force + s] = 1;
			const active = request.active ? request.active[s] : null;
			if (!active) continue;
			for (let v = 1; v < variants.length; v++) {
				if (canUse(active, variants[v])) out[at.can + (v - 1) * slots + s] = 1;
			}
		}
		for (let v = 1; v < variants.length; v++) if (foe.spent[variants[v]]) out[at.spent + v - 1] = 1;
		let alive = 0;
		const {pokemon} = request.side;
		for (let i = 0; i < pokemon.length; i++) if (pokemon[i].condition !== FAINTED) alive++;
		out[at.foe_unrevealed] = this.unseen / TEAM;
		out[at.own_alive] = alive / TEAM;
		out[at.foe_alive] = (foe.size - foe.fainted) / TEAM;
	}

	#side(side, at) {
		if (side.version === 1) return; // nothing was ever laid there
		const {sideColumn, sideLayers, sideTimed} = this.observer.effects;
		const {conditions} = side;
		for (let i = 0; i < conditions.length; i++) {
			if (conditions[i] === 0) continue;
			const column = at + sideColumn[i];
			this.fieldLeaf[column] = conditions[i] / sideLayers[i];
			if (sideTimed[i]) this.fieldLeaf[column + 1] = lasted(this.tracker.turn, side.since[i]);
		}
	}
}

const scratch = new Fighter();

function standsIn(side, mon) {
	const {active} = side;
	return active[0] === mon || (active.length > 1 && active[1] === mon);
}

/** Turns since `then` as a column: 8 and more are 1. */
function lasted(turn, then) {
	const share = (turn - then) / 8;
	return share > 1 ? 1 : share;
}

function publicUses(mon, row) {
	if (mon === null) return 0;
	for (let i = 0; i < mon.moveCount; i++) if (mon.moves[i] === row) return mon.uses[i];
	return 0;
}

function statsKey(entry) {
	const {atk, def, spa, spd, spe} = entry.stats;
	return ((((atk * 1021 + def) * 1021 + spa) * 1021 + spd) * 1021 + spe);
}

/** Neutral nature, all of gen 1's and 2's stat experience, later 84 effort points in every stat (random battles' spread). */
function estimateStats(data, fighter, species, level) {
	const {baseStats} = data;
	const at = species * 6;
	const bonus = data.gen < 3 ? 93 : 52;
	const share = level / 100;
	fighter.atk = Math.floor((2 * baseStats[at + 1] + bonus) * share) + 5;
	fighter.def = Math.floor((2 * baseStats[at + 2] + bonus) * share) + 5;
	fighter.spa = Math.floor((2 * baseStats[at + 3] + bonus) * share) + 5;
	fighter.spd = Math.floor((2 * baseStats[at + 4] + bonus) * share) + 5;
	fighter.spe = Math.floor((2 * baseStats[at + 5] + bonus) * share) + 5;
	estimateHp(data, fighter, species, level);
}

function estimateHp(data, fighter, species, level) {
	const base = data.baseStats[species * 6];
	const bonus = data.gen < 3 ? 93 : 52;
	fighter.maxhp = base === 1 ? 1 : Math.floor((2 * base + bonus) * level / 100) + level + 10;
}

function canUse(active, variant) {
	switch (variant) {
	case 'mega': return !!(active.canMegaEvo || active.canMegaEvoX || active.canUltraBurst);
	case 'megay': return !!active.canMegaEvoY;
	case 'zmove': return !!active.canZMove;
	case 'dynamax': return !!active.canDynamax;
	default: return !!active.canTerastallize;
	}
}

module.exports = {Seat};
