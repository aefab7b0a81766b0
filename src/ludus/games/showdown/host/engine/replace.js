'use strict';
/** Replaces methods all together or not at all, each only where its stock source is the one we know. */

const {createHash} = require('node:crypto');

function digestOf(method) {
	return createHash('sha256').update(method.toString()).digest('hex').slice(0, 12);
}

/**
 * `replace(owner, name, digest, make)` plans to put `make(stock)` where `owner[name]` is and throws if that is not
 * the expected method; `commit()` carries the plan out.
 */
function createReplace() {
	const planned = [];
	function replace(owner, name, digest, make) {
		const stock = owner?.[name];
		const place = `${owner?.constructor?.name ?? 'simulator'}#${name}`;
		if (typeof stock !== 'function') {
			throw new Error(`the engine speed-up cannot find ${place}: this is not the simulator it was written for`);
		}
		const seen = digestOf(stock);
		if (digest && seen !== digest) {
			throw new Error(
				`the engine speed-up does not know this ${place} (source digest ${seen}, expected ${digest}): ` +
				`the simulator was changed; reinstall it, or run without the speed-up`
			);
		}
		planned.push({owner, name, method: make(stock)});
	}
	function commit() {
		for (const {owner, name, method} of planned) owner[name] = method;
	}
	return {replace, commit};
}

module.exports = {createReplace, digestOf};
