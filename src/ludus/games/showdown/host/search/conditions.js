'use strict';
/**
 * Puts statuses, volatiles, side conditions, weather and terrain of a position into a battle that was built.
 *
 * How long they last from now on is not known: the usual duration less the turns that have passed, at least 1.
 */

const FIELD_TURNS = 5; // of weather, terrain and rooms
const SCREEN_TURNS = 5;
const TURNS = {tailwind: 4, auroraveil: SCREEN_TURNS, reflect: SCREEN_TURNS, lightscreen: SCREEN_TURNS};
const PASSING = new Set(['protect', 'endure', 'helpinghand', 'followme', 'commanding', 'typechange', 'typeadd', 'bide',
	'trapped', 'futuresight', 'fallen']); // ends with the turn, or needs more than is shown
const BEST_STATS = ['atk', 'def', 'spa', 'spd', 'spe'];

/** State that a volatile needs besides its id: (value in the row, {own, foe, last, disabled}) -> object, or null. */
const STATES = {
	confusion: () => ({time: 3}),
	substitute: (value, {own}) => ({hp: Math.max(1, Math.floor(own.maxhp / 4))}),
	mustrecharge: () => ({duration: 2}),
	lockedmove: (value, {last}) => last && {move: last, duration: 2, trueDuration: 2, time: 2, accuracy: 255},
	twoturnmove: (value, {last}) => last && {move: last, duration: 2},
	encore: (value, {last}) => last && {move: last, duration: 2},
	disable: (value, {disabled}) => disabled && {move: disabled, duration: 3, time: 3},
	taunt: () => ({duration: 2}),
	yawn: () => ({duration: 1}),
	uproar: (value, {last}) => last && {move: last, duration: 2},
	stall: () => ({counter: 3, duration: 2}),
	perish: value => ({duration: Math.max(1, 4 - value)}),
	stockpile: value => ({layers: value, def: value, spd: value}),
	protosynthesis: value => ({bestStat: BEST_STATS[value - 1]}),
	quarkdrive: value => ({bestStat: BEST_STATS[value - 1]}),
	magnetrise: () => ({duration: 3}),
	throatchop: () => ({duration: 2}),
	healblock: () => ({duration: 3}),
	embargo: () => ({duration: 3}),
	slowstart: () => ({duration: 3, counter: 3}),
	syrupbomb: () => ({duration: 2}),
};
const IDS = {perish: 'perishsong'};

/** Adds a status that lasts, as the simulator does it in this generation. */
function addStatus(battle, pokemon, {status, statusTurns}) {
	pokemon.setStatus(status, pokemon, null, true);
	if (pokemon.status !== status) pokemon.status = status; // an ability or a rule would have stopped it
	const state = pokemon.statusState;
	state.id = status;
	if (status === 'tox') state.stage = statusTurns;
	if (status === 'slp') {
		state.startTime ??= 3;
		state.time = Math.max(1, (state.time ?? 3) - statusTurns);
	}
	if (battle.gen === 1 && status === 'par') pokemon.modifyStat('spe', 0.25);
	if (battle.gen === 1 && status === 'brn') pokemon.modifyStat('atk', 0.5);
}

/** Adds the volatiles of an active Pokemon. `last` and `disabled` are ids of moves, or ''. */
function addVolatiles(battle, own, foe, volatiles, last, disabled) {
	for (const [name, value] of Object.entries(volatiles)) {
		const id = IDS[name] ?? name;
		if (PASSING.has(name) || (battle.gen === 1 && name === 'partiallytrapped')) continue;
		const condition = battle.dex.conditions.get(id);
		if (!condition.exists) continue;
		const given = STATES[name] ? STATES[name](value, {own, foe, last, disabled}) : {};
		if (!given) continue;
		const state = {id, name: condition.name, target: own, source: foe, sourceSlot: foe?.getSlot(), ...given};
		if (condition.duration) state.duration ??= condition.duration;
		if (name === 'partiallytrapped') Object.assign(state, {duration: 3, boundDivisor: 8, sourceEffect: condition});
		own.volatiles[id] = battle.initEffectState(state);
		if (name === 'twoturnmove' && battle.gen > 1) {
			own.volatiles[last] = battle.initEffectState({id: last, target: own, source: own, duration: 2});
		}
	}
}

/** A Pokemon that holds a choice item and has moved since it came in is locked into its move. */
function lockChoice(battle, pokemon, last) {
	if (!last || !pokemon.getItem().isChoice || !pokemon.moves.includes(last)) return;
	const state = {id: 'choicelock', name: 'choicelock', target: pokemon, move: last};
	pokemon.volatiles.choicelock = battle.initEffectState(state);
}

function addSideConditions(battle, side, conditions) {
	const source = side.foe.active[0];
	for (const {name, layers, turns} of conditions) {
		if (PASSING.has(name) || !battle.dex.conditions.get(name).exists) continue;
		const state = {id: name, target: side, source, sourceSlot: source.getSlot(), layers};
		const usual = TURNS[name] ?? battle.dex.conditions.get(name).duration;
		if (usual) state.duration = Math.max(1, usual - turns);
		side.sideConditions[name] = battle.initEffectState(state);
	}
}

function addFieldConditions(battle, {weather, terrain, rooms}) {
	const {field} = battle;
	const source = battle.sides[0].active[0];
	const state = ({name, turns}, more = {}) => battle.initEffectState({
		id: name, source, sourceSlot: source.getSlot(), duration: Math.max(1, FIELD_TURNS - turns), ...more,
	});
	if (weather !== null) {
		field.weather = weather.name;
		field.weatherState = state(weather);
		if (battle.gen < 6 && weather.turns >= FIELD_TURNS) field.weatherState.duration = 0; // an ability's, for ever
	}
	if (terrain !== null) {
		field.terrain = terrain.name;
		field.terrainState = state(terrain);
	}
	for (const room of rooms) field.pseudoWeather[room.name] = state(room);
}

module.exports = {addFieldConditions, addSideConditions, addStatus, addVolatiles, lockChoice};
