'use strict';
/**
 * Finds an event's handlers on listener tables, in the order of the stock Battle#find...EventHandlers methods.
 *
 * The order matters: handlers of equal speed are shuffled with the battle's generator, so another order would change
 * the battle.
 */

const {ON, ALLY, FOE, ANY, SOURCE} = require('./names');
const {
	IN_FIELD, IN_FORMAT, IN_SIDE_ON, IN_SIDE_FOE, IN_SIDE_ANY, NO_ORDER,
	pokemonListeners, profileOf,
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
		/** Which of several targets the handler is for. */
		this.target = null;
		this.index = undefined;
		/** How to end the effect when its duration runs out: residual events only. */
		this.end = null;
		this.endCallArgs = null;
	}
}

module.exports = function createGather({Pokemon, Side, Field}) {
	/** Battle#findEventHandlers; null when nobody listens. */
	function gather(battle, listeners, event, target, source) {
		const {index} = event;
		const slotBits = listeners.slotBits[index];
		const battleBits = listeners.bits[index];
		const bubblesDown = target instanceof Side;
		let handlers = null;
		if (target instanceof Pokemon && (target.isActive || source?.isActive)) {
			const own = pokemonListeners(target);
			if ((own.bitsOf(index) | slotBits) & ON) fromPokemon(handlers ||= [], battle, target, own, event.on, false);
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
			if ((own.bitsOf(index) | slotBits) & SOURCE) {
				fromPokemon(handlers ||= [], battle, source, own, event.source, false);
			}
		}
		if (target instanceof Side && (bubblesDown || battleBits & (IN_SIDE_ON | IN_SIDE_FOE | IN_SIDE_ANY))) {
			handlers = fromSides(handlers, battle, event, target, bubblesDown);
		}
		if (battleBits & IN_FIELD) fromField(handlers ||= [], battle, listeners, event.on, false, null);
		if (battleBits & IN_FORMAT) fromFormat(handlers ||= [], battle, listeners, event.on, null);
		return handlers === null || handlers.length === 0 ? null : handlers;
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
		const bits = listeners.bitsOf(event.index) | slotBits;
		if (!(bits & (ANY | (isAlly ? ALLY : FOE)))) return handlers;
		handlers ||= [];
		if (bits & (isAlly ? ALLY : FOE)) {
			fromPokemon(handlers, battle, pokemon, listeners, isAlly ? event.ally : event.foe, false);
		}
		if (bits & ANY) fromPokemon(handlers, battle, pokemon, listeners, event.any, false);
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
						fromPokemon(handlers, battle, active, listeners, event.on, false);
					} else if (event.isPrefixed) {
						fromPokemon(handlers, battle, active, listeners, event.foe, false);
					}
					if (event.isPrefixed) fromPokemon(handlers, battle, active, listeners, event.any, false);
				}
			}
			if (side.n < 2 || !side.allySide) {
				if (isTarget) {
					fromSide(handlers, battle, side, event.on, false, null);
				} else if (event.isPrefixed) {
					fromSide(handlers, battle, side, event.foe, false, null);
				}
				if (event.isPrefixed) fromSide(handlers, battle, side, event.any, false, null);
			}
		}
		return handlers;
	}

	/** `wantsTimed` also finds effects that only have a duration to count down. */
	function fromPokemon(handlers, battle, pokemon, listeners, name, wantsTimed) {
		const {statusState, volatiles, abilityState, itemState} = pokemon;
		let callback = find(battle, pokemon, listeners.statusProfile, name);
		if (callback !== undefined || wantsTimed && statusState.duration) {
			push(handlers, battle, listeners.statusProfile, callback, statusState, pokemon, name).end = pokemon.clearStatus;
		}
		const {volatileIDs, volatileProfiles} = listeners;
		for (let i = 0; i < volatileIDs.length; i++) {
			callback = find(battle, pokemon, volatileProfiles[i], name);
			if (callback === undefined && !wantsTimed) continue;
			const state = volatiles[volatileIDs[i]];
			if (state === undefined || callback === undefined && !state.duration) continue;
			push(handlers, battle, volatileProfiles[i], callback, state, pokemon, name).end = pokemon.removeVolatile;
		}
		callback = find(battle, pokemon, listeners.abilityProfile, name);
		if (callback !== undefined || wantsTimed && abilityState.duration) {
			push(handlers, battle, listeners.abilityProfile, callback, abilityState, pokemon, name).end =
				pokemon.clearAbility;
		}
		callback = find(battle, pokemon, listeners.itemProfile, name);
		if (callback !== undefined || wantsTimed && itemState.duration) {
			push(handlers, battle, listeners.itemProfile, callback, itemState, pokemon, name).end = pokemon.clearItem;
		}
		callback = listeners.speciesProfile.callbacks.get(name);
		if (callback !== undefined) {
			push(handlers, battle, listeners.speciesProfile, callback, pokemon.speciesState, pokemon, name).end = doNothing;
		}
		const {side} = pokemon;
		const slot = side.slotConditions[pokemon.position];
		for (const id in slot) {
			const profile = profileOf(battle.dex.conditions.getByID(id));
			callback = profile.callbacks.get(name);
			if (callback === undefined && !(wantsTimed && slot[id].duration)) continue;
			const handler = push(handlers, battle, profile, callback, slot[id], pokemon, name);
			handler.end = side.removeSlotCondition;
			handler.endCallArgs = [side, pokemon, profile.effect.id];
		}
	}

	function fromSide(handlers, battle, side, name, wantsTimed, holder) {
		for (const id in side.sideConditions) {
			const profile = profileOf(battle.dex.conditions.getByID(id));
			const callback = profile.callbacks.get(name);
			const state = side.sideConditions[id];
			if (callback === undefined && !(wantsTimed && state.duration)) continue;
			const handler = push(handlers, battle, profile, callback, state, holder || side, name);
			if (!holder) handler.end = side.removeSideCondition;
		}
	}

	function fromField(handlers, battle, listeners, name, wantsTimed, holder) {
		const {field} = battle;
		const {pseudoWeatherIDs, pseudoWeatherProfiles, weatherProfile, terrainProfile} = listeners;
		for (let i = 0; i < pseudoWeatherIDs.length; i++) {
			const callback = pseudoWeatherProfiles[i].callbacks.get(name);
			if (callback === undefined && !wantsTimed) continue;
			const state = field.pseudoWeather[pseudoWeatherIDs[i]];
			if (state === undefined || callback === undefined && !state.duration) continue;
			const handler = push(handlers, battle, pseudoWeatherProfiles[i], callback, state, holder || field, name);
			if (!holder) handler.end = field.removePseudoWeather;
		}
		let callback = weatherProfile.callbacks.get(name);
		if (callback !== undefined || wantsTimed && field.weatherState.duration) {
			const handler = push(handlers, battle, weatherProfile, callback, field.weatherState, holder || field, name);
			if (!holder) handler.end = field.clearWeather;
		}
		callback = terrainProfile.callbacks.get(name);
		if (callback !== undefined || wantsTimed && field.terrainState.duration) {
			const handler = push(handlers, battle, terrainProfile, callback, field.terrainState, holder || field, name);
			if (!holder) handler.end = field.clearTerrain;
		}
	}

	function fromFormat(handlers, battle, {formatProfile}, name, holder) {
		const callback = formatProfile.callbacks.get(name);
		if (callback !== undefined) {
			push(handlers, battle, formatProfile, callback, battle.formatData, holder || battle, name);
		}
	}

	/** Battle#getCallback: abilities and items without onSwitchIn start when their holder comes in. */
	function find(battle, pokemon, profile, name) {
		const callback = profile.callbacks.get(name);
		if (callback !== undefined || !name.isSwitchIn || name.name !== 'onSwitchIn') return callback;
		return battle.getCallback(pokemon, profile.effect, name.name) === undefined ? undefined : profile.starting();
	}

	/** Battle#resolvePriority; a missing callback is an effect that only counts down. */
	function push(handlers, battle, profile, callback, state, holder, name) {
		if (callback === undefined) callback = profile.timing(name);
		const handler = new Handler(profile, callback, state, holder, 0);
		if (callback.isPlaced) {
			const target = state?.target;
			if (target instanceof Side) handler.subOrder = state.isSlotCondition ? 3 : 4;
			else if (target instanceof Field) handler.subOrder = 5;
		}
		if (name.keepsEffectOrder) handler.effectOrder = state?.effectOrder || 0;
		if (holder instanceof Pokemon) {
			handler.speed = holder.speed;
			if (profile.isMagicBounce && name.name === 'onAllyTryHitSide') {
				handler.speed = holder.getStat('spe', true, true);
			}
			if (name.isSwitchIn) {
				const position = battle.speedOrder.indexOf(holder.getFieldPositionValue());
				handler.speed -= position / (battle.activePerHalf * 2);
			}
		}
		handlers.push(handler);
		return handler;
	}

	/** The callback of the move or effect that causes the event, which goes before all listeners. */
	function fromCause(battle, event, cause, holder) {
		const state = battle.initEffectState({});
		const resolved = battle.resolvePriority({
			effect: cause, callback: cause[event.key], state, end: null, effectHolder: holder,
		}, event.key);
		const callback = {...resolved, call: resolved.callback, order: resolved.order || NO_ORDER};
		const handler = new Handler(kindOf(cause), callback, state, holder, resolved.speed || 0);
		handler.effectOrder = resolved.effectOrder || 0;
		return handler;
	}

	return {gather, gatherEach, fromCause, fromPokemon, fromSide, fromField, fromFormat};
};

module.exports.Handler = Handler; // for shapes.js

function doNothing() {}

/** As much of a profile as calling a handler takes; an active move is not frozen, so it has none of its own. */
function kindOf(effect) {
	const {effectType} = effect;
	return {
		effect,
		isStatus: effectType === 'Status',
		isAbility: effectType === 'Ability',
		isItem: effectType === 'Item',
		isWeather: effectType === 'Weather',
		isBreakable: effectType === 'Ability' && !!effect.flags['breakable'],
	};
}
