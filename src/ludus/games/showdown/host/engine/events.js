'use strict';
/**
 * Battle#runEvent and Battle#singleEvent on listener tables.
 *
 * Stock code asks every effect of every active Pokemon for five callbacks at every event, and most events have no
 * listener at all. Here an event without listeners returns its relay value at once, and the others visit only the
 * Pokemon whose table has the event. Handlers are gathered in the stock order, because equal speeds are shuffled with
 * the battle's generator and another order would change the battle.
 */

const {ON, ALLY, FOE, ANY, SOURCE, eventName} = require('./names');
const {
	IN_FIELD, IN_FORMAT, IN_SIDE_ON, IN_SIDE_FOE, IN_SIDE_ANY, NO_ORDER,
	battleListeners, pokemonListeners, markStale, profileOf,
} = require('./listeners');

/** A listener called in one event; the fields are those of Battle#resolvePriority. */
class Handler {
	constructor(profile, callback, state, effectHolder, speed) {
		this.profile = profile;
		this.effect = profile.effect;
		this.callback = callback.call;
		this.state = state;
		this.effectHolder = effectHolder;
		this.order = callback.order;
		this.priority = callback.priority;
		this.subOrder = callback.subOrder;
		this.speed = speed;
		this.effectOrder = 0;
		this.target = null;
		this.index = undefined;
	}
}

