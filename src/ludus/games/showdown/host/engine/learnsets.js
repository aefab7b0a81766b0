'use strict';
/**
 * Which Pokemon can learn which moves, loaded when somebody asks for it.
 *
 * The tables are 25 MB of objects, an eighth of a second of a host's start, and a third of what the garbage collector
 * has to look through. Checks of team files read them, and formats that draw from all that a Pokemon can learn.
 */

const LEARNSETS = 'Learnsets';

module.exports = function patchLearnsets({replace, Dex}) {
	const prototype = Object.getPrototypeOf(Dex);
	const loadDataFile = prototype.loadDataFile;
	let isLeftOut = false; // while the tables of a dex are loaded that will load this one later

	replace(prototype, 'loadDataFile', 'de3f7528f5a1', stock => function (basePath, dataType) {
		return isLeftOut && dataType === LEARNSETS ? undefined : stock.call(this, basePath, dataType);
	});

	replace(prototype, 'loadData', 'af25c2ae4e10', stock => function () {
		if (this.dataCache) return this.dataCache;
		const {init} = fileOf(this, 'Scripts') || {};
		const outer = isLeftOut;
		const isLater = isLeftOut = !init || !init.toString().includes(LEARNSETS); // some mods change it at once
		try {
			stock.call(this);
		} finally {
			isLeftOut = outer;
		}
		if (isLater) loadLater(this, !!init);
		return this.dataCache;
	});

	function fileOf(dex, dataType) {
		return loadDataFile.call(dex, `${dex.dataDir}/`, dataType);
	}

	/** The dex's learnsets come into being when somebody reads them, other than a child that is being loaded. */
	function loadLater(dex, isChanged) {
		const {dataCache} = dex;
		Object.defineProperty(dataCache, LEARNSETS, {
			configurable: true,
			enumerable: true,
			get() {
				if (isLeftOut) return undefined;
				const value = learnsetsOf(dex, isChanged);
				Object.defineProperty(dataCache, LEARNSETS, {value, writable: true}); // in place of this getter
				return value;
			},
		});
	}

	/** As the stock method puts a table together: the dex's own entries, and its parent's where it has none. */
	function learnsetsOf(dex, isChanged) {
		const own = fileOf(dex, LEARNSETS);
		if (!dex.parentMod) return own;
		const inherited = Dex.dexes[dex.parentMod].data[LEARNSETS];
		if (!own && !isChanged) return inherited;
		const table = own || {};
		for (const id in inherited) {
			if (table[id] === null) delete table[id];
			else if (!(id in table)) table[id] = inherited[id];
			else if (table[id]?.inherit) {
				delete table[id].inherit;
				table[id] = {...inherited[id], ...table[id]};
			}
		}
		return table;
	}
};
