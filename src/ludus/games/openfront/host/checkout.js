'use strict';
// Loads OpenFront's core from the user's checkout: bundled in memory with the checkout's own esbuild. Writes nothing.

const { createHash } = require('node:crypto');
const fs = require('node:fs');
const { createRequire } = require('node:module');
const path = require('node:path');
const vm = require('node:vm');

const MAPS = 'resources/maps';

// What this host uses of the core, by file. `Class.method` is a method of its prototype.
const NEEDED = {
	'src/core/Schemas.ts': ['GameConfigSchema', 'IntentSchema'],
	'src/core/PseudoRandom.ts': ['PseudoRandom'],
	'src/core/configuration/Config.ts': ['Config'],
	'src/core/execution/ExecutionManager.ts': [
		'Executor', 'Executor.createExec', 'Executor.nationExecutions', 'Executor.spawnTribes',
	],
	'src/core/execution/RecomputeRailClusterExecution.ts': ['RecomputeRailClusterExecution'],
	'src/core/execution/WinCheckExecution.ts': ['WinCheckExecution'],
	'src/core/execution/TransportShipExecution.ts': ['TransportShipExecution'],
	'src/core/execution/TradeShipExecution.ts': ['TradeShipExecution'],
	'src/core/execution/nation/NationMIRVBehavior.ts': ['NationMIRVBehavior'],
	'src/core/game/Game.ts': [
		'Difficulty', 'GameMapSize', 'GameMode', 'GameType', 'HumansVsNations', 'PlayerInfo', 'PlayerType', 'Structures',
		'UnitType',
	],
	'src/core/game/GameImpl.ts': [
		'createGame', 'GameImpl', 'GameImpl.addExecution', 'GameImpl.allPlayers', 'GameImpl.drainNukeImpacts',
		'GameImpl.drainPackedAttackUpdates', 'GameImpl.drainPackedMotionPlans', 'GameImpl.drainPackedPlayerUpdates',
		'GameImpl.drainPackedTileUpdates', 'GameImpl.executeNextTick', 'GameImpl.getWaterComponent', 'GameImpl.getWinner',
		'GameImpl.inSpawnPhase', 'GameImpl.miniMap', 'GameImpl.playerBySmallID', 'GameImpl.railNetwork', 'GameImpl.ticks',
	],
	'src/core/game/GameMap.ts': ['GameMapImpl', 'GameMapImpl.terrainByte', 'GameMapImpl.tileStateBuffer'],
	'src/core/game/GameUpdates.ts': ['GameUpdateType'],
	'src/core/game/NationCreation.ts': ['createNationsForGame'],
	'src/core/game/PlayerImpl.ts': [
		'PlayerImpl', 'PlayerImpl.allianceInfo', 'PlayerImpl.alliances', 'PlayerImpl.canAttackPlayer',
		'PlayerImpl.canSendAllianceRequest', 'PlayerImpl.getEmbargoes', 'PlayerImpl.gold', 'PlayerImpl.hasEmbargoAgainst',
		'PlayerImpl.incomingAllianceRequests', 'PlayerImpl.incomingAttacks', 'PlayerImpl.isAlliedWith',
		'PlayerImpl.isFriendly', 'PlayerImpl.isOnSameTeam', 'PlayerImpl.numTilesOwned', 'PlayerImpl.outgoingAttacks',
		'PlayerImpl.smallID', 'PlayerImpl.tiles', 'PlayerImpl.toUpdate', 'PlayerImpl.troops', 'PlayerImpl.unitCount',
		'PlayerImpl.units', 'PlayerImpl.unitsConstructed',
	],
};
const INTENTS = [
	'attack', 'cancel_attack', 'spawn', 'boat', 'cancel_boat', 'allianceRequest', 'allianceReject', 'allianceExtension',
	'breakAlliance', 'embargo', 'build_unit', 'upgrade_structure',
];
const UNITS = ['City', 'Port', 'DefensePost', 'Factory', 'MissileSilo', 'SAMLauncher', 'TransportShip'];
const CONFIG_KEYS = {
	gameMap: 'Onion', difficulty: 'Medium', donateGold: false, donateTroops: false, gameType: 'Singleplayer',
	gameMode: 'Free For All', gameMapSize: 'Compact', nations: 'disabled', bots: 5, infiniteGold: false,
	infiniteTroops: false, instantBuild: false, randomSpawn: false, overtime: { enabled: true, startMinutes: 10 },
	disabledUnits: [],
};

class CheckoutError extends Error {}

/** Read, bundle and evaluate the core. Throws CheckoutError, in one line, if that is impossible. */
function evaluate(root) {
	if (!fs.existsSync(path.join(root, 'src/core'))) {
		throw new CheckoutError(`${root} is no checkout of OpenFront: there is no folder src/core in it`);
	}
	const absent = Object.keys(NEEDED).filter(file => !fs.existsSync(path.join(root, file)));
	if (absent.length > 0) throw new CheckoutError(`the checkout in ${root} has no file ${absent.join(', ')}`);
	const text = bundle(root);
	const module = { exports: {} };
	const whole = `(function (require, module, exports, console) {${text}\n})`;
	const make = vm.runInThisContext(whole, { filename: 'openfront' });
	make(createRequire(path.join(root, 'package.json')), module, module.exports, QUIET);
	return { files: module.exports, version: versionOf(root, text) };
}

