'use strict';
/**
 * Listener tables: who could answer an event, known without asking everybody.
 *
 * An effect (ability, item, status, volatile, weather, ...) is frozen, so the callbacks it has are read once into a
 * Profile. A Pokemon's table is the union over its effects, one byte an event; the battle's table is the union over
 * field, sides, slots and format. A table may claim too much (an effect that has gone), never too little: it is
 * rebuilt when anything it was built from is replaced, and `Battle#initEffectState`, through which every new
 * volatile, side, slot and field condition passes, marks it stale.
 */

const {ON, FOE, ANY, MAX_EVENTS, callbackName, eventName, readings} = require('./names');

/** Own symbols: State serialises string keys only, so battles can still be saved. */
const LISTENERS = Symbol('ludus.listeners');

const IN_FIELD = 1;
const IN_FORMAT = 2;
const IN_SIDE_ON = 4;
const IN_SIDE_FOE = 8;
const IN_SIDE_ANY = 16;

/** Sub-orders of Battle#resolvePriority for effects without one of their own. */
const SUB_ORDERS = {Condition: 2, Weather: 5, Format: 5, Rule: 5, Ruleset: 5, Ability: 7, Item: 8};
const ABILITY_SUB_ORDERS = {'Poison Touch': 6, 'Perish Body': 6, Stall: 9};
/** Besides a byte an event, every table has a bit an event, set where the byte is not zero: one line of cache. */
const WORDS = MAX_EVENTS >> 5;

const NO_ORDER = 4294967296; // what Battle#comparePriority takes for a missing order

class Callback {
	constructor(effect, name, call) {
		this.call = call;
		this.order = effect[name.order] || NO_ORDER;
		this.priority = effect[name.priority] || 0;
		const own = effect[name.subOrder] || 0;
		this.subOrder = own || subOrder(effect);
		/** The sub-order of a condition without its own depends on what it sits on. */
		this.isPlaced = !own && effect.effectType === 'Condition';
	}
}

function subOrder(effect) {
	const special = effect.effectType === 'Ability' && ABILITY_SUB_ORDERS[effect.name];
	return special || SUB_ORDERS[effect.effectType] || 0;
}

/** What an effect listens to. */
class Profile {
	constructor(effect) {
		this.effect = effect;
		this.isStatus = effect.effectType === 'Status';
		this.isAbility = effect.effectType === 'Ability';
		this.isItem = effect.effectType === 'Item';
		this.isWeather = effect.effectType === 'Weather';
		this.isBreakable = this.isAbility && !!effect.flags['breakable'];
		this.isMagicBounce = this.isAbility && effect.name === 'Magic Bounce';
		this.callbacks = new Map();
		this.start = null;
		this.timings = null;
		const events = [];
		for (const key in effect) {
			if (!key.startsWith('on') || effect[key] === undefined || isRank(effect, key)) continue;
			const name = callbackName(key);
			this.callbacks.set(name, new Callback(effect, name, effect[key]));
			for (const {index, bit} of readings(key)) events.push(index << 8 | bit);
			// Battle#getCallback falls back from onSwitchIn to onStart
			if (key === 'onStart') for (const {index, bit} of readings('onSwitchIn')) events.push(index << 8 | bit);
		}
		this.events = Uint32Array.from(events);
		/** Who listens to an event in what capacity, one byte an event. */
		this.table = new Uint8Array(MAX_EVENTS);
		for (const event of events) this.table[event >> 8] |= event & 255;
		this.words = new Int32Array(WORDS);
		for (const event of events) this.words[event >> 13] |= 1 << (event >> 8 & 31);
	}

	/** The onSwitchIn that Battle#getCallback makes of onStart. */
	starting() {
		return this.start ||= new Callback(this.effect, callbackName('onSwitchIn'), this.effect.onStart);
	}

	/** What ranks an effect without the callback, found for its duration. */
	timing(name) {
		this.timings ||= new Map();
		let callback = this.timings.get(name);
		if (callback === undefined) this.timings.set(name, callback = new Callback(this.effect, name, undefined));
		return callback;
	}

	addTo(bits) {
		const {events} = this;
		for (let i = 0; i < events.length; i++) bits[events[i] >> 8] |= events[i] & 255;
	}
}

/** `onFooPriority: 5` ranks `onFoo`; `onModifyPriority` and `onFractionalPriority` are callbacks themselves. */
function isRank(effect, key) {
	const ranked = key.replace(/(Priority|(Sub)?Order)$/, '');
	return ranked !== key && ranked in effect;
}

const profiles = new WeakMap();

function profileOf(effect) {
	let profile = profiles.get(effect);
	if (profile === undefined) {
		profile = new Profile(effect);
		profiles.set(effect, profile);
	}
	return profile;
}

/** Counts rebuilt tables, so that a number tells one state of one table from all others. */
let versions = 0;

