'use strict';
/** What moves would do: each own Pokemon against each active foe, and the other way round. */

const {Surroundings} = require('./fighter');
const {koChance} = require('./damage');
const {Forms, formsOf} = require('./forms');
const {Pairs} = require('./pairs');
const {TYPE_COUNT} = require('./tables');
const {DUEL, MATCHUP, ONE8, fixed8} = require('./columns');

const TEAM = 6;
const MOVES = 4;
const HIT = 3; // numbers of a hit: mean share of the full HP, chance to be critical, chance to hit
const STRIKE = 2 * MOVES * HIT; // place of the hit by a move not seen yet
const PAIR_HITS = STRIKE + 1;
const FIRE = 2;
const WATER = 3;
const SPEED = 4; // its place among the boosts
const PARALYSIS = 2;
const MOST = 1.98; // that a fixed8 leaf can say
const MOST8 = fixed8(MOST);
const SPEED_LEAD = 25; // points of speed; a lead of these and more is 1
const TERRAIN_TYPES = {electricterrain: 4, grassyterrain: 5, psychicterrain: 11};

/** A part of a seat's row; estimates again only what has changed since the last decision. */
class Matchups {
	constructor(seat) {
		const {observer} = seat;
		this.seat = seat;
		this.observer = observer;
		this.fieldVersion = 0;
		this.ownVersion = 0;
		this.foeVersion = 0;
		this.screens = 0; // of gen 1
		this.around = new Surroundings();
		this.tailwind = [false, false]; // by side
		this.reversed = false; // the slower one moves first
		const {groups, variants} = observer;
		this.pairs = groups.has('pairs') ? new Pairs(seat) : null;
		this.forms = groups.has('forms') && formsOf(variants).length > 0 ? new Forms(seat) : null;
	}

	/** Brings `matchup`, `threat`, `duel`, `pairs` and the leaves of forms up to date. */
	update(request) {
		const {team} = this.seat;
		this.#surroundings();
		for (let s = 0; s < this.observer.slots; s++) this.#against(s);
		if (this.pairs !== null) {
			this.pairs.mark(team.stale, team.hurt);
			this.pairs.update();
		}
		if (this.forms !== null) this.forms.update(request);
		team.stale = team.hurt = 0;
	}