function bundle(root) {
	let esbuild;
	try {
		esbuild = createRequire(path.join(root, 'package.json'))('esbuild');
	} catch (error) {
		const why = String(error.message).split('\n')[0];
		throw new CheckoutError(`esbuild is missing in ${root} (${why}); run there: npm ci --ignore-scripts --omit=dev`);
	}
	const files = Object.keys(NEEDED);
	const contents = [
		...files.map((file, i) => `import * as m${i} from './${file}';`),
		`export const files = {${files.map((file, i) => `${JSON.stringify(file)}: m${i}`).join(', ')}};`,
	].join('\n');
	try {
		const built = esbuild.buildSync({
			stdin: { contents, resolveDir: root, loader: 'ts' }, bundle: true, write: false, platform: 'node', format: 'cjs',
			absWorkingDir: fs.realpathSync(root), // the text names files relative to it, and the version is a hash of the text
			target: 'node20', tsconfig: path.join(root, 'tsconfig.json'), logLevel: 'silent',
			define: { 'import.meta.env': '{}', 'import.meta.url': '"file:///"' },
			loader: { '.png': 'empty', '.svg': 'empty', '.webp': 'empty', '.md': 'text', '.css': 'empty' },
		});
		return built.outputFiles[0].text;
	} catch (error) {
		const first = error.errors?.[0];
		const place = first ? ` (${first.location?.file}:${first.location?.line})` : '';
		const what = `${first?.text ?? String(error.message).split('\n')[0]}${place}`;
		const remedy = 'are its dependencies installed? npm ci --ignore-scripts --omit=dev';
		throw new CheckoutError(`esbuild cannot bundle ${root}: ${what}; ${remedy}`);
	}
}

/** Return the commit of the checkout if it is a git clone, else a hash of its code. package.json names no version. */
function versionOf(root, text) {
	const code = `code ${createHash('sha256').update(text).digest('hex').slice(0, 12)}`;
	const read = file => {
		try {
			return fs.readFileSync(path.join(root, '.git', file), 'utf8').trim();
		} catch {
			return '';
		}
	};
	const head = read('HEAD');
	const commit = head.startsWith('ref: ') ? read(head.slice(5)) : head;
	return /^[0-9a-f]{40}$/.test(commit) ? `commit ${commit.slice(0, 12)}, ${code}` : code;
}

/** Return what this host needs and the core lacks, as short phrases; empty if it fits. */
function differences(files) {
	const missing = [];
	for (const [file, names] of Object.entries(NEEDED)) {
		for (const name of names) {
			const [exported, method] = name.split('.');
			const value = files[file]?.[exported];
			if (value === undefined) missing.push(`${exported} of ${file}`);
			else if (method && typeof value.prototype?.[method] !== 'function') missing.push(`${name}() of ${file}`);
		}
	}
	if (missing.length > 0) return missing;
	const { GameConfigSchema, IntentSchema } = files['src/core/Schemas.ts'];
	const parsed = GameConfigSchema.safeParse(CONFIG_KEYS);
	if (!parsed.success) {
		const issue = parsed.error.issues[0];
		missing.push(`GameConfigSchema refuses ${issue.path.join('.')} (${issue.message})`);
	} else {
		for (const key of Object.keys(CONFIG_KEYS)) if (!(key in parsed.data)) missing.push(`${key} of GameConfigSchema`);
	}
	const known = new Set(IntentSchema.options.map(option => option.shape.type.value));
	for (const intent of INTENTS) if (!known.has(intent)) missing.push(`the intent ${intent}`);
	const { UnitType } = files['src/core/game/Game.ts'];
	for (const unit of UNITS) if (UnitType[unit] === undefined) missing.push(`UnitType.${unit}`);
	return missing;
}

/** Load the core of a checkout as one object of its exports. Throws CheckoutError, in one line, if it does not fit. */
function loadCore(root) {
	const { files, version } = evaluate(root);
	const missing = differences(files.files);
	if (missing.length > 0) {
		throw new CheckoutError(`OpenFront in ${root} (${version}) does not fit: it lacks ${missing.join('; ')}`);
	}
	const core = Object.assign({ root, version }, ...Object.values(files.files));
	core.PlayerImpl.prototype.toUpdate = () => null; // it only tells a browser what to draw, and costs a tenth of a tick
	return core;
}

const nothing = () => {};
/** The core prints refused intents and the like; what it prints is neither protocol nor of use in a log. */
const QUIET = Object.freeze({
	log: nothing, info: nothing, warn: nothing, debug: nothing, trace: nothing, group: nothing, groupEnd: nothing,
	time: nothing, timeEnd: nothing, assert: nothing, table: nothing, dir: nothing, error: nothing,
});

module.exports = { CheckoutError, MAPS, NEEDED, differences, evaluate, loadCore };
