'use strict';
/** Bounds on the Speed of the foe's Pokemon, from who moved first and the seat's own Speed. */

const {SCARF} = require('../kinds');
const {rule} = require('../tracking/evidence');

const SCARF_FACTOR = 1.5;
const ROUNDING = 1; // points of Speed that the simulator's rounding may hide

class Speeds {
	constructor(seat) {
		this.seat = seat;
		this.cursor = 0; // facts about the order of moves before this one have been used
		this.ironBall = seat.observer.data.items.byId.get('ironball') ?? -1;
	}

	/** Takes in the order of the moves since the last decision. */
	update() {
		const {facts} = this.seat.tracker.orders;
		for (; this.cursor < facts.length; this.cursor++) this.#take(facts[this.cursor]);
	}

	#take(fact) {
		const isOwnFirst = fact.first.side === this.seat.mine;
		const mine = isOwnFirst ? fact.first : fact.second;
		const foe = isOwnFirst ? fact.second : fact.first;
		const own = this.#ownOf(mine);
		if (own === null || mine.transformed || foe.transformed) return;
		const {orders} = this.seat.tracker;
		if (!orders.isPlain(own.ability, isOwnFirst ? fact.firstMove : fact.secondMove)) return;
		let speed = own.entry.stats.spe;
		if (own.item === this.seat.observer.damage.quickItem) speed *= SCARF_FACTOR;
		else if (own.item === this.ironBall) speed /= 2;
		const [ownFactor, foeFactor] = isOwnFirst ?
			[fact.firstFactor, fact.secondFactor] : [fact.secondFactor, fact.firstFactor];
		const bound = speed * ownFactor / foeFactor;
		const rounding = ROUNDING + ROUNDING / foeFactor;
		if (isOwnFirst === fact.isReversed) {
			foe.leastSpeed = Math.max(foe.leastSpeed, bound - rounding);
			if (foe.mostSpeed < foe.leastSpeed) foe.mostSpeed = Infinity; // its item has changed
		} else {
			foe.mostSpeed = Math.min(foe.mostSpeed, bound + rounding);
			if (foe.mostSpeed < foe.leastSpeed) foe.leastSpeed = 0;
		}
		foe.version++;
		foe.combat++;
		foe.side.bench++;
		this.#judgeScarf(foe);
	}

	#ownOf(mon) {
		for (const own of this.seat.team.known) if (own.shown === mon) return own;
		return null;
	}

	/** Whether it holds a Choice Scarf, if its Speed without one is known well enough. */
	#judgeScarf(foe) {
		const {data, damage, beliefs} = this.seat.observer;
		if (foe.item !== 0 || damage.quickItem < 0) return;
		const [least, most] = speedRange(data, foe, beliefs !== null && beliefs.areGenerated);
		if (foe.leastSpeed > most) {
			foe.implied |= SCARF;
			foe.version++;
		} else if (foe.mostSpeed < least * SCARF_FACTOR) {
			rule(foe, SCARF);
		}
	}
}

/** Least and most Speed without item and boosts. Generated sets have one spread, but for sets that want to be slow. */
function speedRange({baseStats, gen}, {shown, level}, isGenerated) {
	const base = 2 * baseStats[shown * 6 + 5];
	const of = (bonus, nature) => Math.floor((Math.floor((base + bonus) * level / 100) + 5) * nature);
	if (gen < 3) return [of(0, 1), of(93, 1)];
	return isGenerated ? [of(52, 1), of(52, 1)] : [of(0, 0.9), of(94, 1.1)];
}

module.exports = {Speeds};
