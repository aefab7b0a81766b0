'use strict';
// What Showdown's hosts share, wherever their battles are played.

const { SEATS } = require('./seated.js');
const { hello } = require('./setup.js');

/** `Base` is the kind of host that fits: one that answers at once, or one that waits for something outside. */
const battleHost = Base => class BattleHost extends Base {
	/** `simRoot` is the folder of the pokemon-showdown package. */
	constructor(simRoot, send, log) {
		super(send, log);
		this.simRoot = simRoot;
	}

	/** Take a CONFIGURE message in and say HELLO, with `more` in it; `setup` is what its options lead to, by `setUp`. */
	prepare(message, setup, more = {}) {
		this.setup = setup;
		const { size: actions, maskBytes } = setup.actionSet;
		const obsBytes = setup.observer.nbytes;
		const said = { ...hello(setup), ...more };
		this.prepareSlots(message, { seats: SEATS, actions, maskBytes, obsBytes, hello: said });
		setup.clock = this.clock;
	}
};

module.exports = { battleHost };