	/** All own Pokemon and the foe in slot `s`; sets of own Pokemon are one bit for each place in the team. */
	#against(s) {
		const {foe, foes, team} = this.seat;
		const mon = foe.active[s];
		const facing = foes.facing[s];
		const {hp} = facing.fighter;
		const hurt = facing.matchedHp !== hp;
		const pairs = mon !== null && !mon.fainted ? team.alive : 0;
		let again = pairs;
		if (!facing.stale && !(hurt && facing.followsHp)) {
			again &= team.stale | ~facing.estimated | (hurt ? team.halving : 0) | (facing.halves ? team.hurt : 0);
		}
		const kept = pairs & ~again;
		const gone = facing.estimated & ~pairs;
		for (let i = 0; i < TEAM; i++) {
			const bit = 1 << i;
			if (again & bit) {
				this.#pair(team.order[i].fighter, facing.fighter, i, s);
			} else if (kept & bit) {
				if (hurt) this.#hurtFoe(i, s, team.order[i].fighter.level, hp);
				if (team.hurt & bit) this.#hurtOwn(i, s, facing.fighter.level, team.order[i].hp);
				if (facing.learnt < MOVES) this.#threats(team.order[i].fighter, facing.fighter, i, s, facing.learnt);
			} else if (gone & bit) {
				this.#clearPair(i, s);
			}
		}
		facing.estimated = pairs;
		facing.stale = false;
		facing.learnt = MOVES;
		facing.matchedHp = hp;
	}

	#clearPair(i, s) {
		const {slots} = this.observer;
		const {at, small} = this.seat;
		const width = MATCHUP.length;
		for (let m = 0; m < MOVES; m++) {
			putNothing(small, at.matchup + ((i * MOVES + m) * slots + s) * width);
			putNothing(small, at.threat + ((s * MOVES + m) * TEAM + i) * width);
		}
		const duel = at.duel + (i * slots + s) * DUEL.length;
		small[duel] = small[duel + 1] = small[duel + 2] = small[duel + 3] = 0;
	}

	/** Where the hits of a pair are kept: four of one's own, four of the foe's, one that nobody has seen. */
	#hitsAt(i, s) {
		return this.seat.at.hits + (i * this.observer.slots + s) * PAIR_HITS;
	}

	#pair(mine, foe, i, s) {
		const {slots, damage, data} = this.observer;
		const {at, doubles, small} = this.seat;
		this.#blows(mine, foe, i, s);
		this.#threats(mine, foe, i, s, 0);
		const duel = at.duel + (i * slots + s) * DUEL.length;
		const best = bestMultiplier(data.effectiveness, foe, mine);
		const strike = damage.unknown(foe, mine, best);
		doubles[this.#hitsAt(i, s) + STRIKE] = strike;
		small[duel] = logOf(bestMultiplier(data.effectiveness, mine, foe));
		small[duel + 1] = logOf(best);
		small[duel + 2] = this.lead(mine, foe);
		small[duel + 3] = shareOf(strike / 2, mine.hp);
	}

	/** The moves of one's own on the foe. */
	#blows(mine, foe, i, s) {
		const {slots, damage} = this.observer;
		const {at, words, small, doubles: hits} = this.seat;
		const {around} = this;
		const first = this.#hitsAt(i, s);
		const step = slots * MATCHUP.length;
		let pair = at.matchup + i * MOVES * step + s * MATCHUP.length;
		damage.face(mine, foe, around, this.seat.foe.index);
		for (let m = 0; m < MOVES; m++, pair += step) {
			const move = words[at.moves + i * MOVES + m];
			if (damage.isHarmless(move)) {
				hits[first + m * HIT] = 0;
				putNothing(small, pair);
			} else {
				damage.estimate(mine, move, foe, around);
				put(small, pair, damage);
				keep(hits, first + m * HIT, damage);
				this.#hold(pair, first + m * HIT, damage.criticalFactor(mine.level), foe.hp);
			}
		}
	}

	/** The foe's moves from the one numbered `from` on. */
	#threats(mine, foe, i, s, from) {
		const {damage} = this.observer;
		const {at, words, small, doubles: hits} = this.seat;
		const {around} = this;
		const first = this.#hitsAt(i, s) + MOVES * HIT;
		const step = TEAM * MATCHUP.length;
		let threat = at.threat + (s * MOVES + from) * step + i * MATCHUP.length;
		damage.face(foe, mine, around, this.seat.mine.index);
		for (let m = from; m < MOVES; m++, threat += step) {
			const move = words[at.moves + (TEAM + s) * MOVES + m];
			if (damage.isHarmless(move)) {
				hits[first + m * HIT] = 0;
				putNothing(small, threat);
			} else {
				damage.estimate(foe, move, mine, around);
				put(small, threat, damage);
				keep(hits, first + m * HIT, damage);
				this.#hold(threat, first + m * HIT, damage.criticalFactor(foe.level), mine.hp);
			}
		}
	}

	/** Who moves first, as the column `faster` says it. */
	lead(mine, foe) {
		const lead = this.#speed(mine, this.seat.mine.index) - this.#speed(foe, this.seat.foe.index);
		return fixed8(clipped(this.reversed ? -lead / SPEED_LEAD : lead / SPEED_LEAD));
	}

	#speed(fighter, side) {
		const {boostFactor, gen, quickItem} = this.observer.damage;
		let speed = fighter.item > 1 && fighter.item === quickItem ? fighter.spe * 1.5 : fighter.spe;
		if (speed < fighter.leastSpeed) speed = fighter.leastSpeed;
		else if (speed > fighter.mostSpeed) speed = fighter.mostSpeed;
		speed *= boostFactor[fighter.boosts[SPEED] + 6];
		if (fighter.status === PARALYSIS) speed *= gen < 7 ? 0.25 : 0.5;
		return this.tailwind[side] ? speed * 2 : speed;
	}

	/** Only the target's HP has changed: the same hits, held against it. */
	#hurtFoe(i, s, level, hp) {
		const {damage, slots} = this.observer;
		const hits = this.#hitsAt(i, s);
		const step = slots * MATCHUP.length;
		const pair = this.seat.at.matchup + i * MOVES * step + s * MATCHUP.length;
		const factor = damage.criticalFactor(level);
		for (let m = 0; m < MOVES; m++) this.#hold(pair + m * step, hits + m * HIT, factor, hp);
	}

	#hurtOwn(i, s, level, hp) {
		const {at, doubles, small} = this.seat;
		const hits = this.#hitsAt(i, s);
		const step = TEAM * MATCHUP.length;
		const threat = at.threat + s * MOVES * step + i * MATCHUP.length;
		const factor = this.observer.damage.criticalFactor(level);
		for (let m = 0; m < MOVES; m++) this.#hold(threat + m * step, hits + (MOVES + m) * HIT, factor, hp);
		small[at.duel + (i * this.observer.slots + s) * DUEL.length + 3] = shareOf(doubles[hits + STRIKE] / 2, hp);
	}

	/** Holds a hit against the HP left: what share of it, and how probably it is all. */
	#hold(place, hit, factor, hp) {
		const {doubles: hits, small} = this.seat;
		const share = hits[hit] < MOST * hp ? hits[hit] / hp : MOST;
		small[place + 3] = fixed8(share);
		small[place + 4] = fixed8(koChance(hits[hit], hits[hit + 1], hits[hit + 2], factor, hp));
	}

	#surroundings() {
		const {around} = this;
		const {tracker, mine, foe} = this.seat;
		if (this.observer.gen === 1) return this.#gen1Screens();
		const sidesAreKnown = this.ownVersion === mine.version && this.foeVersion === foe.version;
		if (sidesAreKnown && this.fieldVersion === tracker.fieldVersion) return;
		this.fieldVersion = tracker.fieldVersion;
		this.ownVersion = mine.version;
		this.foeVersion = foe.version;
		const {effects, gen, slots} = this.observer;
		const weather = effects.weathers[tracker.weather];
		const sun = weather === 'sunnyday' || weather === 'desolateland';
		const rain = weather === 'raindance' || weather === 'primordialsea';
		around.helped = sun ? FIRE : rain ? WATER : 0;
		around.hindered = sun ? WATER : rain ? FIRE : 0;
		around.sand = weather === 'sandstorm' && gen > 3;
		around.snow = weather === 'snowscape';
		around.terrainType = TERRAIN_TYPES[effects.terrains[tracker.terrain]] ?? 0;
		const factor = slots > 1 ? 2 / 3 : 0.5;
		for (const side of tracker.sides) {
			const veil = side.conditions[effects.side.get('auroraveil')] > 0;
			const physical = veil || side.conditions[effects.side.get('reflect')] > 0;
			const special = veil || side.conditions[effects.side.get('lightscreen')] > 0;
			around.physical[side.index] = physical ? factor : 1;
			around.special[side.index] = special ? factor : 1;
			this.tailwind[side.index] = side.conditions[effects.side.get('tailwind')] > 0;
		}
		this.reversed = tracker.rooms[effects.rooms.indexOf('trickroom')] > 0;
		for (let s = 0; s < slots; s++) this.seat.foes.facing[s].stale = true;
		if (this.pairs !== null) this.pairs.forget();
	}

	/** Gen 1's screens stand on the Pokemon, double a defense, and are all that surrounds it. */
	#gen1Screens() {
		const {reflect, lightscreen} = this.observer.effects.volatile;
		const {sides} = this.seat.tracker;
		let screens = 0;
		for (let i = 0; i < 2; i++) {
			const mon = sides[i].active[0];
			if (mon === null) continue;
			if (mon.volatiles[reflect] > 0) screens |= 1 << i;
			if (mon.volatiles[lightscreen] > 0) screens |= 4 << i;
		}
		if (screens === this.screens) return;
		this.screens = screens;
		const {physical, special} = this.around;
		for (let i = 0; i < 2; i++) {
			physical[i] = screens & 1 << i ? 0.5 : 1;
			special[i] = screens & 4 << i ? 0.5 : 1;
		}
		this.seat.foes.facing[0].stale = true;
		if (this.pairs !== null) this.pairs.forget();
	}
}

