'use strict';
/**
 * Speeds up the `pokemon-showdown` simulator in place without changing what it does.
 *
 * Battle logs, requests, input logs, saved states and generator states stay byte for byte those of the stock
 * simulator; scripts/compare_engines.js is the proof. Every replaced method is re-implemented from one version of its
 * source, so the version is pinned and the source of each method is checked before it is replaced.
 */

const path = require('node:path');
const {createReplace} = require('./engine/replace');

const VERSION = '0.11.11';
const PARTS = [
	'learnsets', 'layout', 'events', 'residuals', 'turns', 'speeds', 'moves', 'lookups', 'logs', 'random', 'teams',
	'requests', 'choices', 'queue', 'types', 'stats', 'actions', 'faints',
];
const DONE = Symbol.for('ludus.engine');

/**
 * Patches the simulator loaded from `simRoot`, the folder of the pokemon-showdown package; call before the first
 * battle is made. A second call does nothing. Throws, with nothing patched, when the package is another version or a
 * method does not have the expected source.
 */
function speedUp(simRoot) {
	const load = file => require(path.join(path.resolve(simRoot), file));
	const {version} = load('package.json');
	if (version !== VERSION) {
		throw new Error(
			`the engine speed-up is written for pokemon-showdown ${VERSION}, but ${simRoot} holds ${version}: ` +
			`install ${VERSION}, or run without the speed-up`
		);
	}
	const sim = {};
	for (const file of FILES) Object.assign(sim, load(`dist/sim/${file}.js`));
	if (sim.Battle[DONE]) return;
	const {replace, commit} = createReplace();
	for (const part of PARTS) require(`./engine/${part}`)({...sim, replace});
	commit();
	sim.Battle[DONE] = true;
}

const FILES = [
	'battle', 'battle-queue', 'pokemon', 'side', 'field', 'state', 'teams', 'prng', 'dex', 'dex-data', 'dex-formats',
	'dex-moves', 'dex-abilities', 'dex-items', 'dex-species', 'dex-conditions',
];

module.exports = {speedUp, VERSION};
