'use strict';
/** Names of the columns of every float leaf, in order; what a column means is in docs/games/showdown.md. */

const {BOOSTS, STATUSES} = require('./tables');

const MOVE_STATE = ['known', 'pp', 'disabled', 'last_used'];
const MATCHUP = ['effectiveness', 'stab', 'damage', 'share', 'kills'];
const DUEL = ['own_on_foe', 'foe_on_own', 'faster', 'danger'];

// Columns that every generation has; their places are constants the compiler can fold.
const COMMON = [
	'hp', 'alive', 'present', 'active', 'revealed', 'level', ...STATUSES, 'status_turns',
	'maxhp', 'atk', 'def', 'spa', 'spd', 'spe',
	'trapped', 'maybe_trapped', 'active_turns', 'transformed',
];
const COLUMN = Object.freeze(Object.fromEntries(COMMON.map((name, i) => [name, i])));

function pokemonColumns(variants) {
	return [
		...COMMON,
		...(variants.includes('dynamax') ? ['dynamaxed'] : []),
		...(variants.includes('tera') ? ['terastallized'] : []),
	];
}

function fieldColumns(effects, slots, variants) {
	const side = name => effects.sideConditions.flatMap(
		condition => [`${name}_${condition.name}`, ...(condition.timed ? [`${name}_${condition.name}_turns`] : [])]);
	const perSlot = name => Array.from({length: slots}, (_, slot) => `${name}_${slot}`);
	const used = variants.slice(1);
	return [
		...effects.weathers.map(name => `weather_${name}`), ...(effects.weathers.length ? ['weather_turns'] : []),
		...effects.terrains.map(name => `terrain_${name}`), ...(effects.terrains.length ? ['terrain_turns'] : []),
		...effects.rooms, ...(effects.rooms.length ? ['trickroom_turns'] : []),
		...side('own'), ...side('foe'),
		'turn', 'request_move', 'request_switch', 'request_preview',
		...perSlot('force'),
		...used.flatMap(variant => perSlot(`can_${variant}`)),
		...used.map(variant => `foe_spent_${variant}`),
		'foe_unrevealed', 'own_alive', 'foe_alive',
	];
}

/** The arrays' own `fill` leaves compiled code, which takes longer than these few numbers. */
function clearFloats(floats, at, count) {
	for (let i = 0; i < count; i++) floats[at + i] = 0;
}

/** Turns since `then` as a column: 8 and more are 1. */
function lasted(turn, then) {
	const share = (turn - then) / 8;
	return share > 1 ? 1 : share;
}

module.exports = {
	COLUMN, pokemonColumns, fieldColumns, MOVE_STATE, MATCHUP, DUEL, clearFloats, lasted,
};