class PokemonListeners {
	constructor(pokemon) {
		this.words = new Int32Array(WORDS);
		this.volatileIDs = NOTHING;
		this.volatileProfiles = NOTHING;
		this.status = this.ability = this.item = this.species = this.volatiles = null;
		this.isStale = false;
		this.version = 0;
		this.statusProfile = this.abilityProfile = this.itemProfile = this.speciesProfile = null;
		this.rebuild(pokemon);
	}

	rebuild(pokemon) {
		const {dex} = pokemon.battle;
		const {status, ability, item, baseSpecies, volatiles} = pokemon;
		this.isStale = false;
		this.version = ++versions;
		if (status !== this.status) this.statusProfile = profileOf(dex.conditions.getByID(this.status = status));
		if (ability !== this.ability) this.abilityProfile = profileOf(dex.abilities.getByID(this.ability = ability));
		if (item !== this.item) this.itemProfile = profileOf(dex.items.getByID(this.item = item));
		if (baseSpecies !== this.species) this.speciesProfile = profileOf(this.species = baseSpecies);
		this.volatiles = volatiles;
		this.volatileIDs = this.volatileProfiles = NOTHING;
		const {words} = this;
		const a = this.statusProfile.words;
		const b = this.abilityProfile.words;
		const c = this.itemProfile.words;
		const d = this.speciesProfile.words;
		for (let i = 0; i < WORDS; i++) words[i] = a[i] | b[i] | c[i] | d[i];
		words[0] |= 1;
		for (const id in volatiles) this.addVolatile(id, profileOf(dex.conditions.getByID(id)));
	}

	addVolatile(id, profile) {
		if (this.volatileIDs === NOTHING) {
			this.volatileIDs = [id];
			this.volatileProfiles = [profile];
		} else {
			this.volatileIDs.push(id);
			this.volatileProfiles.push(profile);
		}
		addWords(profile.words, this.words);
	}

	/** In what capacities one of its effects listens to the event. */
	bitsOf(index) {
		if (index === 0) return 255;
		let bits = this.statusProfile.table[index] | this.abilityProfile.table[index] | this.itemProfile.table[index] |
			this.speciesProfile.table[index];
		const {volatileProfiles} = this;
		for (let i = 0; i < volatileProfiles.length; i++) bits |= volatileProfiles[i].table[index];
		return bits;
	}
}

/** What a Pokemon without volatiles has, most of the time; never written to. */
const NOTHING = [];

function addWords(from, to) {
	for (let i = 0; i < WORDS; i++) to[i] |= from[i];
}

function hasEvent(words, index) {
	return (words[index >> 5] >> (index & 31) & 1) !== 0;
}

function pokemonListeners(pokemon) {
	const listeners = pokemon[LISTENERS];
	if (!listeners) return pokemon[LISTENERS] = new PokemonListeners(pokemon);
	if (
		listeners.isStale || listeners.volatiles !== pokemon.volatiles || listeners.status !== pokemon.status ||
		listeners.ability !== pokemon.ability || listeners.item !== pokemon.item ||
		listeners.species !== pokemon.baseSpecies
	) listeners.rebuild(pokemon);
	return listeners;
}

class BattleListeners {
	constructor(battle, isPlain) {
		/** False where a mod replaces a method that the event patch re-implements: such battles run on stock code. */
		this.isPlain = isPlain;
		this.bits = new Uint8Array(MAX_EVENTS);
		/** Slot conditions are heard as if they were the Pokemon's, whoever stands in the slot. */
		this.slotBits = new Uint8Array(MAX_EVENTS);
		/** All of the above and of the active Pokemon together: where it is zero, nobody on the field listens. */
		this.union = new Int32Array(WORDS);
		this.words = new Int32Array(WORDS);
		/** The versions of the active Pokemon's tables that went into the union. */
		this.unitedVersions = [];
		this.pseudoWeatherIDs = [];
		this.pseudoWeatherProfiles = [];
		this.rebuild(battle);
	}

	rebuild(battle) {
		const {field, dex} = battle;
		const {bits, slotBits} = this;
		this.isStale = false;
		this.unitedVersions.fill(-1);
		if (this.unitedVersions.length === 0) this.unitedVersions.push(-1);
		this.weather = field.weather;
		this.terrain = field.terrain;
		this.weatherProfile = profileOf(dex.conditions.getByID(field.weather));
		this.terrainProfile = profileOf(dex.conditions.getByID(field.terrain));
		this.formatProfile = profileOf(battle.format);
		this.pseudoWeatherIDs = [];
		this.pseudoWeatherProfiles = [];
		bits.fill(0);
		slotBits.fill(0);
		bits[0] = slotBits[0] = 255;
		this.words.fill(0);
		this.words[0] = 1;
		this.add(this.weatherProfile, ON, IN_FIELD);
		this.add(this.terrainProfile, ON, IN_FIELD);
		this.add(this.formatProfile, ON, IN_FORMAT);
		for (const id in field.pseudoWeather) {
			const profile = profileOf(dex.conditions.getByID(id));
			this.pseudoWeatherIDs.push(id);
			this.pseudoWeatherProfiles.push(profile);
			this.add(profile, ON, IN_FIELD);
		}
		// Court Change moves conditions between sides without telling, so the table does not keep sides apart
		for (const side of battle.sides) {
			if (!side) continue;
			for (const id in side.sideConditions) {
				const profile = profileOf(dex.conditions.getByID(id));
				this.add(profile, ON, IN_SIDE_ON);
				this.add(profile, FOE, IN_SIDE_FOE);
				this.add(profile, ANY, IN_SIDE_ANY);
			}
			if (!side.slotConditions) continue;
			for (const conditions of side.slotConditions) {
				for (const id in conditions) {
					const profile = profileOf(dex.conditions.getByID(id));
					profile.addTo(slotBits);
					addWords(profile.words, this.words);
				}
			}
		}
	}

