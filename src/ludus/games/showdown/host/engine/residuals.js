'use strict';
/** Battle#fieldEvent, the Residual and SwitchIn events, on listener tables. */

const {callbackName} = require('./names');
const {battleListeners, pokemonListeners} = require('./listeners');
const createGather = require('./gather');
const {sortHandlers} = require('./order');

module.exports = function patchResiduals({replace, Battle, Pokemon, Side, Field}) {
	const {fromPokemon, fromSide, fromField, fromFormat} = createGather({Pokemon, Side, Field});

	replace(Battle.prototype, 'fieldEvent', '5ada72730045', stock => function (eventid, targets) {
		const listeners = battleListeners(this);
		if (!listeners.isPlain || this.events) return stock.call(this, eventid, targets);
		const names = fieldNames(eventid);
		const handlers = gatherAll(this, listeners, names, targets);
		sortHandlers(this, handlers);
		for (const handler of handlers) {
			const {effect, state} = handler;
			if (handler.effectHolder.fainted && !state?.isSlotCondition) continue;
			if (names.isResidual && handler.end && state?.duration) {
				state.duration--;
				if (!state.duration) {
					handler.end.call(...(handler.endCallArgs || [handler.effectHolder, effect.id]));
					if (this.ended) return;
					continue;
				}
			}
			if (hasGone(handler)) continue;
			if (handler.callback) {
				let id = eventid;
				if (handler.effectHolder.sideConditions) id = names.sideID;
				if (handler.effectHolder.pseudoWeather) id = names.fieldID;
				this.singleEvent(id, effect, state, handler.effectHolder, null, null, undefined, handler.callback);
			}
			this.faintMessages();
			if (this.ended) return;
		}
	});

	function gatherAll(battle, listeners, names, targets) {
		const wantsTimed = names.isResidual;
		const handlers = [];
		fromField(handlers, battle, listeners, names.field, wantsTimed, null);
		for (const side of battle.sides) {
			if (side.n < 2 || !side.allySide) fromSide(handlers, battle, side, names.side, wantsTimed, null);
			for (const active of side.active) {
				if (!active) continue;
				const own = pokemonListeners(active);
				if (names.isSwitchIn) fromPokemon(handlers, battle, active, own, names.any, false);
				if (targets && !targets.includes(active)) continue;
				fromPokemon(handlers, battle, active, own, names.on, wantsTimed);
				fromSide(handlers, battle, side, names.on, false, active);
				fromField(handlers, battle, listeners, names.on, false, active);
				fromFormat(handlers, battle, listeners, names.on, active);
			}
		}
		return handlers;
	}

	/** Whether the effect was removed, or replaced by another of its kind, since the handlers were gathered. */
	function hasGone({effect, state}) {
		const target = state?.target;
		if (target instanceof Pokemon) return stateOnPokemon(target, effect, state) !== state;
		if (target instanceof Side) return !state.isSlotCondition && target.sideConditions[effect.id] !== state;
		if (target instanceof Field) return stateOnField(target, effect) !== state;
		return false;
	}
};

function stateOnPokemon(pokemon, effect, state) {
	if (effect.effectType === 'Ability' && !state.id.startsWith('ability:')) return pokemon.abilityState;
	if (effect.effectType === 'Item' && !state.id.startsWith('item:')) return pokemon.itemState;
	if (effect.effectType === 'Status') return pokemon.statusState;
	return pokemon.volatiles[effect.id];
}

function stateOnField(field, effect) {
	if (effect.effectType === 'Weather') return field.weatherState;
	if (effect.effectType === 'Terrain') return field.terrainState;
	return field.pseudoWeather[effect.id];
}

const known = new Map();

function fieldNames(eventid) {
	let names = known.get(eventid);
	if (names === undefined) {
		names = {
			on: callbackName(`on${eventid}`),
			any: callbackName(`onAny${eventid}`),
			side: callbackName(`onSide${eventid}`),
			field: callbackName(`onField${eventid}`),
			sideID: `Side${eventid}`,
			fieldID: `Field${eventid}`,
			isResidual: eventid === 'Residual',
			isSwitchIn: eventid === 'SwitchIn',
		};
		known.set(eventid, names);
	}
	return names;
}
