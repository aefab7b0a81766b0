'use strict';
/**
 * Requests that share what has not changed.
 *
 * Every request describes all Pokemon of a side, and most of them are on the bench and as they were. An entry is
 * built once and stands in all requests until something it tells has changed; then another takes its place, so that
 * requests given out stay as they were. Nobody may write to an entry, and nothing in the simulator does.
 */

const ENTRY = Symbol('ludus.entry');

/** Their names in a request tell more than the id: a type or a power. */
const DESCRIBED_MOVES = new Set(['hiddenpower', 'return', 'frustration']);

/** Their target in a request depends on the user, not on the slot alone. */
const AIMED_BY_USER = new Set(['curse', 'pollenpuff', 'terastarstorm']);

/** An entry and the values it was built from. */
class Kept {
	constructor(pokemon, entry) {
		this.keep(pokemon, entry);
	}

	keep(pokemon, entry) {
		this.entry = entry;
		this.ident = pokemon.fullname;
		this.pokeball = pokemon.pokeball;
		this.moveSlots = pokemon.moveSlots;
		this.details = pokemon.details;
		this.status = pokemon.status;
		this.stats = pokemon.baseStoredStats;
		this.baseAbility = pokemon.baseAbility;
		this.ability = pokemon.ability;
		this.item = pokemon.item;
		this.hp = pokemon.hp;
		this.maxhp = pokemon.maxhp;
		this.timesIn = pokemon.previouslySwitchedIn;
		this.wasBenched = isBenched(pokemon);
		this.terastallized = pokemon.terastallized;
		this.isPlain = hasPlainMoves(pokemon);
	}

	/**
	 * The moves, stats and conditions of a Pokemon that has stayed on the bench are not looked at one by one: what
	 * changes them while it is there (rules that do) puts other arrays and tables in their place.
	 */
	isCurrent(pokemon) {
		return this.hp === pokemon.hp && this.maxhp === pokemon.maxhp && this.status === pokemon.status &&
			this.item === pokemon.item && this.ability === pokemon.ability && this.baseAbility === pokemon.baseAbility &&
			this.details === pokemon.details && this.ident === pokemon.fullname && this.pokeball === pokemon.pokeball &&
			this.terastallized === pokemon.terastallized && this.isPlain && (
			this.wasBenched && !pokemon.isActive && this.timesIn === pokemon.previouslySwitchedIn &&
			this.moveSlots === pokemon.moveSlots && this.stats === pokemon.baseStoredStats ||
			this.isCurrentInDetail(pokemon)
		);
	}

	isCurrentInDetail(pokemon) {
		const {active, stats, moves, commanding, reviving, teraType} = this.entry;
		if (
			this.wasBenched !== isBenched(pokemon) || active !== isInActiveSlot(pokemon) ||
			teraType !== undefined && teraType !== pokemon.teraType ||
			!areStatsOf(stats, pokemon) || !areMovesOf(moves, pokemon)
		) return false;
		if (pokemon.battle.gen < 9) return true;
		return commanding === (!!pokemon.volatiles['commanding'] && !pokemon.fainted) &&
			reviving === (pokemon.isActive && !!pokemon.side.slotConditions[pokemon.position]['revivalblessing']);
	}
}

/** Whether no move's name or target depends on who has it. */
function hasOrdinaryMoves({moveSlots}) {
	for (let i = 0; i < moveSlots.length; i++) {
		if (DESCRIBED_MOVES.has(moveSlots[i].id) || AIMED_BY_USER.has(moveSlots[i].id)) return false;
	}
	return true;
}

function describeMove({move, id, pp, maxpp, target, disabled}, restrictData) {
	if (pp <= 0) disabled = true;
	else if (disabled === 'hidden') disabled = !restrictData;
	return {move, id, pp, maxpp, target, disabled};
}

function hasPlainMoves({moveSlots}) {
	for (let i = 0; i < moveSlots.length; i++) if (DESCRIBED_MOVES.has(moveSlots[i].id)) return false;
	return true;
}

function areStatsOf(stats, {baseStoredStats}) {
	return stats.atk === baseStoredStats.atk && stats.def === baseStoredStats.def && stats.spa === baseStoredStats.spa &&
		stats.spd === baseStoredStats.spd && stats.spe === baseStoredStats.spe;
}

function areMovesOf(moves, {moveSlots}) {
	if (moves.length !== moveSlots.length) return false;
	for (let i = 0; i < moves.length; i++) if (moves[i] !== moveSlots[i].id) return false;
	return true;
}

