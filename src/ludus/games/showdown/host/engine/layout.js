'use strict';
/**
 * One object layout for all Pokemon.
 *
 * A property added later gives the object another layout, and code that meets more than four layouts is no longer
 * compiled for any. So what we keep on a Pokemon, and what the simulator adds to it only when it first moves or eats,
 * is there from the start; undefined values are not serialised.
 */

const {LISTENERS} = require('./listeners');
const {CALLED} = require('./logs');
const {ENTRY} = require('./requests');

module.exports = function patchLayout({replace, Side}) {
	replace(Side.prototype, 'addPokemon', 'fdf81144de9b', stock => function (set) {
		const pokemon = stock.call(this, set);
		if (pokemon) {
			pokemon[LISTENERS] = null;
			pokemon[ENTRY] = null;
			pokemon[CALLED] = null;
			pokemon.lastMoveTargetLoc = undefined;
			pokemon.staleness = undefined;
			pokemon.pendingStaleness = undefined;
			pokemon.terastallized = undefined;
		}
		return pokemon;
	});
};
