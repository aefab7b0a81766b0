'use strict';
// Variables that all games of the core share. Each game gets its own, so that a match depends on its seed alone.

/** Return the shared variables of the core, as [class, name, function that makes the first value]. */
function sharedStatics(core) {
	const all = [
		[core.NationMIRVBehavior, 'recentMirvTargets', () => new Map()],
		[core.TransportShipExecution, '_staggerCounter', () => 0],
		[core.TradeShipExecution, '_staggerCounter', () => 0],
	];
	return all.filter(([owner, name]) => Object.hasOwn(owner, name));
}

class Statics {
	constructor(core) {
		this.all = sharedStatics(core);
		this.values = this.all.map(([, , first]) => first());
	}

	/** Call `act` with this game's values in place. They are kept for the next call, also if `act` throws. */
	during(act) {
		const { all, values } = this;
		for (let i = 0; i < all.length; i++) all[i][0][all[i][1]] = values[i];
		try {
			return act();
		} finally {
			for (let i = 0; i < all.length; i++) values[i] = all[i][0][all[i][1]];
		}
	}
}

module.exports = { Statics, sharedStatics };