/** The entry after another of the same Pokemon, with the same stats and moves in it; null where these have changed. */
function nextEntry(pokemon, {stats, moves}) {
	if (!areStatsOf(stats, pokemon) || !areMovesOf(moves, pokemon)) return null;
	const {battle} = pokemon;
	const entry = {
		ident: pokemon.fullname,
		details: pokemon.details,
		condition: pokemon.getHealth().secret,
		active: isInActiveSlot(pokemon),
		stats,
		moves,
		baseAbility: pokemon.baseAbility,
		item: pokemon.item,
		pokeball: pokemon.pokeball,
	};
	if (battle.gen > 6) entry.ability = pokemon.ability;
	if (battle.gen >= 9) {
		entry.commanding = !!pokemon.volatiles['commanding'] && !pokemon.fainted;
		entry.reviving = pokemon.isActive && !!pokemon.side.slotConditions[pokemon.position]['revivalblessing'];
	}
	if (battle.gen === 9 && !battle.dex.currentMod.startsWith('champions')) {
		entry.teraType = pokemon.teraType;
		entry.terastallized = pokemon.terastallized || '';
	}
	return entry;
}

/** Requests of all kinds with one layout; a key that is undefined is neither told nor serialised. */
function createRequest(isWait, forceSwitch, active, side) {
	return {
		wait: isWait ? true : undefined,
		teamPreview: undefined,
		forceSwitch,
		active,
		side,
		noCancel: undefined,
		update: undefined,
	};
}

function moveRequest(side) {
	const active = new Array(side.active.length);
	for (let i = 0; i < active.length; i++) active[i] = side.active[i]?.getMoveRequestData();
	return createRequest(false, undefined, active, side.getRequestData());
}

function switchRequest(side) {
	const {active} = side;
	let isAsked = false;
	const forced = [];
	for (let i = 0; i < active.length; i++) {
		const isForced = !!active[i]?.switchFlag;
		forced.push(isForced);
		if (isForced) isAsked = true;
	}
	return side.pokemonLeft && isAsked ? createRequest(false, forced, undefined, side.getRequestData()) :
		createRequest(true, undefined, undefined, side.getRequestData());
}

function isInActiveSlot(pokemon) {
	return pokemon.position < pokemon.side.active.length;
}

function isBenched(pokemon) {
	return !pokemon.isActive && !isInActiveSlot(pokemon);
}

module.exports = function patchRequests({replace, Battle, Pokemon, Side}) {
	// a turn between two sides, which is nearly all there is, without the stock method's lists and closures
	replace(Battle.prototype, 'getRequests', '1b4dc9cc2d37', stock => function (type) {
		const first = this.sides[0];
		const second = this.sides[1];
		if (type !== 'move' && type !== 'switch' || this.sides.length !== 2 || !first.pokemonLeft || !second.pokemonLeft) {
			return stock.call(this, type);
		}
		const ask = type === 'move' ? moveRequest : switchRequest;
		const requests = [ask(first), ask(second)];
		if (!this.supportCancel || requests[0].wait || requests[1].wait) {
			for (let i = 0; i < 2; i++) if (!requests[i].wait) requests[i].noCancel = true;
		}
		return requests;
	});

	// four moves that are what they are called, with room for four
	replace(Pokemon.prototype, 'getMoves', 'ee20468bc738', stock => function (lockedMove, restrictData) {
		const {moveSlots} = this;
		if (lockedMove || moveSlots.length !== 4 || this.volatiles['dynamax'] || !hasOrdinaryMoves(this)) {
			return stock.call(this, lockedMove, restrictData);
		}
		const moves = [
			describeMove(moveSlots[0], restrictData), describeMove(moveSlots[1], restrictData),
			describeMove(moveSlots[2], restrictData), describeMove(moveSlots[3], restrictData),
		];
		return moves[0].disabled && moves[1].disabled && moves[2].disabled && moves[3].disabled ? [] : moves;
	});

	replace(Side.prototype, 'getRequestData', '79c828d2829d', () => function (forAlly) {
		const {name, id, pokemon} = this;
		const entries = new Array(pokemon.length);
		for (let i = 0; i < entries.length; i++) entries[i] = pokemon[i].getSwitchRequestData(forAlly);
		return {name, id, pokemon: entries};
	});

	replace(Side.prototype, 'allies', '86991c550e97', () => function (all) {
		const team = this.activeTeam();
		const allies = [];
		for (let i = 0; i < team.length; i++) if (team[i] && (all || team[i].hp)) allies.push(team[i]);
		return allies;
	});

	replace(Pokemon.prototype, 'getSwitchRequestData', '03788dfb5fa9', stock => function (forAlly) {
		if (forAlly) return stock.call(this, forAlly);
		const kept = this[ENTRY];
		if (!kept) {
			this[ENTRY] = new Kept(this, stock.call(this, forAlly));
		} else if (!kept.isCurrent(this)) {
			kept.keep(this, nextEntry(this, kept.entry) || stock.call(this, forAlly));
		}
		return this[ENTRY].entry;
	});

	// the stock method lists them to count them
	replace(Battle.prototype, 'canSwitch', '0cedbbd57dfb', () => function (side) {
		const {active, pokemon} = side;
		let count = 0;
		if (!side.pokemonLeft) return count;
		for (let i = active.length; i < pokemon.length; i++) if (!pokemon[i].fainted) count++;
		return count;
	});
};

module.exports.ENTRY = ENTRY;
module.exports.AIMED_BY_USER = AIMED_BY_USER;
