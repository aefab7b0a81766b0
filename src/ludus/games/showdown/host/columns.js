'use strict';
/** Names of the columns of every leaf of numbers, in order, and how they are written: docs/games/showdown.md says what
 * they mean. */

const {BOOTS, CHOICE, LEFTOVERS, LIFE_ORB} = require('./kinds');
const {BOOSTS, STATUSES} = require('./tables');

// What stands for 1 in a fixed16 leaf, and in a fixed8 leaf.
const ONE = 4096;
const ONE8 = 64;

const MOVE_STATE = ['known', 'pp', 'disabled', 'last_used'];
const MATCHUP = ['effectiveness', 'stab', 'damage', 'share', 'ko'];
const PAIR = ['dealt', 'taken', 'faster'];
const FORM = ['share', 'ko'];
const SPEEDS = ['speed_least', 'speed_most'];
// Columns of what a Pokemon of the foe is known not to have; the first one counts the same move in a row.
const EVIDENCE = [
	['repeated', 0], ['not_choice', CHOICE], ['not_leftovers', LEFTOVERS], ['not_boots', BOOTS],
	['not_life_orb', LIFE_ORB],
];
const DUEL = ['own_on_foe', 'foe_on_own', 'faster', 'danger'];

// Columns that every generation has; their places are constants the compiler can fold.
const COMMON = [
	'hp', 'alive', 'present', 'active', 'revealed', 'level', ...STATUSES, 'status_turns',
	'maxhp', 'atk', 'def', 'spa', 'spd', 'spe',
	'trapped', 'maybe_trapped', 'active_turns', 'transformed',
];
const COLUMN = Object.freeze(Object.fromEntries(COMMON.map((name, i) => [name, i])));

/**
 * `groups` are those that rows have. With `hasBeliefs`, also how probable the ability, item and tera type of a row are,
 * if the generation has them.
 */
function pokemonColumns(variants, gen, hasBeliefs, groups) {
	return [
		...COMMON,
		...(variants.includes('dynamax') ? ['dynamaxed'] : []),
		...(variants.includes('tera') ? ['terastallized'] : []),
		...(hasBeliefs && gen > 2 ? ['ability_chance'] : []),
		...(hasBeliefs && gen > 1 ? ['item_chance'] : []),
		...(hasBeliefs && variants.includes('tera') ? ['tera_chance'] : []),
		...(groups.has('speed') ? SPEEDS : []),
		...(groups.has('evidence') ? EVIDENCE.map(([name]) => name) : []),
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
function clearNumbers(numbers, at, count) {
	for (let i = 0; i < count; i++) numbers[at + i] = 0;
}

/** A number below 8 as a fixed16 leaf holds it. */
function fixed(value) {
	return Math.floor(value * ONE + 0.5);
}

/** A number below 2 as a fixed8 leaf holds it. */
function fixed8(value) {
	return Math.floor(value * ONE8 + 0.5);
}

/** Turns as a column: 8 and more are 1. */
function eighths(turns) {
	return turns < 8 ? turns * (ONE / 8) : ONE;
}

/** Turns since `then` as a column. */
function lasted(turn, then) {
	return eighths(turn - then);
}

module.exports = {
	COLUMN, DUEL, EVIDENCE, FORM, MATCHUP, MOVE_STATE, ONE, ONE8, PAIR, SPEEDS, clearNumbers, eighths, fieldColumns,
	fixed, fixed8, lasted, pokemonColumns,
};
