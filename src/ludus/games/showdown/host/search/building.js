'use strict';
/** Builds a battle in progress from a position and the foe's drawn sets. The seat that searches is always side 0. */

const {tellParts} = require('../engine/logs');
const {NONE} = require('../tables');
const {addFieldConditions, addSideConditions, addStatus, addVolatiles, lockChoice} = require('./conditions');

const STATS = ['atk', 'def', 'spa', 'spd', 'spe'];
const EFFORT = [85, 84, 0, 252, 76, 80, 4, 248]; // tried in this order to explain a stat
const NO_MOVES = new Set(['recharge', 'fight']); // turns in which it cannot do anything
const NAMES = ['Player 1', 'Player 2'];

class Builder {
	/** `setup` is that of a host (setup.js); `Side` is the simulator's class. */
	constructor({Battle, format, dex, observer}, Side) {
		this.Battle = Battle;
		this.Side = Side;
		this.format = format;
		this.dex = dex;
		this.data = observer.data;
	}

	/** Return a battle that waits for choices. `foes` are those that Worlds draws, `seed` decides its chances. */
	build(position, foes, seed) {
		const {Battle, Side, format} = this;
		const battle = new Battle({
			format, formatid: format.id, seed, send: ignore, strictChoices: false, deserialized: true,
		});
		battle.deserialized = false;
		tellParts(battle);
		const own = position.sides[0].team;
		battle.sides[0] = new Side(NAMES[0], battle, 0, own.map(mon => this.#ownSet(mon)));
		const sets = foes.map(({set, mon}) => mon === null ? {...set} : this.#foeSet(set));
		battle.sides[1] = new Side(NAMES[1], battle, 1, sets);
		battle.sides[0].foe = battle.sides[1];
		battle.sides[1].foe = battle.sides[0];
		battle.started = true;
		for (const rule of battle.ruleTable.keys()) {
			if (!'+*-!'.includes(rule.charAt(0))) this.dex.formats.get(rule).onBegin?.call(battle);
		}
		battle.turn = position.turn;
		own.forEach((mon, i) => this.#setOwn(battle.sides[0].pokemon[i], mon));
		foes.forEach(({mon}, i) => mon === null || this.#setFoe(battle.sides[1].pokemon[i], mon));
		for (const side of battle.sides) countFainted(side);
		this.#enter(battle, position);
		ask(battle, position);
		battle.log.length = 0;
		battle.lastMoveLine = -1;
		return battle;
	}

	#ownSet(mon) {
		const set = this.#set({...mon, moves: mon.moves.map(({move}) => move)});
		const base = this.dex.species.get(set.species).baseStats;
		for (const stat of STATS) this.#explain(set, stat, base[stat], mon.stats[stat]);
		return set;
	}

	#foeSet(set) {
		return this.#set({...set, name: set.species});
	}

	/** The simulator's form of a set whose ids are those of the tables. */
	#set({species, name, level, moves, ability, item, tera}) {
		const {data} = this;
		const effort = data.gen < 3 ? 252 : 84;
		return {
			name: '',
			species: name ?? data.species.entries[species - data.species.first].name,
			level,
			moves: moves.map(move => data.moves.ids[move - data.moves.first]).map(id => NO_MOVES.has(id) ? 'splash' : id),
			ability: ability > NONE ? data.abilities.ids[ability - data.abilities.first] : '',
			item: item > NONE ? data.items.ids[item - data.items.first] : '',
			teraType: data.types[tera - 1],
			nature: 'Serious',
			evs: {hp: effort, atk: effort, def: effort, spa: effort, spd: effort, spe: effort},
			ivs: {hp: 31, atk: 31, def: 31, spa: 31, spd: 31, spe: 31},
		};
	}

	/** Chooses effort and individual values that lead to a stat, if some do: it is computed again on every switch. */
	#explain(set, stat, base, wanted) {
		const {gen} = this.data;
		for (const iv of [31, 0]) {
			for (const ev of gen < 3 ? [252, 0] : EFFORT) {
				const points = Math.floor((2 * base + (gen < 3 ? iv & 30 : iv) + Math.floor(ev / 4)) * set.level / 100) + 5;
				if (points !== wanted) continue;
				set.evs[stat] = ev;
				set.ivs[stat] = iv;
				return;
			}
		}
	}

	#setOwn(pokemon, mon) {
		pokemon.baseMaxhp = pokemon.maxhp = mon.maxhp;
		Object.assign(pokemon.storedStats, mon.stats);
		Object.assign(pokemon.baseStoredStats, mon.stats);
		if (pokemon.modifiedStats) Object.assign(pokemon.modifiedStats, mon.stats);
		this.#setFoe(pokemon, mon);
		for (const slot of pokemon.moveSlots) slot.disabled = false;
	}

