'use strict';
/**
 * Keeps compiled code over garbage collections.
 *
 * V8 throws away what it compiled for objects of one shape (its "map") when a full collection finds no such object
 * alive. Handlers, choices and counters live for less than a millisecond, so the hottest code of all was compiled anew
 * every few seconds. V8 spares a shape whose constructor and prototype it has met before it looks at shapes; without
 * incremental marking (NODE_FLAGS in game.py) those are the ones on the stack: all classes lie there while battles run.
 */

/** A function that runs another one with the classes that all modules loaded by now export on the stack. */
function keepShapes() {
	const classes = new Set([Object, Array, Map, Set]); // V8 takes Map for the constructor of a class that extends it
	for (const { exports } of Object.values(require.cache)) {
		for (const value of [exports, ...Object.values(exports || {})]) {
			if (typeof value === 'function' && value.prototype) classes.add(value);
		}
	}
	const held = [...classes].flatMap(each => [each, each.prototype]);
	return run => onStack(run, ...held);
}

function onStack(run) {
	return run();
}

module.exports = { keepShapes };
