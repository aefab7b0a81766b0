'use strict';
/**
 * Compares what rows say is probable of the foe with what is true, at every decision of seeded battles.
 *
 * usage: node calibration.js SIMULATOR FORMAT BATTLES [SEED]; prints one JSON object: for moves, abilities, items and
 * tera types, ten bins by the chance that rows give, each with count, mean chance and share that is true.
 */

const {Setting} = require('./battles');
const {ABILITY, ITEM, TERA} = require('../../src/ludus/games/showdown/host/beliefs/sets.js');

const BINS = 10;

class Calibration {
	constructor(setting) {
		this.setting = setting;
		this.bins = {};
		this.row = new Uint8Array(setting.observer.nbytes);
	}

	add(kind, chance, isTrue) {
		const bins = this.bins[kind] ??= Array.from({length: BINS}, () => ({count: 0, chance: 0, truth: 0}));
		const bin = bins[Math.min(BINS - 1, Math.floor(chance * BINS))];
		bin.count++;
		bin.chance += chance;
		bin.truth += isTrue ? 1 : 0;
	}

	decision(battle, view, seat) {
		const {data, beliefs} = this.setting.observer;
		const side = battle.sides[1 - seat];
		view.encode(seat, battle.sides[seat].activeRequest, this.row, 0); // takes in who moved first
		if (side.pokemon.some(pokemon => pokemon.baseAbility === 'illusion')) return; // others fight in their name
		for (const mon of view.tracker.sides[1 - seat].mons) {
			const pokemon = side.pokemon.find(each => each.name === mon.name);
			if (!mon.seen || mon.fainted || mon.transformed || mon.kept !== null || !pokemon) continue;
			const belief = beliefs.about(mon);
			if (belief === null) continue;
			const moves = new Set(pokemon.set.moves.map(move => data.moves.row(move)));
			for (let k = 0; k < 4 && belief.moves[k] > 0; k++) {
				this.add('moves', belief.chances[k], moves.has(belief.moves[k]));
			}
			const {set} = pokemon;
			if (mon.ability === 0) this.add('ability', belief.of[ABILITY], data.abilities.row(set.ability) === belief.ability);
			if (mon.item === 0) this.add('item', belief.of[ITEM], (data.items.row(set.item) || 1) === belief.item);
			if (data.gen > 8 && mon.tera === 0) {
				this.add('tera', belief.of[TERA], data.typeIds.get(set.teraType) === belief.tera);
			}
		}
	}

	report() {
		const means = ({count, chance, truth}) => ({count, chance: chance / count, truth: truth / count});
		return Object.fromEntries(Object.entries(this.bins).map(
			([kind, bins]) => [kind, bins.filter(bin => bin.count > 0).map(means)]));
	}
}

function main([root, format, battles, seed = '1']) {
	const setting = new Setting(root, format);
	const calibration = new Calibration(setting);
	for (let i = 0; i < Number(battles); i++) {
		setting.play(Number(seed) + i, (battle, view, seat) => calibration.decision(battle, view, seat));
	}
	process.stdout.write(`${JSON.stringify(calibration.report())}\n`);
}

main(process.argv.slice(2));
