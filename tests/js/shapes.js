'use strict';
// Battles on the sped-up engine with a full collection now and then. What V8 throws away then is told by --trace-deopt.
// Usage: node --trace-deopt --expose-gc --no-incremental-marking shapes.js kept|lost FORMAT

const path = require('node:path');
const { HOST, SplitMix, startBattle } = require('./simulator.js');

require(path.join(HOST, 'engine.js')).speedUp(process.env.LUDUS_TEST_SIMULATOR);

const TURNS = 6000;
const TURNS_BETWEEN_COLLECTIONS = 1000;

const [kept, format] = process.argv.slice(2);
const random = new SplitMix(1);
let battle = startBattle(format, random);

const play = () => {
	for (let turn = 1; turn <= TURNS; turn++) {
		battle.makeChoices();
		if (battle.ended) battle = startBattle(format, random);
		if (turn % TURNS_BETWEEN_COLLECTIONS === 0) globalThis.gc();
	}
};

if (kept === 'kept') require(path.join(HOST, 'shapes.js')).keepShapes()(play);
else play();
