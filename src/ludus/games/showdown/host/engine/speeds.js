'use strict';
/** Speeds: the stock methods build event names, tables and index arrays each time they are asked. */

const {mayBeHeard} = require('./listeners');
const {sortWith} = require('./order');

const BOOSTS = [1, 1.5, 2, 2.5, 3, 3.5, 4];
const MODIFY_EVENTS = {atk: 'ModifyAtk', def: 'ModifyDef', spa: 'ModifySpA', spd: 'ModifySpD', spe: 'ModifySpe'};

module.exports = function patchSpeeds({replace, Battle, Pokemon}) {
	replace(Battle.prototype, 'speedSort', 'bb743bd89b65', () => function (list, comparator = this.comparePriority) {
		sortWith(this, list, comparator);
	});

	replace(Battle.prototype, 'eachEvent', '0b3e65ebf167', () => function (eventid, effect, relayVar) {
		const actives = this.getAllActive();
		if (!effect && this.effect) effect = this.effect;
		this.speedSort(actives, compareSpeeds); // also where nobody listens: a tie draws from the generator
		if (isQuiet(this, eventid, actives)) return;
		for (let i = 0; i < actives.length; i++) this.runEvent(eventid, actives[i], null, effect, relayVar);
		if (eventid === 'Weather' && this.gen >= 7) this.eachEvent('Update');
	});

	replace(Battle.prototype, 'getAllActive', '5a9b0e6fd2c5', () => function (includeFainted) {
		const {sides} = this;
		if (sides.length === 2 && sides[0].active.length === 1 && sides[1].active.length === 1) {
			const first = sides[0].active[0];
			const second = sides[1].active[0];
			const hasFirst = first && (includeFainted || !first.fainted);
			const hasSecond = second && (includeFainted || !second.fainted);
			// a literal takes the room of its items, a list that grows the room of seventeen
			if (hasFirst) return hasSecond ? [first, second] : [first];
			return hasSecond ? [second] : [];
		}
		const found = [];
		for (let i = 0; i < sides.length; i++) {
			const {active} = sides[i];
			for (let j = 0; j < active.length; j++) {
				const pokemon = active[j];
				if (pokemon && (includeFainted || !pokemon.fainted)) found.push(pokemon);
			}
		}
		return found;
	});

	replace(Battle.prototype, 'updateSpeed', '3dc9a9eb6c45', () => function () {
		const actives = this.getAllActive();
		for (let i = 0; i < actives.length; i++) actives[i].updateSpeed();
	});

	replace(Pokemon.prototype, 'getActionSpeed', 'f600786ab3f3', () => function () {
		const {battle} = this;
		const speed = this.getStat('spe', false, false);
		const isTwisted = !!battle.field.pseudoWeather['trickroom'] !== battle.ruleTable.has('twisteddimensionmod');
		return battle.trunc(isTwisted ? 10000 - speed : speed, 13);
	});

	replace(Pokemon.prototype, 'getStat', '6cdb32452fbc', stock => function (statName, unboosted, unmodified) {
		const event = MODIFY_EVENTS[statName];
		// what is not one of the five, or is to be swapped by Wonder Room
		if (event === undefined || unmodified) return stock.call(this, statName, unboosted, unmodified);
		const {battle} = this;
		let stat = this.storedStats[statName];
		if (!unboosted) {
			const boosts = mayBeHeard(battle, 'ModifyBoost', this) ?
				battle.runEvent('ModifyBoost', this, null, null, {...this.boosts}) : this.boosts;
			const boost = Math.max(-6, Math.min(6, boosts[statName]));
			stat = Math.floor(boost >= 0 ? stat * BOOSTS[boost] : stat / BOOSTS[-boost]);
		}
		stat = battle.runEvent(event, this, null, null, stat);
		return statName === 'spe' && stat > 10000 && !battle.format.battle?.trunc ? 10000 : stat;
	});
};

/** Whether running the event on each of the active Pokemon would do nothing at all. */
function isQuiet(battle, eventid, actives) {
	if (eventid === 'Weather' || battle.debugMode || battle.eventDepth >= 8 || actives.length === 0) return false;
	return !mayBeHeard(battle, eventid, actives[0]);
}

function compareSpeeds(a, b) {
	return b.speed - a.speed;
}