module.exports = function patchEvents({replace, Battle, Pokemon, Side, Field, State}) {
	/** Adds the Pokemon's handlers for the callback, in the order of Battle#findPokemonEventHandlers. */
	function fromPokemon(handlers, battle, pokemon, listeners, name) {
		let callback = find(battle, pokemon, listeners.statusProfile, name);
		if (callback !== undefined) {
			handlers.push(held(battle, listeners.statusProfile, callback, pokemon.statusState, pokemon, name));
		}
		const {volatileIDs, volatileProfiles} = listeners;
		for (let i = 0; i < volatileIDs.length; i++) {
			callback = find(battle, pokemon, volatileProfiles[i], name);
			if (callback === undefined) continue;
			const state = pokemon.volatiles[volatileIDs[i]];
			if (state !== undefined) handlers.push(held(battle, volatileProfiles[i], callback, state, pokemon, name));
		}
		callback = find(battle, pokemon, listeners.abilityProfile, name);
		if (callback !== undefined) {
			handlers.push(held(battle, listeners.abilityProfile, callback, pokemon.abilityState, pokemon, name));
		}
		callback = find(battle, pokemon, listeners.itemProfile, name);
		if (callback !== undefined) {
			handlers.push(held(battle, listeners.itemProfile, callback, pokemon.itemState, pokemon, name));
		}
		callback = listeners.speciesProfile.callbacks.get(name);
		if (callback !== undefined) {
			handlers.push(held(battle, listeners.speciesProfile, callback, pokemon.speciesState, pokemon, name));
		}
		const slot = pokemon.side.slotConditions[pokemon.position];
		for (const id in slot) {
			const profile = profileOf(battle.dex.conditions.getByID(id));
			callback = profile.callbacks.get(name);
			if (callback !== undefined) handlers.push(held(battle, profile, callback, slot[id], pokemon, name));
		}
	}

	/** Battle#getCallback: abilities and items without onSwitchIn start when their holder comes in. */
	function find(battle, pokemon, profile, name) {
		const callback = profile.callbacks.get(name);
		if (callback !== undefined || name.name !== 'onSwitchIn' || battle.gen < 5) return callback;
		const {effect} = profile;
		if (battle.getCallback(pokemon, effect, name.name) === undefined) return undefined;
		return {
			call: effect.onStart,
			order: effect.onSwitchInOrder || NO_ORDER,
			priority: effect.onSwitchInPriority || 0,
			subOrder: profile.subOrderOf(name),
			placed: false,
		};
	}

	function held(battle, profile, callback, state, pokemon, name) {
		const handler = new Handler(profile, callback, state, pokemon, pokemon.speed);
		if (callback.placed) place(handler, state);
		if (name.keepsEffectOrder) handler.effectOrder = state?.effectOrder;
		if (profile.isMagicBounce && name.name === 'onAllyTryHitSide') {
			handler.speed = pokemon.getStat('spe', true, true);
		}
		if (name.isSwitchIn) {
			const position = battle.speedOrder.indexOf(pokemon.getFieldPositionValue());
			handler.speed -= position / (battle.activePerHalf * 2);
		}
		return handler;
	}

	function unheld(profile, callback, state, holder, name) {
		const handler = new Handler(profile, callback, state, holder, 0);
		if (callback.placed) place(handler, state);
		if (name.keepsEffectOrder) handler.effectOrder = state?.effectOrder;
		return handler;
	}

	function place(handler, state) {
		const target = state?.target;
		if (target instanceof Side) handler.subOrder = state.isSlotCondition ? 3 : 4;
		else if (target instanceof Field) handler.subOrder = 5;
	}

	function fromSide(handlers, battle, side, name) {
		for (const id in side.sideConditions) {
			const profile = profileOf(battle.dex.conditions.getByID(id));
			const callback = profile.callbacks.get(name);
			if (callback !== undefined) handlers.push(unheld(profile, callback, side.sideConditions[id], side, name));
		}
	}

	function fromField(handlers, field, listeners, name) {
		const {pseudoWeatherIDs, pseudoWeatherProfiles} = listeners;
		for (let i = 0; i < pseudoWeatherIDs.length; i++) {
			const callback = pseudoWeatherProfiles[i].callbacks.get(name);
			if (callback === undefined) continue;
			const state = field.pseudoWeather[pseudoWeatherIDs[i]];
			if (state !== undefined) handlers.push(unheld(pseudoWeatherProfiles[i], callback, state, field, name));
		}
		let callback = listeners.weatherProfile.callbacks.get(name);
		if (callback !== undefined) {
			handlers.push(unheld(listeners.weatherProfile, callback, field.weatherState, field, name));
		}
		callback = listeners.terrainProfile.callbacks.get(name);
		if (callback !== undefined) {
			handlers.push(unheld(listeners.terrainProfile, callback, field.terrainState, field, name));
		}
	}

	/** Battle#findEventHandlers; null when nobody listens. */
	function gather(battle, listeners, event, target, source) {
		const {index} = event;
		const slotBits = listeners.slotBits[index];
		const battleBits = listeners.bits[index];
		const bubblesDown = target instanceof Side;
		let handlers = null;
		if (target instanceof Pokemon && (target.isActive || source?.isActive)) {
			const own = pokemonListeners(target);
			if ((own.bits[index] | slotBits) & ON) fromPokemon(handlers ||= [], battle, target, own, event.on);
			const {side} = target;
			if (event.isPrefixed) {
				handlers = fromTeam(handlers, battle, event, slotBits, side, true);
				if (battle.gameType === 'freeforall') {
					for (const foe of side.foes()) handlers = fromTeammate(handlers, battle, event, slotBits, foe, false);
				} else {
					handlers = fromTeam(handlers, battle, event, slotBits, side.foe, false);
				}
			}
			target = side;
		}
		if (source && event.isPrefixed) {
			const own = pokemonListeners(source);
			if ((own.bits[index] | slotBits) & SOURCE) fromPokemon(handlers ||= [], battle, source, own, event.source);
		}
		if (target instanceof Side && (bubblesDown || battleBits & (IN_SIDE_ON | IN_SIDE_FOE | IN_SIDE_ANY))) {
			handlers = fromSides(handlers, battle, event, target, bubblesDown);
		}
		if (battleBits & IN_FIELD) fromField(handlers ||= [], battle.field, listeners, event.on);
		if (battleBits & IN_FORMAT) {
			const callback = listeners.formatProfile.callbacks.get(event.on);
			if (callback !== undefined) {
				(handlers ||= []).push(unheld(listeners.formatProfile, callback, battle.formatData, battle, event.on));
			}
		}
		return handlers === null || handlers.length === 0 ? null : handlers;
	}

	function fromTeam(handlers, battle, event, slotBits, side, areAllies) {
		const team = battle.gameType === 'multi' ? side.activeTeam() : side.active;
		for (let i = 0; i < team.length; i++) {
			const pokemon = team[i];
			if (pokemon && pokemon.hp) handlers = fromTeammate(handlers, battle, event, slotBits, pokemon, areAllies);
		}
		return handlers;
	}

	function fromTeammate(handlers, battle, event, slotBits, pokemon, isAlly) {
		const listeners = pokemonListeners(pokemon);
		const bits = listeners.bits[event.index] | slotBits;
		if (!(bits & (ANY | (isAlly ? ALLY : FOE)))) return handlers;
		handlers ||= [];
		if (bits & (isAlly ? ALLY : FOE)) {
			fromPokemon(handlers, battle, pokemon, listeners, isAlly ? event.ally : event.foe);
		}
		if (bits & ANY) fromPokemon(handlers, battle, pokemon, listeners, event.any);
		return handlers;
	}

	function fromSides(handlers, battle, event, target, bubblesDown) {
		handlers ||= [];
		for (const side of battle.sides) {
			const isTarget = side === target || side === target.allySide;
			if (bubblesDown) {
				for (const active of side.active) {
					const listeners = pokemonListeners(active);
					if (isTarget) {
						fromPokemon(handlers, battle, active, listeners, event.on);
					} else if (event.isPrefixed) {
						fromPokemon(handlers, battle, active, listeners, event.foe);
					}
					if (event.isPrefixed) fromPokemon(handlers, battle, active, listeners, event.any);
				}
			}
			if (side.n < 2 || !side.allySide) {
				if (isTarget) {
					fromSide(handlers, battle, side, event.on);
				} else if (event.isPrefixed) {
					fromSide(handlers, battle, side, event.foe);
				}
				if (event.isPrefixed) fromSide(handlers, battle, side, event.any);
			}
		}
		return handlers;
	}

	function gatherEach(battle, listeners, event, targets, source) {
		let handlers = null;
		for (let i = 0; i < targets.length; i++) {
			const found = gather(battle, listeners, event, targets[i], source);
			if (found === null) continue;
			for (const handler of found) {
				handler.target = targets[i];
				handler.index = i;
			}
			handlers = handlers === null ? found : handlers.concat(found);
		}
		return handlers;
	}

	/** The callback of the move or effect that causes the event, which goes before all listeners. */
	function fromCause(battle, event, cause, holder) {
		const profile = {
			effect: cause,
			isStatus: cause.effectType === 'Status',
			isAbility: cause.effectType === 'Ability',
			isItem: cause.effectType === 'Item',
			isWeather: cause.effectType === 'Weather',
			isBreakable: cause.effectType === 'Ability' && cause.flags['breakable'],
		};
		const resolved = battle.resolvePriority({
			effect: cause, callback: cause[event.key], state: battle.initEffectState({}), end: null, effectHolder: holder,
		}, event.key);
		const handler = new Handler(profile, {
			call: resolved.callback,
			order: resolved.order || NO_ORDER,
			priority: resolved.priority,
			subOrder: resolved.subOrder,
		}, resolved.state, holder, resolved.speed || 0);
		handler.effectOrder = resolved.effectOrder || 0;
		return handler;
	}

	replace(Battle.prototype, 'runEvent', '31073834bc7e', stock => function (
		eventid, target, source, sourceEffect, relayVar, onEffect, fastExit
	) {
		const listeners = battleListeners(this);
		if (!listeners.isPlain || this.debugMode || this.events || this.eventDepth >= 8) {
			return stock.call(this, eventid, target, source, sourceEffect, relayVar, onEffect, fastExit);
		}
		const event = eventName(eventid);
		if (!target) target = this;
		const hasTargets = Array.isArray(target);
		const effectSource = source instanceof Pokemon ? source : null;
		let handlers = hasTargets ?
			gatherEach(this, listeners, event, target, effectSource) :
			gather(this, listeners, event, target, effectSource);
		if (onEffect) {
			if (!sourceEffect) throw new Error('onEffect passed without an effect');
			if (sourceEffect[event.key] !== undefined) {
				if (hasTargets) throw new Error('');
				(handlers ||= []).unshift(fromCause(this, event, sourceEffect, target));
			}
		}
		if (handlers === null) return unheard(this, target, hasTargets, relayVar);
		if (handlers.length > 1) {
			if (event.isLeftToRight) handlers.sort(Battle.compareLeftToRightOrder);
			else if (fastExit) handlers.sort(Battle.compareRedirectOrder);
			else sortHandlers(this, handlers);
		}
		return callHandlers(this, event, handlers, target, hasTargets, source, sourceEffect, relayVar, fastExit);
	});

	/** What Battle#runEvent returns when it finds no handler. */
	function unheard(battle, target, hasTargets, relayVar) {
		if (hasTargets) return Array.isArray(relayVar) ? relayVar : target.map(() => true);
		if (relayVar === undefined || relayVar === null) return true;
		return typeof relayVar === 'number' ? modified(battle, relayVar, 1) : relayVar;
	}

	function modified(battle, value, modifier) {
		if (value !== Math.abs(Math.floor(value))) return value;
		// modify(n, 1) is n as long as n * 4096 fits the simulator's 32 bits
		return modifier === 1 && value < 0x80000 ? value + 0 : battle.modify(value, modifier);
	}

	/** The loop of Battle#runEvent over its sorted handlers. */
	function callHandlers(
		battle, event, handlers, target, hasTargets, source, sourceEffect, relayVar, fastExit
	) {
		const eventid = event.id;
		const hasRelayVar = relayVar !== undefined && relayVar !== null;
		if (!hasRelayVar) relayVar = true;
		let targetRelayVars = null;
		if (hasTargets) targetRelayVars = Array.isArray(relayVar) ? relayVar : target.map(() => true);
		let argument = relayVar;
		let argumentTarget = target;
		const parentEvent = battle.event;
		battle.event = {id: eventid, target, source, effect: sourceEffect, modifier: 1};
		battle.eventDepth++;
		for (let i = 0; i < handlers.length; i++) {
			const handler = handlers[i];
			const {index, effectHolder} = handler;
			if (index !== undefined) {
				const own = targetRelayVars[index];
				if (!own && !(own === 0 && eventid === 'DamagingHit')) continue;
				if (handler.target) {
					argumentTarget = handler.target;
					battle.event.target = handler.target;
				}
				if (hasRelayVar) argument = own;
			}
			if (isSuppressed(battle, eventid, handler, effectHolder)) continue;
			let returned;
			if (typeof handler.callback === 'function') {
				const parentEffect = battle.effect;
				const parentEffectState = battle.effectState;
				battle.effect = handler.effect;
				battle.effectState = handler.state || battle.initEffectState({});
				battle.effectState.target = effectHolder;
				returned = hasRelayVar ?
					handler.callback.call(battle, argument, argumentTarget, source, sourceEffect) :
					handler.callback.call(battle, argumentTarget, source, sourceEffect);
				battle.effect = parentEffect;
				battle.effectState = parentEffectState;
			} else {
				returned = handler.callback;
			}
			if (returned === undefined) continue;
			relayVar = returned;
			if (!relayVar || fastExit) {
				if (index === undefined) break;
				targetRelayVars[index] = relayVar;
				if (targetRelayVars.every(value => !value)) break;
			}
			if (hasRelayVar) argument = relayVar;
		}
		battle.eventDepth--;
		if (typeof relayVar === 'number') relayVar = modified(battle, relayVar, battle.event.modifier);
		battle.event = parentEvent;
		return hasTargets ? targetRelayVars : relayVar;
	}

	/** The conditions under which Battle#runEvent passes over a handler. */
	function isSuppressed(battle, eventid, {profile, effect}, holder) {
		if (profile.isStatus) {
			if (holder.status !== effect.id) return true;
		} else if (profile.isAbility) {
			if (profile.isBreakable && battle.suppressingAbility(holder)) return true;
			if (eventid !== 'End' && holder instanceof Pokemon && holder.ignoringAbility()) return true;
		} else if (profile.isItem) {
			if (
				eventid !== 'Start' && eventid !== 'SwitchIn' && eventid !== 'TakeItem' &&
				holder instanceof Pokemon && holder.ignoringItem()
			) return true;
		}
		return (profile.isWeather || eventid === 'Weather') && eventid !== 'Residual' && eventid !== 'End' &&
			battle.field.suppressingWeather();
	}

	replace(Battle.prototype, 'singleEvent', 'f94ad5abfcdc', stock => function (
		eventid, effect, state, target, source, sourceEffect, relayVar, customCallback
	) {
		// stock checks depth and log length before anything else, and in debug mode logs why it does not call
		if (this.eventDepth >= 8 || this.log.length - this.sentLogPos > 1000 || this.debugMode || customCallback) {
			return stock.call(this, eventid, effect, state, target, source, sourceEffect, relayVar, customCallback);
		}
		if (effect[eventName(eventid).key] === undefined) return relayVar === undefined ? true : relayVar;
		return stock.call(this, eventid, effect, state, target, source, sourceEffect, relayVar);
	});

	replace(Battle.prototype, 'initEffectState', 'f7e47bb612ea', stock => function (obj, effectOrder) {
		if (obj.id) markStale(obj.target instanceof Pokemon ? obj.target : this);
		return stock.call(this, obj, effectOrder);
	});

	// a deserialised battle gets its conditions without initEffectState
	replace(State, 'deserialize', 'b85785910554', stock => function (state, obj, skip, battle) {
		stock.call(this, state, obj, skip, battle);
		markStale(battle);
	});
};

/** Battle#speedSort with Battle#comparePriority, on handlers whose fields are all numbers. */
function sortHandlers(battle, handlers) {
	let sorted = 0;
	const ties = [];
	while (sorted + 1 < handlers.length) {
		ties.length = 0;
		ties.push(sorted);
		for (let i = sorted + 1; i < handlers.length; i++) {
			const delta = compare(handlers[ties[0]], handlers[i]);
			if (delta > 0) {
				ties.length = 0;
				ties.push(i);
			} else if (delta === 0) {
				ties.push(i);
			}
		}
		for (let i = 0; i < ties.length; i++) {
			const index = ties[i];
			if (index !== sorted + i) {
				const handler = handlers[sorted + i];
				handlers[sorted + i] = handlers[index];
				handlers[index] = handler;
			}
		}
		if (ties.length > 1) battle.prng.shuffle(handlers, sorted, sorted + ties.length);
		sorted += ties.length;
	}
}

function compare(a, b) {
	return a.order - b.order || b.priority - a.priority || b.speed - a.speed || a.subOrder - b.subOrder ||
		(a.effectOrder || 0) - (b.effectOrder || 0);
}
