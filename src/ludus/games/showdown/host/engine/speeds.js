'use strict';
/** Speeds: the stock methods build event names, tables and index arrays each time they are asked. */

const {sortWith} = require('./order');

const BOOSTS = [1, 1.5, 2, 2.5, 3, 3.5, 4];
const MODIFY_EVENTS = {atk: 'ModifyAtk', def: 'ModifyDef', spa: 'ModifySpA', spd: 'ModifySpD', spe: 'ModifySpe'};

module.exports = function patchSpeeds({replace, Battle, Pokemon}) {
	replace(Battle.prototype, 'speedSort', 'bb743bd89b65', () => function (list, comparator = this.comparePriority) {
		sortWith(this, list, comparator);
	});

	replace(Pokemon.prototype, 'getStat', '6cdb32452fbc', stock => function (statName, unboosted, unmodified) {
		const event = MODIFY_EVENTS[statName];
		// what is not one of the five, or is to be swapped by Wonder Room
		if (event === undefined || unmodified) return stock.call(this, statName, unboosted, unmodified);
		const {battle} = this;
		let stat = this.storedStats[statName];
		if (!unboosted) {
			const boosts = battle.runEvent('ModifyBoost', this, null, null, {...this.boosts});
			const boost = Math.max(-6, Math.min(6, boosts[statName]));
			stat = Math.floor(boost >= 0 ? stat * BOOSTS[boost] : stat / BOOSTS[-boost]);
		}
		stat = battle.runEvent(event, this, null, null, stat);
		return statName === 'spe' && stat > 10000 && !battle.format.battle?.trunc ? 10000 : stat;
	});
};
