'use strict';
/**
 * Battle#runEvent and Battle#singleEvent on listener tables.
 *
 * Stock code asks every effect of every active Pokemon for five callbacks at every event, and most events have no
 * listener at all. Here an event without listeners returns its relay value at once, and the others visit only the
 * Pokemon whose table has the event.
 */

const {eventName} = require('./names');
const {battleListeners, isHeardBy, isHeardOnField, markStale} = require('./listeners');
const createGather = require('./gather');
const {sortHandlers} = require('./order');

module.exports = function patchEvents({replace, Battle, Pokemon, Side, Field, State}) {
	const {gather, gatherEach, fromCause} = createGather({Pokemon, Side, Field});

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
		if (!onEffect && !hasTargets && !isHeardOnField(this, listeners, event.index)) {
			if (!isHeardBeside(target, event.index) && (effectSource === null || !isHeardBeside(source, event.index))) {
				return unheard(this, target, false, relayVar);
			}
		}
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

	/** Whether a Pokemon that is not on the field may listen. */
	function isHeardBeside(target, index) {
		return target instanceof Pokemon && !target.isActive && isHeardBy(target, index);
	}

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
		if (this.eventDepth >= 8 || this.log.length - this.sentLogPos > 1000 || this.debugMode) {
			return stock.call(this, eventid, effect, state, target, source, sourceEffect, relayVar, customCallback);
		}
		const callback = customCallback || effect[eventName(eventid).key];
		const hasRelayVar = relayVar !== undefined;
		if (!hasRelayVar) relayVar = true;
		if (callback === undefined || isMuted(this, eventid, effect, target)) return relayVar;
		const parentEffect = this.effect;
		const parentEffectState = this.effectState;
		const parentEvent = this.event;
		this.effect = effect;
		this.effectState = state || this.initEffectState({});
		this.event = {id: eventid, target, source, effect: sourceEffect};
		this.eventDepth++;
		let returned = callback;
		if (typeof callback === 'function') {
			returned = hasRelayVar ?
				callback.call(this, relayVar, target, source, sourceEffect) :
				callback.call(this, target, source, sourceEffect);
		}
		this.eventDepth--;
		this.effect = parentEffect;
		this.effectState = parentEffectState;
		this.event = parentEvent;
		return returned === undefined ? relayVar : returned;
	});

	/** The conditions under which Battle#singleEvent does not call. */
	function isMuted(battle, eventid, effect, target) {
		switch (effect.effectType) {
		case 'Status':
			return target instanceof Pokemon && target.status !== effect.id;
		case 'Ability':
			if (eventid === 'SwitchIn' && effect.flags['breakable'] && battle.suppressingAbility(target)) return true;
			return eventid !== 'End' && target instanceof Pokemon && target.ignoringAbility();
		case 'Item':
			return eventid !== 'Start' && eventid !== 'TakeItem' && eventid !== 'SetAbility' &&
				target instanceof Pokemon && target.ignoringItem();
		case 'Weather':
			return eventid !== 'FieldStart' && eventid !== 'FieldResidual' && eventid !== 'FieldEnd' &&
				battle.field.suppressingWeather();
		}
		return false;
	}

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
