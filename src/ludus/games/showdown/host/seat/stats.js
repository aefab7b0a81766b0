'use strict';
/** Stats of a Pokemon whose spread nobody sees. */

/** Neutral nature; all stat experience in gens 1 and 2, later 84 effort points in each, as in random battles. */
function estimateStats(data, fighter, species, level) {
	const {baseStats} = data;
	const at = species * 6;
	const bonus = data.gen < 3 ? 93 : 52;
	const share = level / 100;
	fighter.atk = Math.floor((2 * baseStats[at + 1] + bonus) * share) + 5;
	fighter.def = Math.floor((2 * baseStats[at + 2] + bonus) * share) + 5;
	fighter.spa = Math.floor((2 * baseStats[at + 3] + bonus) * share) + 5;
	fighter.spd = Math.floor((2 * baseStats[at + 4] + bonus) * share) + 5;
	fighter.spe = Math.floor((2 * baseStats[at + 5] + bonus) * share) + 5;
	estimateHp(data, fighter, species, level);
}

function estimateHp(data, fighter, species, level) {
	const base = data.baseStats[species * 6];
	const bonus = data.gen < 3 ? 93 : 52;
	fighter.maxhp = base === 1 ? 1 : Math.floor((2 * base + bonus) * level / 100) + level + 10;
}

module.exports = {estimateStats, estimateHp};
