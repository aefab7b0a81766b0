'use strict';
// What several tests need: the simulator, action sets by format, and battles in which random legal actions are chosen.

const path = require('node:path');

const HOST = path.join(__dirname, '../../src/ludus/games/showdown/host');
const HOSTING = path.join(__dirname, '../../src/ludus/sdk/javascript');
const ROOT = process.env.LUDUS_TEST_SIMULATOR; // set by the pytest that runs these files
if (!ROOT) throw new Error('LUDUS_TEST_SIMULATOR must name the folder of the pokemon-showdown package');

const sim = require(ROOT);
const { ActionSet } = require(path.join(HOST, 'actions.js'));
const { SplitMix } = require(path.join(HOSTING, 'seeds.js'));

function actionSetOf(formatId) {
	const format = sim.Dex.formats.get(formatId);
	const dex = sim.Dex.forFormat(format);
	return new ActionSet(format, dex.gen, format.gameType, dex.formats.getRuleTable(format));
}

/** The legal actions of a request, as numbers. */
function legalActions(actionSet, request) {
	const bits = new Uint8Array(actionSet.maskBytes).fill(255); // the callee must clear it
	const count = actionSet.mask(request, bits);
	const legal = [];
	for (let action = 0; action < 8 * bits.length; action++) {
		if (bits[action >> 3] & (1 << (action & 7))) legal.push(action);
	}
	if (legal.length !== count) throw new Error(`mask says ${count} actions and has ${legal.length}`);
	return legal;
}

/** A battle of two seats; `makeTeam(random)` gives a packed team where the format makes none. */
function startBattle(formatId, random, makeTeam) {
	const battle = new sim.Battle({ formatid: formatId, seed: random.nextBattleSeed(), strictChoices: false, send() {} });
	for (const id of ['p1', 'p2']) {
		battle.setPlayer(id, { name: id, seed: random.nextBattleSeed(), team: makeTeam ? makeTeam(random) : undefined });
	}
	return battle;
}

function waitsFor(side) {
	return side.activeRequest !== null && !side.activeRequest.wait && !side.isChoiceDone();
}

module.exports = { HOST, HOSTING, SplitMix, actionSetOf, legalActions, sim, startBattle, waitsFor };
