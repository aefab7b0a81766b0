'use strict';
// The host of OpenFront: node host.js --checkout FOLDER. It speaks the host protocol on stdin and stdout.

const { refuse, serve } = require('../../../sdk/javascript');
const { ACTIONS } = require('./actions.js');
const { CheckoutError, loadCore } = require('./checkout.js');
const { MapError, openMaps } = require('./maps.js');
const { OpenFrontMatch } = require('./match.js');
const { layoutOf, leavesOf, tablesOf } = require('./observe.js');
const { OPTIONS } = require('./options.js');

const SCHEMA = 1; // to be raised whenever an observation or an action changes its meaning

function setUp(options, checkout) {
	const { seats, team_size: teamSize } = options;
	if (seats % teamSize !== 0) throw refuse(`${seats} seats cannot be divided into teams of ${teamSize}`);
	const [core, maps] = opened(options, checkout);
	return {
		name: `openfront-${options.feature_set}`, seats, actions: ACTIONS.length,
		schema: SCHEMA, obs: leavesOf(options), tables: tablesOf(),
		layout: { ...layoutOf(options), teams: Array.from({ length: seats }, (_, seat) => Math.floor(seat / teamSize)) },
		facts: { openfront: core.version, checkout },
		newMatch: ({ keepLog }) => new OpenFrontMatch(core, maps, options, keepLog),
	};
}

function opened(options, checkout) {
	try {
		const core = loadCore(checkout);
		return [core, openMaps(checkout, options.maps, options.size === 'compact')];
	} catch (error) {
		if (error instanceof CheckoutError || error instanceof MapError) throw refuse(error.message);
		throw error;
	}
}

const checkout = process.argv[process.argv.indexOf('--checkout') + 1];
serve({ options: OPTIONS, setUp: options => setUp(options, checkout) });
