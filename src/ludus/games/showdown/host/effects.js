'use strict';
/** What the tracker follows, by generation: volatiles of a Pokemon, conditions of a side, of the whole field. */

// [name, first generation, last generation, simulator's id if it has another name]
const VOLATILES = [
	['confusion', 1, 9], ['substitute', 1, 9], ['leechseed', 1, 9], ['focusenergy', 1, 9], ['partiallytrapped', 1, 9],
	['mustrecharge', 1, 9], ['lockedmove', 1, 9], ['twoturnmove', 1, 9], ['bide', 1, 7], ['disable', 1, 9],
	['typechange', 1, 9], ['reflect', 1, 1], ['lightscreen', 1, 1], ['mist', 1, 2],
	['curse', 2, 9], ['attract', 2, 9], ['encore', 2, 9], ['nightmare', 2, 7], ['foresight', 2, 7],
	['perish', 2, 9, 'perishsong'], ['protect', 2, 9], ['endure', 2, 9], ['destinybond', 2, 9], ['trapped', 2, 9],
	['stall', 2, 9], ['rage', 2, 7],
	['taunt', 3, 9], ['torment', 3, 9], ['ingrain', 3, 9], ['yawn', 3, 9], ['imprison', 3, 9], ['charge', 3, 9],
	['stockpile', 3, 9], ['uproar', 3, 9], ['flashfire', 3, 9], ['grudge', 3, 7], ['followme', 3, 9],
	['helpinghand', 3, 9],
	['mudsport', 3, 5], ['watersport', 3, 5],
	['aquaring', 4, 9], ['embargo', 4, 7], ['healblock', 4, 9], ['magnetrise', 4, 9], ['powertrick', 4, 9],
	['gastroacid', 4, 9], ['slowstart', 4, 9], ['miracleeye', 4, 7],
	['smackdown', 5, 9], ['telekinesis', 5, 7],
	['typeadd', 6, 9], ['throatchop', 7, 9], ['laserfocus', 7, 9],
	['tarshot', 8, 9], ['octolock', 8, 9], ['noretreat', 8, 9],
	['saltcure', 9, 9], ['syrupbomb', 9, 9], ['glaiverush', 9, 9], ['dragoncheer', 9, 9], ['commanding', 9, 9],
	['protosynthesis', 9, 9], ['quarkdrive', 9, 9], ['fallen', 9, 9],
];

// Conditions with `timed` also show how many turns they have lasted. Hazards stand in every generation: scripted
// policies read them by name.
const SIDE_CONDITIONS = [
	{name: 'reflect', gens: [2, 9], timed: true}, {name: 'lightscreen', gens: [2, 9], timed: true},
	{name: 'auroraveil', gens: [7, 9], timed: true}, {name: 'safeguard', gens: [2, 9]}, {name: 'mist', gens: [3, 9]},
	{name: 'tailwind', gens: [4, 9], timed: true}, {name: 'luckychant', gens: [4, 7]},
	{name: 'spikes', gens: [1, 9], layers: 3}, {name: 'toxicspikes', gens: [1, 9], layers: 2},
	{name: 'stealthrock', gens: [1, 9]}, {name: 'stickyweb', gens: [1, 9]}, {name: 'gmaxsteelsurge', gens: [8, 8]},
	{name: 'gmaxcannonade', gens: [8, 8]}, {name: 'gmaxvinelash', gens: [8, 8]}, {name: 'gmaxvolcalith', gens: [8, 8]},
	{name: 'gmaxwildfire', gens: [8, 8]}, {name: 'firepledge', gens: [5, 9]}, {name: 'waterpledge', gens: [5, 9]},
	{name: 'grasspledge', gens: [5, 9]}, {name: 'futuresight', gens: [2, 9], layers: 2},
];

const WEATHERS = [
	['sunnyday', 2, 9], ['raindance', 2, 9], ['sandstorm', 2, 9], ['hail', 3, 9], ['snowscape', 9, 9],
	['desolateland', 6, 9], ['primordialsea', 6, 9], ['deltastream', 6, 9],
];
const TERRAINS = [['electricterrain', 6, 9], ['grassyterrain', 6, 9], ['mistyterrain', 6, 9], ['psychicterrain', 7, 9]];
const ROOMS = [
	['trickroom', 4, 9], ['gravity', 4, 9], ['wonderroom', 5, 9], ['magicroom', 5, 9], ['mudsport', 6, 9],
	['watersport', 6, 9],
];

const inGen = gen => ([, first, last]) => first <= gen && gen <= last;

/** The effects of one generation, numbered, with the spellings that protocol lines use. */
class Effects {
	#byText = new Map();

	constructor(dex) {
		const {gen} = dex;
		const volatiles = VOLATILES.filter(inGen(gen));
		this.volatiles = volatiles.map(([name]) => name);
		this.volatile = Object.fromEntries(VOLATILES.map(([name]) => [name, this.volatiles.indexOf(name)]));
		// What Baton Pass hands on: the dex knows.
		this.passed = volatiles.map(([name, , , id]) => !dex.conditions.get(id ?? name).noCopy);
		this.passesTrap = !dex.conditions.get('trapper').noCopy; // whom the leaver has trapped stays trapped
		this.sideConditions = SIDE_CONDITIONS.filter(({gens: [first, last]}) => first <= gen && gen <= last);
		this.side = indexed(this.sideConditions.map(({name}) => name));
		const widths = this.sideConditions.map(({timed}) => timed ? 2 : 1);
		this.sideColumn = Uint8Array.from(widths, (_, i) => widths.slice(0, i).reduce((a, b) => a + b, 0));
		this.sideLayers = Uint8Array.from(this.sideConditions, ({layers}) => layers ?? 1);
		this.sideTimed = Uint8Array.from(this.sideConditions, ({timed}) => timed ? 1 : 0);
		this.weathers = WEATHERS.filter(inGen(gen)).map(([name]) => name);
		this.terrains = TERRAINS.filter(inGen(gen)).map(([name]) => name);
		this.rooms = ROOMS.filter(inGen(gen)).map(([name]) => name);
		this.weather = indexed(this.weathers);
		this.terrain = indexed(this.terrains);
		this.room = indexed(this.rooms);
	}

	/** Id of an effect as lines write it: `move: Leech Seed`, `ability: Flash Fire`, `confusion`. */
	id(text) {
		let id = this.#byText.get(text);
		if (id === undefined) {
			const colon = text.indexOf(': ');
			id = (colon < 0 ? text : text.slice(colon + 2)).toLowerCase().replace(/[^a-z0-9]+/g, '');
			this.#byText.set(text, id);
		}
		return id;
	}
}

function indexed(names) {
	return new Map(names.map((name, i) => [name, i]));
}

module.exports = {Effects};
