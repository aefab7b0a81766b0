'use strict';
/** Draws worlds for a position, plays joint actions in copies of them, and says what each leads to. */

const path = require('node:path');
const {View} = require('../observe');
const {Builder} = require('./building');
const {Candidates} = require('./candidates');
const {battleCopier, copyTracker} = require('./copying');
const {Reader} = require('./position');
const {publicState} = require('./public_state');
const {Standing} = require('./estimates');
const {Worlds} = require('./worlds');

const FILES = ['battle', 'side', 'pokemon', 'field', 'battle-queue', 'battle-actions', 'prng', 'teams'];
const OWN = 0;
const FOE = 1;
const SIDES = ['p1', 'p2'];

class Searcher {
	/** `setup` is that of a host (setup.js), `simRoot` the folder of the pokemon-showdown package. */
	constructor(setup, simRoot) {
		const sim = Object.assign({}, ...FILES.map(file => require(path.join(simRoot, 'dist', 'sim', `${file}.js`))));
		const {observer, actionSet, format} = setup;
		this.observer = observer;
		this.actionSet = actionSet;
		this.reader = new Reader(observer);
		this.standing = new Standing(observer);
		this.candidates = new Candidates(actionSet, this.standing);
		this.builder = new Builder(setup, sim.Side);
		this.copyBattle = battleCopier(sim);
		const generator = format.team ? sim.Teams.getGenerator(format, [20250, 2, 2, 2]) : null;
		this.drawing = new Worlds(observer, generator && (() => generator.getTeam()));
		this.worlds = []; // {battle, tracker} that `draw` made
		this.failures = 0; // worlds and joint actions that the simulator could not play
	}

	/**
	 * Draw up to `count` worlds in which the searching seat may do exactly `legal`, until `hasTime` says no. They take
	 * the place of those drawn before.
	 */
	draw(row, legal, count, random, hasTime) {
		this.worlds = [];
		const position = this.reader.read(row);
		if (position.isPreview || position.sides.some(({team}) => team.length === 0)) return;
		for (let i = 0; i < count && hasTime(); i++) {
			try {
				const world = this.#world(position, random);
				if (this.#permits(world.battle, legal)) this.worlds.push(world);
				else this.failures++;
			} catch {
				this.failures++; // the simulator refuses what was drawn
			}
		}
	}

	#world(position, random) {
		const foes = this.drawing.draw(position, random);
		const seed = Array.from({length: 4}, () => Math.floor(random() * 65536));
		const battle = this.builder.build(position, foes, seed.join());
		return {battle, tracker: publicState(this.observer, position, battle, foes)};
	}

	#permits(battle, legal) {
		const own = new Set(this.candidates.legal(battle.sides[OWN].activeRequest));
		return legal.every(action => own.has(action));
	}

	/** The foe's legal actions in a world; empty if it has nothing to choose. */
	legalOfFoe({battle}) {
		return this.candidates.legal(battle.sides[FOE].activeRequest);
	}

	/** Writes the row that the foe would see in a world. */
	encodeFoe({battle, tracker}, out, offset) {
		const view = new View(this.observer, battle, copyTracker(tracker));
		view.read();
		view.encode(FOE, battle.sides[FOE].activeRequest, out, offset);
	}

	/** Play both choices in a copy of a world (`foe` is -1 if it has none). Returns the battle, or null if refused. */
	play({battle}, own, foe) {
		const copy = this.copyBattle(battle);
		try {
			if (!this.#choose(copy, OWN, own) || (foe >= 0 && !this.#choose(copy, FOE, foe))) {
				this.failures++;
				return null;
			}
		} catch {
			this.failures++;
			return null;
		}
		return copy;
	}

	#choose(battle, seat, action) {
		return battle.choose(SIDES[seat], this.actionSet.choice(battle.sides[seat].activeRequest, action));
	}

	/**
	 * Write the row of whoever must choose in a battle that `play` returned, at best the searching seat's. Returns
	 * {sign, outcome, potential}: sign is 1 for a row of the searching seat, -1 for one of the foe's, and 0 if there is
	 * none, as the battle has ended with `outcome`.
	 */
	leaf({tracker}, battle, out, offset) {
		const view = new View(this.observer, battle, copyTracker(tracker));
		view.read();
		const potential = view.potential(OWN);
		if (battle.ended) return {sign: 0, outcome: this.standing.of(battle), potential};
		const seat = [OWN, FOE].find(each => battle.sides[each].activeRequest && !battle.sides[each].activeRequest.wait);
		view.encode(seat, battle.sides[seat].activeRequest, out, offset);
		return {sign: seat === OWN ? 1 : -1, outcome: 0, potential};
	}
}

module.exports = {OWN, FOE, Searcher};
