'use strict';
/**
 * CPU microseconds a decision costs: reading the log and encoding the row, and the mask; warm, one thread.
 *
 * usage: node encode.js SIMULATOR [BATTLES] [FORMAT...]
 * Battles are played first, with random legal choices; then their lines and requests are gone through again and again, so
 * that only our code is on the clock (the thread's CPU time: other processes do not count). Median and range of the rounds.
 */

const path = require('node:path');
const {Setting, View} = require(path.join(__dirname, '..', '..', 'tests', 'js', 'battles.js'));

const ROUNDS = 7;
const DECISIONS = 40_000; // in a round: the CPU clock of a thread ticks in milliseconds
const FORMATS = ['gen1randombattle', 'gen9randombattle', 'gen9randomdoublesbattle'];

function record(setting, battles) {
	return Array.from({length: battles}, (_, i) => {
		const steps = [];
		const {log} = setting.play(i + 1, (battle, view, seat, request) => {
			steps.push({seat, request, lines: battle.log.length});
		}, {maxTurns: 300});
		return {log, steps};
	});
}

function encodeAll(setting, battles, out) {
	let decisions = 0;
	for (const {log, steps} of battles) {
		const told = {log: []};
		const view = new View(setting.observer, told);
		let at = 0;
		for (const {seat, request, lines} of steps) {
			while (at < lines) told.log.push(log[at++]);
			view.read();
			view.encode(seat, request, out, 0);
			decisions++;
		}
	}
	return decisions;
}

function maskAll(setting, battles) {
	let decisions = 0;
	for (const {steps} of battles) {
		for (const {request} of steps) {
			setting.actionSet.mask(request, setting.mask);
			decisions++;
		}
	}
	return decisions;
}

function measure(work) {
	const round = () => {
		const before = process.threadCpuUsage();
		let decisions = 0;
		while (decisions < DECISIONS) decisions += work();
		const {user, system} = process.threadCpuUsage(before);
		return (user + system) / decisions;
	};
	round(); // warm-up
	const costs = Array.from({length: ROUNDS}, round).sort((a, b) => a - b);
	return {median: costs[ROUNDS >> 1], low: costs[0], high: costs[ROUNDS - 1]};
}

const told = ({median, low, high}) => `${median.toFixed(2)} us (${low.toFixed(2)}-${high.toFixed(2)})`;

function main([root, battles = '40', ...formats]) {
	for (const format of formats.length ? formats : FORMATS) {
		const setting = new Setting(root, format, {featureSet: process.env.FEATURE_SET ?? 'full'});
		const recorded = record(setting, +battles);
		const out = new Uint8Array(setting.observer.nbytes);
		const encode = measure(() => encodeAll(setting, recorded, out));
		const mask = measure(() => maskAll(setting, recorded));
		console.log(`${format}: encode ${told(encode)}, mask ${told(mask)} a decision`);
	}
}

main(process.argv.slice(2));
