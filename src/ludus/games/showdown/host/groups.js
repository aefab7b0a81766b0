'use strict';
/** Groups of an observation's contents that can be left out, to see what they are worth. */

/** Those that came with schema 5. A row without all of them is a row of schema 4. */
const SINCE_5 = ['last_turn', 'speed', 'evidence', 'pairs', 'forms'];
const GROUPS = [...SINCE_5, 'ko', 'beliefs'];

/** Return the groups that remain, as a set. */
function without(leftOut) {
	return new Set(GROUPS.filter(name => !leftOut.includes(name)));
}

/** The number that grows whenever the meaning of an observation or action changes. */
function schemaOf(groups) {
	return SINCE_5.some(name => groups.has(name)) ? 5 : 4;
}

module.exports = {GROUPS, schemaOf, without};
