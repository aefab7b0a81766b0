'use strict';
/** Seeded battles with random legal choices, for the tests of observations. */

const path = require('node:path');

const HOST = path.join(__dirname, '..', '..', 'src', 'ludus', 'games', 'showdown', 'host');
const {Observer, View} = require(path.join(HOST, 'observe.js'));
const {ActionSet} = require(path.join(HOST, 'actions.js'));
const {randomFrom} = require(path.join(HOST, 'random.js'));
const {generatedSets} = require(path.join(HOST, 'beliefs', 'generated.js'));
const {tablesOf} = require(path.join(HOST, 'tables.js'));

class Setting {
	/** `root` is the folder of the pokemon-showdown package; `teamsFrom` names a random format that makes the teams. */
	constructor(root, formatId, {featureSet = 'full', teamsFrom = null} = {}) {
		this.sim = require(path.join(root, 'dist', 'sim', 'index.js'));
		const {Dex} = this.sim;
		this.format = Dex.formats.get(formatId);
		if (!this.format.exists) throw new Error(`the simulator knows no format ${formatId}`);
		this.dex = Dex.forFormat(this.format);
		const {gen} = this.dex;
		const rules = Dex.formats.getRuleTable(this.format);
		this.actionSet = new ActionSet(this.format, gen, this.format.gameType, rules);
		const sets = generatedSets(this.sim, Dex.formats.get(teamsFrom ?? formatId), tablesOf(this.dex), root);
		this.observer = new Observer(this.dex, this.actionSet, {feature_set: featureSet, gen, sets});
		this.teamsFrom = teamsFrom;
		this.mask = new Uint8Array(this.actionSet.maskBytes);
	}

	fresh(seed) {
		const {id} = this.format;
		return new this.sim.Battle({formatid: id, seed: [seed & 0xffff, 7, 11, 13], strictChoices: false, send: () => {}});
	}

	start(seed) {
		const battle = this.fresh(seed);
		['p1', 'p2'].forEach((id, i) => {
			const own = [seed & 0xffff, 17, 19, 23 + i];
			const team = this.teamsFrom ? this.sim.Teams.pack(this.sim.Teams.generate(this.teamsFrom, {seed: own})) : undefined;
			battle.setPlayer(id, {name: `Player ${i + 1}`, seed: own, team});
		});
		return battle;
	}

	/** Two battles of one seed in which the second player's leads are equal and its other Pokemon are not. */
	startTwins(seed) {
		const {Teams} = this.sim;
		const generate = last => Teams.generate(this.format.id, {seed: [seed & 0xffff, 29, 31, last]});
		const {slots} = this.actionSet;
		const theirs = generate(2);
		const teams = [theirs, [...theirs.slice(0, slots), ...generate(3).slice(slots)]];
		return teams.map(team => {
			const battle = this.fresh(seed);
			battle.setPlayer('p1', {name: 'Player 1', team: Teams.pack(generate(1))});
			battle.setPlayer('p2', {name: 'Player 2', team: Teams.pack(team)});
			return battle;
		});
	}

	/** A random legal choice; with `staying`, one that switches nobody out if there is one. */
	pick(request, random, staying = false) {
		let legal = this.#legal(request);
		if (staying && request.active) {
			const {slotActions, moveActions, slots, pass} = this.actionSet;
			const stays = action => action < moveActions || (slots === 2 && action === pass);
			const kept = legal.filter(action => slots === 1 ? stays(action) :
				stays(Math.floor(action / slotActions)) && stays(action % slotActions));
			if (kept.length) legal = kept;
		}
		return this.actionSet.choice(request, legal[Math.floor(random() * legal.length)]);
	}

	/**
	 * Plays one battle; `decide(battle, view, seat, request)` is called before every choice, after the view has read
	 * the log.
	 * `watch(battle, view)`, if given, is called once for every stop of the simulator.
	 */
	play(seed, decide, {maxTurns = 200, watch = null} = {}) {
		const battle = this.start(seed);
		const view = new View(this.observer, battle);
		const random = randomFrom(seed);
		while (!battle.ended && battle.turn < maxTurns) {
			view.read();
			watch?.(battle, view);
			const asked = [0, 1].filter(seat => battle.sides[seat].activeRequest && !battle.sides[seat].activeRequest.wait);
			for (const seat of asked) {
				decide(battle, view, seat, battle.sides[seat].activeRequest);
				this.#choose(battle, seat, random);
			}
		}
		view.read();
		return battle;
	}

	/** Half the time nobody switches, so that battles get somewhere; a refused choice is made again. */
	#choose(battle, seat, random) {
		const side = battle.sides[seat];
		for (let attempt = 0; attempt < 50; attempt++) {
			if (battle.choose(side.id, this.pick(side.activeRequest, random, random() < 0.5))) return;
		}
		throw new Error(`no choice was accepted in turn ${battle.turn} of ${this.format.id}`);
	}

	#legal(request) {
		this.actionSet.mask(request, this.mask);
		const legal = [];
		for (let i = 0; i < this.actionSet.size; i++) if (this.mask[i >> 3] >> (i & 7) & 1) legal.push(i);
		return legal;
	}
}

module.exports = {Setting, View, randomFrom};
