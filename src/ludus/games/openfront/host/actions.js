'use strict';
// The flat list of actions, the same for every match: what each number means. Masks say which are legal (legality.js).

const RIVALS = 8; // slots of the table of rivals
const SHARES = [0.1, 0.2, 0.35, 0.5]; // of the troops, for an attack
const BOAT_SHARES = [0.2, 0.5];
const STRUCTURES = ['City', 'Port', 'DefensePost', 'Factory', 'MissileSilo', 'SAMLauncher'];
const UPGRADES = ['City', 'Port', 'Factory', 'MissileSilo', 'SAMLauncher'];
const PLACES = 8; // to spawn at
const DIPLOMACY = ['ally', 'reject', 'extend', 'betray', 'embargo', 'trade'];
const KINDS = ['noop', 'attack', 'boat', 'build', 'upgrade', 'retreat', 'recall', ...DIPLOMACY, 'spawn'];

/** Return the actions as {kind, rival, share, unit, place}. `rival` 0 is free land, 1 to 8 are slots; -1 is none. */
function actionList() {
	const action = (kind, more = {}) => ({ kind, rival: -1, share: 0, unit: '', place: -1, ...more });
	const rivals = count => Array.from({ length: count }, (_, i) => i);
	const all = [action('noop')];
	for (const rival of rivals(RIVALS + 1)) for (const share of SHARES) all.push(action('attack', { rival, share }));
	for (const rival of rivals(RIVALS + 1)) for (const share of BOAT_SHARES) all.push(action('boat', { rival, share }));
	for (const unit of STRUCTURES) all.push(action('build', { unit }));
	for (const unit of UPGRADES) all.push(action('upgrade', { unit }));
	for (const rival of rivals(RIVALS + 1)) all.push(action('retreat', { rival }));
	all.push(action('recall'));
	for (const kind of DIPLOMACY) for (const rival of rivals(RIVALS)) all.push(action(kind, { rival: rival + 1 }));
	for (let place = 0; place < PLACES; place++) all.push(action('spawn', { place }));
	return all;
}

const ACTIONS = Object.freeze(actionList());

/** Return a short name of an action, such as "attack 2, 35%". */
function nameOf({ kind, rival, share, unit, place }) {
	const target = rival < 0 ? '' : ` ${rival === 0 ? 'free land' : rival}`;
	const more = [unit && ` ${unit}`, share ? `, ${Math.round(100 * share)}%` : '', place < 0 ? '' : ` ${place}`];
	return `${kind}${target}${more.join('')}`;
}

module.exports = {
	ACTIONS, BOAT_SHARES, DIPLOMACY, KINDS, PLACES, RIVALS, SHARES, STRUCTURES, UPGRADES, actionList, nameOf,
};
