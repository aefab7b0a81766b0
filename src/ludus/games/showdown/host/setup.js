'use strict';
// From a CONFIGURE message's options to what all matches of a host share, and to the HELLO that describes it.

const path = require('node:path');
const { SILENT } = require('../../../sdk/javascript/clock.js');
const { ActionSet, SWITCHES } = require('./actions.js');
const { HostError, VERSION } = require('../../../sdk/javascript/frames.js');
const { packTable } = require('../../../sdk/javascript/layout.js');
const { checkedOptions, suggestion } = require('../../../sdk/javascript/options.js');
const { SEATS } = require('./seated.js');
const { GROUPS } = require('./groups.js');
const { generatedSets } = require('./beliefs/generated.js');
const { usageSets } = require('./beliefs/usage.js');
const { tablesOf } = require('./tables.js');
const { loadTeams } = require('./teams.js');

const OPTIONS = {
	format: { fallback: 'gen1randombattle', valid: value => typeof value === 'string', expected: 'the name of a format' },
	feature_set: { fallback: 'full', valid: value => value === 'raw' || value === 'full', expected: 'raw or full' },
	beliefs: { fallback: true, valid: value => typeof value === 'boolean', expected: 'true or false' },
	leave_out: {
		fallback: [], valid: value => Array.isArray(value) && value.every(name => GROUPS.includes(name)),
		expected: `a list of ${GROUPS.join(', ')}`,
	},
	usage: { fallback: null, valid: value => value === null || typeof value === 'string', expected: 'a file or null' },
	teams: { fallback: null, valid: value => value === null || typeof value === 'string', expected: 'a folder or null' },
	max_turns: { fallback: 300, valid: value => Number.isInteger(value) && value >= 1, expected: 'an integer from 1' },
	reward_win: { fallback: 1, valid: Number.isFinite, expected: 'a number' },
	reward_shaping: { fallback: 0.5, valid: Number.isFinite, expected: 'a number' },
	stock_engine: { fallback: false, valid: value => typeof value === 'boolean', expected: 'true or false' },
	// for who starts the host
	node: { fallback: 'wheel', valid: value => typeof value === 'string', expected: 'a string' },
};

/**
 * Load the simulator and everything that all matches of this host share. A host whose battles run elsewhere names its
 * `engine` and the `options` that it has besides.
 */
function setUp(simRoot, given, keepLog, elsewhere = null) {
	const options = checkedOptions(given, elsewhere ? { ...OPTIONS, ...elsewhere.options } : OPTIONS);
	const engine = elsewhere ? elsewhere.engine : options.stock_engine ? 'stock' : 'patched';
	if (engine === 'patched') require('./engine.js').speedUp(simRoot);
	const sim = require(simRoot);
	const { Observer, View } = require('./observe.js');
	const format = findFormat(options.format, sim.Dex);
	const dex = sim.Dex.forFormat(format);
	const ruleTable = dex.formats.getRuleTable(format);
	checkPlayable(format, ruleTable);
	const teams = teamsFor(format, options, sim);
	const actionSet = new ActionSet(format, dex.gen, format.gameType, ruleTable);
	const sets = setsFor(format, options, sim, dex, simRoot);
	const { feature_set, leave_out, usage } = options;
	const areGenerated = usage === null && Boolean(format.team);
	const observer = new Observer(dex, actionSet, { feature_set, gen: dex.gen, sets, leave_out, areGenerated });
	return { Battle: sim.Battle, View, format, dex, actionSet, observer, teams, options, keepLog, engine, clock: SILENT };
}

function hello({ actionSet, dex, engine, format, observer, teams }) {
	const tables = {};
	for (const [name, table] of Object.entries(observer.tables())) tables[name] = packTable(table.shape, table.data);
	if (actionSet.preview.length) {
		tables.preview = packTable([actionSet.preview.length, actionSet.previewPicks], actionSet.preview.flat());
	}
	return {
		protocol: VERSION,
		name: `showdown-gen${dex.gen}-${format.gameType}`,
		seats: SEATS,
		actions: actionSet.size,
		schema: observer.schema,
		obs: observer.leaves(),
		layout: { ...(observer.layout ? observer.layout() : {}), ...actionSet.describe() },
		tables,
		facts: { format: format.id, engine, teams: teams ? teams.length : 0 },
	};
}

function findFormat(name, Dex) {
	const format = Dex.formats.get(name);
	if (format.exists && format.effectType === 'Format') return format;
	const known = Dex.formats.all().filter(each => each.effectType === 'Format').map(each => each.id);
	throw new HostError('configuration', `unknown format "${name}"${suggestion(name.toLowerCase(), known)}`);
}

function checkPlayable(format, ruleTable) {
	const refuse = why => {
		throw new HostError('configuration', `format ${format.id} cannot be played here: ${why}`);
	};
	const { gameType } = format;
	if (gameType !== 'singles' && gameType !== 'doubles') refuse(`it is ${gameType}, only singles and doubles are known`);
	if (format.team && ruleTable.maxTeamSize > SWITCHES) {
		refuse(`its teams have up to ${ruleTable.maxTeamSize} Pokemon, actions can name ${SWITCHES}`);
	}
	if (ruleTable.onChooseTeam) refuse('whom one may bring depends on more than the request shows');
}

/** Packed teams, or null where the format makes its own. */
function teamsFor(format, options, sim) {
	if (format.team) {
		if (options.teams === null) return null;
		throw new HostError('configuration', `format ${format.id} makes its own teams; leave the option teams out`);
	}
	if (options.teams === null) {
		const toDo = 'set the option teams to a folder of team files';
		throw new HostError('configuration', `format ${format.id} needs teams: ${toDo}`);
	}
	return loadTeams(path.resolve(options.teams), format, sim);
}

/** The sets from which beliefs about the foe are computed; none if nothing says how teams of the format look. */
function setsFor(format, options, sim, dex, simRoot) {
	if (!options.beliefs || options.feature_set !== 'full' || options.leave_out.includes('beliefs')) return null;
	const tables = tablesOf(dex);
	if (options.usage !== null) return usageSets(path.resolve(options.usage), tables);
	return generatedSets(sim, format, tables, simRoot) ?? new Map();
}

module.exports = { hello, setUp };
