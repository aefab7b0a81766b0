'use strict';
/** The actions of both sides that the player `expert` looks at: all moves, one gimmick, and the best switches. */

const {MOVES} = require('../actions');

const SWITCHES = 3;

class Candidates {
	constructor(actionSet, standing) {
		this.actionSet = actionSet;
		this.standing = standing;
		this.mask = new Uint8Array(actionSet.maskBytes);
	}

	/** All legal actions of a request; empty for a request that waits. */
	legal(request) {
		if (!request || request.wait) return [];
		this.actionSet.mask(request, this.mask);
		const legal = [];
		for (let i = 0; i < this.actionSet.size; i++) if (this.mask[i >> 3] >> (i & 7) & 1) legal.push(i);
		return legal;
	}

	/** The actions among `legal` that are worth a look for the Pokemon of `side`. */
	of(side, legal) {
		const {moveActions} = this.actionSet;
		const plain = legal.filter(action => action < MOVES);
		const gimmicks = legal.filter(action => action >= MOVES && action < moveActions);
		const switches = legal.filter(action => action >= moveActions && action < moveActions + 6);
		const foe = side.foe.active[0];
		const most = plain.length + gimmicks.length === 0 ? switches.length : SWITCHES;
		const ranked = switches
			.map(action => [action, this.#standsWell(side.pokemon[action - moveActions], foe)])
			.sort((a, b) => b[1] - a[1]).slice(0, most).map(([action]) => action);
		const strongest = gimmicks
			.map(action => [action, this.#damage(side, action % MOVES)])
			.sort((a, b) => b[1] - a[1]).slice(0, 1).map(([action]) => action);
		return [...plain, ...strongest, ...ranked];
	}

	#damage(side, move) {
		const [active] = side.active;
		const id = active.moveSlots[move]?.id;
		return id === undefined ? 0 : this.standing.damage(active, side.foe.active[0], id);
	}

	/** How a Pokemon on the bench would stand against the active foe: damage given less damage taken, in HP bars. */
	#standsWell(pokemon, foe) {
		if (foe.hp <= 0) return pokemon.hp / pokemon.maxhp;
		return Math.min(1.5, this.standing.bestDamage(pokemon, foe) / foe.hp) -
			Math.min(1.5, this.standing.bestDamage(foe, pokemon) / Math.max(1, pokemon.hp));
	}
}

module.exports = {Candidates};
