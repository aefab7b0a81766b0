'use strict';
/**
 * Dex#getActiveMove with one object layout for all moves.
 *
 * Stock code copies a move key by key into an empty object. With its fifty keys the copy becomes a hash table, slow to
 * make and slow to read. Here a class with every key that any move up to the dex's generation has makes the copies, so
 * that all active moves share one layout; keys that the move lacks are undefined, which nothing in the simulator tells
 * from absent.
 */

const {createCopy} = require('./copies');

/** Set on active moves while they run; named here so that setting them does not change the layout. */
const RUN_TIME_KEYS = [
	'hit', 'moveHitData', 'totalDamage', 'lastHit', 'isExternal', 'hasBounced', 'sourceEffect', 'selfDropped',
	'infiltrates', 'hitTargets', 'allies', 'statusRoll', 'magnitude', 'multihitType', 'hasSheerForce', 'hasAuraBreak',
	'auraBooster', 'pranksterBoosted', 'typeChangerBoosted', 'stellarBoosted', 'causedCrashDamage', 'ruinedAtk',
	'ruinedDef', 'ruinedSpA', 'ruinedSpD',
];

module.exports = function patchMoves({replace, ModdedDex, DataMove}) {
	const copiers = new WeakMap();

	replace(ModdedDex.prototype, 'getActiveMove', 'd75c255b5adb', stock => function (move) {
		if (move && typeof move.hit === 'number') return move;
		move = this.moves.get(move);
		let copier = copiers.get(this);
		if (copier === undefined) copiers.set(this, copier = createCopier(this, DataMove));
		return copier(move) || stock.call(this, move);
	});
};

/** Returns a function that copies a move of the dex; null for one with keys that no move of the generation has. */
function createCopier(dex, DataMove) {
	const keys = new Set(Object.keys(new DataMove({name: 'x', category: 'Physical', basePower: 1})));
	for (const move of dex.moves.all()) if (move.gen <= dex.gen) for (const key in move) keys.add(key);
	for (const key of RUN_TIME_KEYS) keys.add(key);
	const ActiveMove = createClass([...keys], DataMove);
	const blank = new ActiveMove({});
	const origins = new WeakMap();
	const isKnown = move =>
		Object.getPrototypeOf(move) === DataMove.prototype && Object.keys(move).every(key => keys.has(key));
	return move => {
		let origin = origins.get(move);
		if (origin === undefined) {
			// the constructor must not meet the moves themselves, of which each has a layout of its own
			origin = isKnown(move) ? new Origin(Object.assign(new ActiveMove(blank), move), dex) : null;
			origins.set(move, origin);
		}
		if (origin === null) return null;
		const copy = new ActiveMove(origin.move);
		const {keys: nested, copies} = origin;
		for (let i = 0; i < nested.length; i++) copy[nested[i]] = copies[i]();
		copy.hit = 0;
		return copy;
	};
}

/** A move to copy, and how to copy the tables in it. */
class Origin {
	constructor(move, dex) {
		this.move = move;
		this.keys = Object.keys(move).filter(key => typeof move[key] === 'object' && move[key] !== null);
		this.copies = this.keys.map(key => createCopy(move[key], dex.deepClone));
	}
}

/** A constructor spelled out key by key is what gives all copies the same layout from the start. */
function createClass(keys, DataMove) {
	const assignments = keys.map(key => `this[${JSON.stringify(key)}] = move[${JSON.stringify(key)}];`);
	const ActiveMove = new Function('move', assignments.join('\n'));
	ActiveMove.prototype = DataMove.prototype;
	return ActiveMove;
}
