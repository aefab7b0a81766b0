'use strict';
/** Battle#add without a closure, an array walk and a join for each of a battle's thousand lines. */

module.exports = function patchLogs({replace, Battle}) {
	replace(Battle.prototype, 'add', '6382e3309071', stock => function (...parts) {
		let line = '';
		for (let i = 0; i < parts.length; i++) {
			const part = parts[i];
			if (typeof part === 'string') {
				line += `|${part}`;
			} else if (typeof part === 'function') {
				stock.apply(this, parts);
				return;
			} else {
				line += part === null || part === undefined ? '|' : `|${part}`;
			}
		}
		this.log.push(line || '|');
	});
};