	add({events, words}, bit, place) {
		const {bits} = this;
		addWords(words, this.words);
		for (let i = 0; i < events.length; i++) {
			if (events[i] & bit) bits[events[i] >> 8] |= place;
		}
	}
}

function battleListeners(battle) {
	const listeners = battle[LISTENERS];
	if (listeners === undefined) return battle[LISTENERS] = new BattleListeners(battle, isPlain(battle));
	const {field} = battle;
	if (listeners.isStale || listeners.weather !== field.weather || listeners.terrain !== field.terrain) {
		listeners.rebuild(battle);
	}
	return listeners;
}

/** Whether the Pokemon may listen, in whatever capacity. */
function isHeardBy(pokemon, index) {
	return hasEvent(pokemonListeners(pokemon).words, index);
}

/** Whether anybody on the field may listen, whomever the event is about. */
function isHeardOnField(battle, listeners, index) {
	const {sides} = battle;
	const {unitedVersions} = listeners;
	let count = 0;
	for (let i = 0; i < sides.length; i++) {
		if (!sides[i]) continue; // nobody has joined yet
		const {active} = sides[i];
		for (let j = 0; j < active.length; j++) {
			if (active[j] && pokemonListeners(active[j]).version !== unitedVersions[count++]) {
				unite(battle, listeners);
				return hasEvent(listeners.union, index);
			}
		}
	}
	if (count !== unitedVersions.length) unite(battle, listeners);
	return hasEvent(listeners.union, index);
}

function unite(battle, listeners) {
	const {union, unitedVersions} = listeners;
	const {sides} = battle;
	union.set(listeners.words);
	let count = 0;
	for (let i = 0; i < sides.length; i++) {
		if (!sides[i]) continue;
		const {active} = sides[i];
		for (let j = 0; j < active.length; j++) {
			if (!active[j]) continue;
			const own = pokemonListeners(active[j]);
			unitedVersions[count++] = own.version;
			addWords(own.words, union);
		}
	}
	if (unitedVersions.length > count) unitedVersions.length = count;
}

/** False only when nobody at all listens, the Pokemon, on the field or not, included. */
function mayBeHeard(battle, eventid, pokemon) {
	const listeners = battleListeners(battle);
	const {index} = eventName(eventid);
	return !listeners.isPlain || !!battle.events || isHeardOnField(battle, listeners, index) ||
		!pokemon.isActive && isHeardBy(pokemon, index);
}

function markStale(owner) {
	const listeners = owner[LISTENERS];
	if (listeners) listeners.isStale = true;
}

/** The stock methods that events.js re-implements inline; a mod that replaces one keeps the stock event code. */
const INLINED = {
	battle: [
		'findEventHandlers', 'findPokemonEventHandlers', 'findSideEventHandlers', 'findFieldEventHandlers',
		'findBattleEventHandlers', 'resolvePriority', 'getCallback', 'comparePriority', 'speedSort', 'modify',
		'runEvent', 'singleEvent', 'initEffectState', 'suppressingAbility',
	],
	pokemon: ['getStatus', 'getAbility', 'getItem', 'alliesAndSelf', 'foes'],
	side: ['allies', 'foes', 'activeTeam'],
	field: ['getWeather', 'getTerrain'],
};

function isPlain(battle) {
	const {Scripts} = battle.dex.data;
	const {format} = battle;
	const replaced = (names, ...sources) => names.some(name => sources.some(source => source?.[name]));
	return !replaced(INLINED.battle, Scripts, format.battle) &&
		!replaced(INLINED.pokemon, Scripts.pokemon, format.pokemon) &&
		!replaced(INLINED.side, Scripts.side, format.side) &&
		!replaced(INLINED.field, Scripts.field, format.field);
}

module.exports = {
	IN_FIELD, IN_FORMAT, IN_SIDE_ON, IN_SIDE_FOE, IN_SIDE_ANY, NO_ORDER,
	LISTENERS, battleListeners, pokemonListeners, isHeardBy, isHeardOnField, profileOf, markStale, mayBeHeard,
};