/** The columns of one estimate that do not depend on HP; the match-up of an unknown move is all zeros. */
function put(out, at, damage) {
	const {expected, effectiveness} = damage;
	out[at] = effectiveness === 1 ? 0 : logOf(effectiveness);
	out[at + 1] = damage.stab * ONE8;
	out[at + 2] = expected < MOST ? fixed8(expected) : MOST8;
}

/** Keeps what a hit needs to be held against another HP. */
function keep(hits, at, damage) {
	hits[at] = damage.hit;
	hits[at + 1] = damage.critical;
	hits[at + 2] = damage.aim;
}

/** Rounded down where it is written: whole is only what takes all. */
function shareOf(hit, hp) {
	return hit < hp ? hit / hp * ONE8 : hit > 0 ? ONE8 : 0;
}

function clipped(value) {
	return value > 1 ? 1 : value < -1 ? -1 : value;
}

function putNothing(out, at) {
	out[at] = out[at + 1] = out[at + 2] = out[at + 3] = out[at + 4] = 0;
}

/** A multiplier as log2 / 2, clipped to -1.5 .. 1; immune is -2. */
function logOf(multiplier) {
	if (multiplier === 1) return 0;
	if (multiplier === 2) return 0.5 * ONE8;
	if (multiplier === 0.5) return -0.5 * ONE8;
	if (multiplier === 0) return -2 * ONE8;
	if (multiplier === 4) return ONE8;
	if (multiplier === 0.25) return -ONE8;
	return fixed8(Math.max(-1.5, Math.min(1, Math.log2(multiplier) / 2)));
}

/** By the types of `from` alone. */
function bestMultiplier(table, from, to) {
	let best = 0;
	for (let k = 0; k < 2; k++) {
		const type = k === 0 ? from.type1 : from.type2;
		if (type === 0) continue;
		const row = type * TYPE_COUNT;
		const multiplier = table[row + to.type1] * table[row + to.type2] * table[row + to.addedType];
		if (multiplier > best) best = multiplier;
	}
	return best;
}

module.exports = {Matchups, PAIR_HITS, TEAM};
