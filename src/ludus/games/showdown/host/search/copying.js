'use strict';
/**
 * Copies of battles and of their public state that can be played on without changing the original.
 *
 * What a battle changes is copied; entries of the dex, sets, requests and moves that were used are shared.
 */

const {CALLED} = require('../engine/logs');
const {ENTRY} = require('../engine/requests');
const {LISTENERS} = require('../engine/listeners');

const SHARED_KEYS = new Set(['set', 'dex', 'format', 'ruleTable', 'activeRequest', 'team']);
const EMPTY_KEYS = new Set(['log', 'inputLog', 'messageLog']);

/** Returns a function that copies a battle. `sim` holds the simulator's classes. */
function battleCopier({Battle, Side, Pokemon, Field, BattleQueue, BattleActions, PRNG}) {
	const generator = Object.getPrototypeOf(new PRNG('0,0,0,0').rng).constructor;
	const owned = new Set([Battle, Side, Field, BattleQueue, BattleActions, PRNG, generator, Pokemon]);

	return function copyBattle(battle) {
		const copies = new Map();
		const copy = value => {
			if (typeof value !== 'object' || value === null) return value;
			const known = copies.get(value);
			if (known !== undefined) return known;
			if (Array.isArray(value)) {
				const items = new Array(value.length);
				copies.set(value, items);
				for (let i = 0; i < items.length; i++) items[i] = copy(value[i]);
				return items;
			}
			const kind = value.constructor;
			if (kind === Object || kind === undefined) return isShared(value) ? value : copyKeys(value, copies, copy);
			if (kind === Set) return new Set([...value].map(copy));
			if (!owned.has(kind)) return value;
			const made = copyKeys(value, copies, copy);
			if (kind === Pokemon) renew(made);
			return made;
		};
		return copy(battle);
	};
}

function copyKeys(value, copies, copy) {
	const made = Object.create(Object.getPrototypeOf(value));
	copies.set(value, made);
	for (const key in value) {
		if (!Object.hasOwn(value, key)) continue;
		made[key] = SHARED_KEYS.has(key) ? value[key] : EMPTY_KEYS.has(key) ? [] : copy(value[key]);
	}
	return made;
}

/** Moves that were used have all keys of the dex, and nobody writes to them any more; frozen objects are the dex's. */
function isShared(value) {
	return Object.hasOwn(value, 'hit') && Object.hasOwn(value, 'id') || Object.isFrozen(value);
}

/** Gives a copied Pokemon what belongs to it alone: functions bound to it, and what the engine keeps with it. */
function renew(pokemon) {
	pokemon[LISTENERS] = pokemon[ENTRY] = pokemon[CALLED] = null;
	pokemon.getHealth = () => healthOf(pokemon);
	pokemon.getFullDetails = () => {
		const {side, secret, shared} = healthOf(pokemon);
		const details = pokemon.details + (pokemon.terastallized ? `, tera:${pokemon.terastallized}` : '');
		return {side, secret: `${details}|${secret}`, shared: `${details}|${shared}`};
	};
}

/** HP as the player and as everybody sees it: what the method of the original says, without colours of HP bars. */
function healthOf(pokemon) {
	const {battle, hp, maxhp, status} = pokemon;
	const side = pokemon.side.id;
	if (!hp) return {side, secret: '0 fnt', shared: '0 fnt'};
	const suffix = status ? ` ${status}` : '';
	let shared = `${Math.floor(48 * hp / maxhp) || 1}/48`;
	if (battle.reportExactHP) shared = `${hp}/${maxhp}`;
	else if (battle.reportPercentages || battle.gen >= 7) {
		const percentage = Math.ceil(100 * hp / maxhp);
		shared = `${percentage === 100 && hp < maxhp ? 99 : percentage}/100`;
	}
	return {side, secret: `${hp}/${maxhp}${suffix}`, shared: shared + suffix};
}

/** A copy of a tracker, with sides and Pokemon of its own. */
function copyTracker(tracker) {
	const copies = new Map();
	const made = shallow(tracker);
	made.rooms = tracker.rooms.slice();
	made.roomSince = tracker.roomSince.slice();
	made.parts = [];
	made.sides = tracker.sides.map(side => copySide(side, copies));
	for (const mon of copies.values()) if (mon.trapper) mon.trapper = copies.get(mon.trapper) ?? null;
	made.awaiting = tracker.awaiting.map(mon => copies.get(mon));
	made.events = tracker.events.copy();
	made.orders = tracker.orders.copy(copies);
	made.mover = copies.get(tracker.mover) ?? null;
	made.spender = copies.get(tracker.spender) ?? null;
	return made;
}

function copySide(side, copies) {
	const made = shallow(side);
	made.conditions = side.conditions.slice();
	made.since = side.since.slice();
	made.spent = {...side.spent};
	made.mons = side.mons.map(mon => {
		const own = shallow(mon);
		copies.set(mon, own);
		own.side = made;
		for (const name of ['moves', 'uses', 'boosts', 'volatiles']) own[name] = mon[name].slice();
		own.belief = mon.belief?.copy() ?? null;
		own.snapshot = null;
		return own;
	});
	made.active = side.active.map(mon => copies.get(mon) ?? null);
	return made;
}

function shallow(value) {
	return Object.assign(Object.create(Object.getPrototypeOf(value)), value);
}

module.exports = {battleCopier, copyTracker};
