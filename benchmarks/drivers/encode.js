'use strict';
/**
 * Microseconds a decision costs in running battles: reading the log, encoding the row, making the mask.
 *
 * usage: node encode.js SIMULATOR [SECONDS] [FORMAT...]; FEATURE_SET=raw leaves the estimates out
 * Battles run on the patched engine with random legal choices, so that caches are as cold as in a host. The first half
 * of the time warms up (doubles need half a minute). Means leave out the slowest hundredth of the calls: those the
 * operating system interrupted.
 */

const path = require('node:path');
const ROOT = path.join(__dirname, '..', '..');
const {Setting, View, randomFrom} = require(path.join(ROOT, 'tests', 'js', 'battles.js'));
const {speedUp} = require(path.join(ROOT, 'src', 'ludus', 'games', 'showdown', 'host', 'engine.js'));

const FORMATS = ['gen1randombattle', 'gen9randombattle', 'gen9randomdoublesbattle'];
const PARTS = ['read', 'encode', 'mask'];

function measure(setting, seconds) {
	const out = new Uint8Array(setting.observer.nbytes);
	const calls = {read: [], encode: [], mask: []};
	const started = performance.now();
	const elapsed = () => (performance.now() - started) / 1000;
	let decisions = 0;
	for (let seed = 0; elapsed() < seconds; seed++) {
		const warm = elapsed() > seconds / 2;
		const timed = (part, work) => {
			const from = performance.now();
			work();
			if (warm) calls[part].push((performance.now() - from) * 1000);
		};
		const battle = setting.start(seed);
		const view = new View(setting.observer, battle);
		const random = randomFrom(seed);
		while (!battle.ended && battle.turn < 300) {
			timed('read', () => view.read());
			const asked = [0, 1].filter(seat => battle.sides[seat].activeRequest && !battle.sides[seat].activeRequest.wait);
			for (const seat of asked) {
				const side = battle.sides[seat];
				const request = side.activeRequest;
				timed('encode', () => view.encode(seat, request, out, 0));
				timed('mask', () => setting.actionSet.mask(request, setting.mask));
				if (warm) decisions++;
				while (!battle.choose(side.id, setting.pick(side.activeRequest, random, random() < 0.5))) { /* asked again */ }
			}
		}
	}
	const costs = Object.fromEntries(PARTS.map(part => [part, trimmedSum(calls[part]) / decisions]));
	return {...costs, together: costs.read + costs.encode + costs.mask, decisions};
}

/** The sum with the slowest hundredth counted as the mean of the others. */
function trimmedSum(values) {
	const sorted = Float64Array.from(values).sort();
	const kept = sorted.subarray(0, Math.ceil(sorted.length * 0.99));
	return kept.reduce((a, b) => a + b, 0) / kept.length * sorted.length;
}

function main([root, seconds = '60', ...formats]) {
	speedUp(root);
	for (const format of formats.length ? formats : FORMATS) {
		const setting = new Setting(root, format, {featureSet: process.env.FEATURE_SET ?? 'full'});
		const {decisions, ...costs} = measure(setting, +seconds);
		const told = Object.entries(costs).map(([part, us]) => `${part} ${us.toFixed(2)}`).join(', ');
		console.log(`${format}: ${told} us a decision (${decisions} decisions)`);
	}
}

main(process.argv.slice(2));
