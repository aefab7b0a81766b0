'use strict';
/**
 * Deep copies of data that never changes, made by code written for the data: `() => ({contact: 1, protect: 1})`.
 *
 * A literal copies itself from a template in one step; Utils.deepClone lists the keys and adds them one by one.
 */

/** A function that returns a fresh deep copy of the value, as `deepClone` would make it. */
function createCopy(value, deepClone) {
	const constants = [];
	const text = literal(value, constants, deepClone);
	return new Function('constants', 'deepClone', `return () => (${text});`)(constants, deepClone);
}

function literal(value, constants, deepClone) {
	switch (typeof value) {
	case 'string':
	case 'boolean':
		return JSON.stringify(value);
	case 'object':
		if (value === null) return 'null';
		if (Array.isArray(value)) return `[${value.map(item => literal(item, constants, deepClone)).join(', ')}]`;
		if (Object.getPrototypeOf(value) === Object.prototype && !Object.hasOwn(value, '__proto__')) {
			const pairs = Object.keys(value).map(key => `${JSON.stringify(key)}: ${literal(value[key], constants, deepClone)}`);
			return `{${pairs.join(', ')}}`;
		}
		return `deepClone(${constant(value, constants)})`;
	case 'number':
		if (Number.isInteger(value) && !Object.is(value, -0)) return `${value}`;
	}
	return constant(value, constants);
}

function constant(value, constants) {
	constants.push(value);
	return `constants[${constants.length - 1}]`;
}

module.exports = {createCopy};
