'use strict';
/** Battle#add without closures, array walks and joins for each of a battle's thousand lines. */

module.exports = function patchLogs({replace, Battle}) {
	replace(Battle.prototype, 'add', '6382e3309071', stock => function (...parts) {
		let line = '';
		for (let i = 0; i < parts.length; i++) {
			const part = parts[i];
			if (typeof part === 'string') {
				line += `|${part}`;
			} else if (typeof part === 'function') {
				if (!addSplit(this, parts, i, line)) stock.apply(this, parts);
				return;
			} else {
				line += part === null || part === undefined ? '|' : `|${part}`;
			}
		}
		this.log.push(line || '|');
	});
};

/** A line of which one side sees more; false, with nothing done, when it has more than one such part. */
function addSplit(battle, parts, at, before) {
	let after = '';
	for (let i = at + 1; i < parts.length; i++) {
		const part = parts[i];
		if (typeof part === 'function') return false;
		after += part === null || part === undefined ? '|' : `|${part}`;
	}
	const {side, secret, shared} = parts[at]();
	battle.log.push(`|split|${side}`, `${before}|${secret}${after}`, `${before}|${shared}${after}`);
	return true;
}