	/** Sets what both players' Pokemon show. */
	#setFoe(pokemon, mon) {
		if (mon.isRevealed) pokemon.previouslySwitchedIn = 1;
		if (!mon.isAlive) {
			pokemon.hp = 0;
			pokemon.fainted = true;
			return;
		}
		pokemon.hp = Math.max(1, Math.min(pokemon.maxhp, Math.round(mon.hp * pokemon.maxhp)));
		for (const {move, isKnown, pp} of mon.moves) {
			const id = this.data.moves.ids[move - this.data.moves.first];
			const slot = pokemon.baseMoveSlots.find(each => each.id === id || id.startsWith(each.id));
			if (slot && isKnown) slot.pp = Math.round(pp * slot.maxpp);
		}
		if (mon.isTerastallized) {
			pokemon.terastallized = this.data.types[mon.tera - 1];
			pokemon.canTerastallize = null;
		}
	}

	#enter(battle, position) {
		for (const [i, side] of battle.sides.entries()) {
			const pokemon = side.pokemon[0];
			side.active[0] = pokemon;
			pokemon.isActive = pokemon.isStarted = true;
			pokemon.previouslySwitchedIn = 1;
			pokemon.activeTurns = position.sides[i].team[0].activeTurns;
			pokemon.newlySwitched = false;
		}
		for (const [i, side] of battle.sides.entries()) this.#beset(battle, side, position.sides[i]);
		addFieldConditions(battle, position.field);
		for (const side of battle.sides) for (const pokemon of side.active) pokemon.updateSpeed();
		limit(battle.sides[0], position.can);
		spend(battle.sides[1], position.spent);
	}

	/** Statuses, boosts, volatiles and conditions of one side. */
	#beset(battle, side, {team, boosts, volatiles, conditions}) {
		const [active] = side.pokemon;
		const [mon] = team;
		if (mon.isAlive) {
			const last = this.#idOf(mon.moves.find(({isLast}) => isLast));
			if (mon.types[0] > 0) active.setType(this.#typesOf(mon), true);
			active.boostBy(boosts);
			if (last) active.lastMove = active.lastMoveUsed = battle.dex.getActiveMove(last);
			const disabled = this.#idOf(mon.moves.find(({isDisabled}) => isDisabled));
			addVolatiles(battle, active, side.foe.active[0], volatiles, last, disabled);
			lockChoice(battle, active, mon.activeTurns > 0 ? last : '');
		}
		team.forEach((each, i) => {
			if (each.status !== '' && each.isAlive) addStatus(battle, side.pokemon[i], each);
		});
		addSideConditions(battle, side, conditions);
		battle.runEvent('DisableMove', active);
		mon.moves.forEach(({isDisabled}, i) => {
			if (isDisabled && active.moveSlots[i]) active.moveSlots[i].disabled = true;
		});
		active.trapped = mon.isTrapped;
	}

	#typesOf({types}) {
		return types.filter(type => type > 0).map(type => this.data.types[type - 1]);
	}

	#idOf(entry) {
		return entry === undefined ? '' : this.dex.moves.get(this.data.moves.ids[entry.move - this.data.moves.first]).id;
	}
}

function countFainted(side) {
	side.pokemonLeft = side.pokemon.filter(({fainted}) => !fainted).length;
	side.totalFainted = side.pokemon.length - side.pokemonLeft;
}

/** Own gimmicks: the request said which can be used now. */
function limit(side, can) {
	const [active] = side.active;
	if (!can.tera) for (const pokemon of side.pokemon) pokemon.canTerastallize = null;
	if (!can.mega) active.canMegaEvo = active.canMegaEvoX = active.canMegaEvoY = active.canUltraBurst = null;
	if (!can.zmove) side.zMoveUsed = true;
	if (!can.dynamax) side.dynamaxUsed = true;
}

function spend(side, spent) {
	if (spent.tera) for (const pokemon of side.pokemon) pokemon.canTerastallize = null;
	if (spent.mega) {
		for (const pokemon of side.pokemon) pokemon.canMegaEvo = pokemon.canMegaEvoX = pokemon.canMegaEvoY = null;
	}
	if (spent.zmove) side.zMoveUsed = true;
	if (spent.dynamax) side.dynamaxUsed = true;
}

/** Makes the requests of the position: a turn, or replacements in the middle of one. */
function ask(battle, {isSwitch, sides}) {
	if (!isSwitch) {
		battle.makeRequest('move');
		return;
	}
	battle.midTurn = true;
	battle.sides[0].active[0].switchFlag = true;
	if (!sides[1].team[0].isAlive) battle.sides[1].active[0].switchFlag = true;
	battle.makeRequest('switch');
}

function ignore() {}

module.exports = {Builder, NAMES};
