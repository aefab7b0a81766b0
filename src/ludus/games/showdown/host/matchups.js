'use strict';
/** What moves would do: each own Pokemon against each active foe, and the other way round. */

const {Surroundings} = require('./damage');
const {TYPE_COUNT} = require('./tables');
const {MATCHUP, DUEL} = require('./columns');

const TEAM = 6;
const MOVES = 4;
const FIRE = 2;
const WATER = 3;
const SPEED = 4; // its place among the boosts
const PARALYSIS = 2;
const SPEED_LEAD = 25; // points of speed; a lead of these and more is 1
const TERRAIN_TYPES = {electricterrain: 4, grassyterrain: 5, psychicterrain: 11};

/** A part of a seat's row; estimates again only what has changed since the last decision. */
class Matchups {
	constructor(seat) {
		const {observer} = seat;
		this.seat = seat;
		this.observer = observer;
		this.fieldVersion = 0;
		this.sideVersions = [0, 0];
		this.around = new Surroundings();
		// of each pair the four own hits, then the four foe's: side by side, because they are looked at together
		this.hits = new Float64Array(TEAM * observer.slots * 2 * MOVES);
		this.strikes = new Float64Array(TEAM * observer.slots); // of a move not seen yet, by the foe
		this.estimated = new Uint8Array(TEAM * observer.slots);
		this.tailwind = [false, false]; // by side
		this.reversed = false; // the slower one moves first
	}

	/** Brings the leaves `matchup`, `threat` and `duel` up to date. */
	update() {
		const {slots} = this.observer;
		this.#surroundings();
		for (let s = 0; s < slots; s++) {
			const mon = this.seat.foe.active[s];
			const facing = mon !== null && !mon.fainted;
			const foe = this.seat.foes.facing[s];
			const {hp} = foe.fighter;
			const hurt = facing && foe.matchedHp !== hp;
			const foeStale = foe.stale || (hurt && foe.followsHp);
			for (let i = 0; i < TEAM; i++) {
				const own = this.seat.team.order[i];
				if (own === null || !facing || own.hp <= 0) {
					if (this.estimated[i * slots + s]) this.#clearPair(i, s);
				} else if (foeStale || own.stale || !this.estimated[i * slots + s] || (hurt && own.followsFoesHp) ||
					(own.hurt && foe.halves)) {
					this.#pair(own, i, s);
				} else {
					if (hurt) this.#hurtFoe(i, s, hp);
					if (own.hurt) this.#hurtOwn(i, s, own.hp);
					if (foe.learnt < MOVES) this.#threats(own.fighter, foe.fighter, i, s, foe.learnt);
				}
			}
			foe.stale = false;
			foe.learnt = MOVES;
			foe.matchedHp = hp;
		}
		for (let i = 0; i < TEAM; i++) {
			const own = this.seat.team.order[i];
			if (own !== null) own.stale = own.hurt = false;
		}
	}

	#clearPair(i, s) {
		const {slots, at} = this.observer;
		const {floats} = this.seat;
		const width = MATCHUP.length;
		for (let m = 0; m < MOVES; m++) {
			putNothing(floats, at.matchup + ((i * MOVES + m) * slots + s) * width);
			putNothing(floats, at.threat + ((s * MOVES + m) * TEAM + i) * width);
		}
		const duel = at.duel + (i * slots + s) * DUEL.length;
		floats[duel] = floats[duel + 1] = floats[duel + 2] = floats[duel + 3] = 0;
		this.estimated[i * slots + s] = 0;
	}

	#pair(own, i, s) {
		const {slots, damage, data, at} = this.observer;
		const {floats} = this.seat;
		const foe = this.seat.foes.facing[s].fighter;
		const mine = own.fighter;
		const theirSide = this.seat.foe.index;
		const mySide = this.seat.mine.index;
		this.#blows(mine, foe, i, s);
		this.#threats(mine, foe, i, s, 0);
		const duel = at.duel + (i * slots + s) * DUEL.length;
		const best = bestMultiplier(data.effectiveness, foe, mine);
		const lead = this.#speed(mine, mySide) - this.#speed(foe, theirSide);
		const strike = damage.unknown(foe, mine, best);
		this.strikes[i * slots + s] = strike;
		floats[duel] = logOf(bestMultiplier(data.effectiveness, mine, foe));
		floats[duel + 1] = logOf(best);
		floats[duel + 2] = clipped(this.reversed ? -lead / SPEED_LEAD : lead / SPEED_LEAD);
		floats[duel + 3] = shareOf(strike / 2, mine.hp);
		this.estimated[i * slots + s] = 1;
	}

	/** The moves of one's own on the foe. */
	#blows(mine, foe, i, s) {
		const {slots, damage, at} = this.observer;
		const {words, floats} = this.seat;
		const {hits, around} = this;
		const first = (i * slots + s) * 2 * MOVES;
		const step = slots * MATCHUP.length;
		let pair = at.matchup + i * MOVES * step + s * MATCHUP.length;
		damage.face(mine, foe, around, this.seat.foe.index);
		for (let m = 0; m < MOVES; m++, pair += step) {
			const move = words[at.moves + i * MOVES + m];
			if (damage.isHarmless(move)) {
				hits[first + m] = 0;
				putNothing(floats, pair);
			} else {
				damage.estimate(mine, move, foe, around);
				hits[first + m] = damage.hit;
				put(floats, pair, damage, foe.hp);
			}
		}
	}

	/** The foe's moves from the one numbered `from` on. */
	#threats(mine, foe, i, s, from) {
		const {slots, damage, at} = this.observer;
		const {words, floats} = this.seat;
		const {hits, around} = this;
		const first = ((i * slots + s) * 2 + 1) * MOVES;
		const step = TEAM * MATCHUP.length;
		let threat = at.threat + (s * MOVES + from) * step + i * MATCHUP.length;
		damage.face(foe, mine, around, this.seat.mine.index);
		for (let m = from; m < MOVES; m++, threat += step) {
			const move = words[at.moves + (TEAM + s) * MOVES + m];
			if (damage.isHarmless(move)) {
				hits[first + m] = 0;
				putNothing(floats, threat);
			} else {
				damage.estimate(foe, move, mine, around);
				hits[first + m] = damage.hit;
				put(floats, threat, damage, mine.hp);
			}
		}
	}

	#speed(fighter, side) {
		const {boostFactor, gen, quickItem} = this.observer.damage;
		let speed = fighter.spe * boostFactor[fighter.boosts[SPEED] + 6];
		if (fighter.status === PARALYSIS) speed *= gen < 7 ? 0.25 : 0.5;
		if (fighter.item > 1 && fighter.item === quickItem) speed *= 1.5;
		return this.tailwind[side] ? speed * 2 : speed;
	}

	/** Only the target's HP has changed: the same hits, held against it. */
	#hurtFoe(i, s, hp) {
		const {slots, at} = this.observer;
		for (let m = 0; m < MOVES; m++) {
			const pair = (i * MOVES + m) * slots + s;
			putShare(this.seat.floats, at.matchup + pair * MATCHUP.length, this.hits[(i * slots + s) * 2 * MOVES + m], hp);
		}
	}

	#hurtOwn(i, s, hp) {
		const {slots, at} = this.observer;
		const {floats} = this.seat;
		for (let m = 0; m < MOVES; m++) {
			const threat = (s * MOVES + m) * TEAM + i;
			putShare(floats, at.threat + threat * MATCHUP.length, this.hits[((i * slots + s) * 2 + 1) * MOVES + m], hp);
		}
		floats[at.duel + (i * slots + s) * DUEL.length + 3] = shareOf(this.strikes[i * slots + s] / 2, hp);
	}

	#surroundings() {
		const {around} = this;
		const {tracker, mine, foe} = this.seat;
		if (this.observer.gen === 1) return this.#gen1Screens();
		const sidesAreKnown = this.sideVersions[0] === mine.version && this.sideVersions[1] === foe.version;
		if (sidesAreKnown && this.fieldVersion === tracker.fieldVersion) return;
		this.fieldVersion = tracker.fieldVersion;
		this.sideVersions[0] = mine.version;
		this.sideVersions[1] = foe.version;
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
	}

	/** Gen 1's screens stand on the Pokemon, double a defense, and are all that surrounds it. */
	#gen1Screens() {
		const {reflect, lightscreen} = this.observer.effects.volatile;
		const {physical, special} = this.around;
		for (const side of this.seat.tracker.sides) {
			const mon = side.active[0];
			const onPhysical = mon !== null && mon.volatiles[reflect] > 0 ? 0.5 : 1;
			const onSpecial = mon !== null && mon.volatiles[lightscreen] > 0 ? 0.5 : 1;
			if (onPhysical === physical[side.index] && onSpecial === special[side.index]) continue;
			physical[side.index] = onPhysical;
			special[side.index] = onSpecial;
			this.seat.foes.facing[0].stale = true;
		}
	}
}

/** The columns of one estimate; the match-up of an unknown move is all zeros. */
function put(out, at, damage, hp) {
	const {hit, expected, effectiveness} = damage;
	out[at] = effectiveness === 1 ? 0 : logOf(effectiveness);
	out[at + 1] = damage.stab;
	out[at + 2] = expected > 2 ? 2 : expected;
	putShare(out, at, hit, hp);
}

/** A hit held against the HP left: what share of it, and whether it is all. */
function putShare(out, at, hit, hp) {
	out[at + 3] = shareOf(hit, hp);
	out[at + 4] = hit > 0 && hit >= hp ? 1 : 0;
}

function shareOf(hit, hp) {
	return hit < hp ? hit / hp : hit > 0 ? 1 : 0;
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
	if (multiplier === 2) return 0.5;
	if (multiplier === 0.5) return -0.5;
	if (multiplier === 0) return -2;
	if (multiplier === 4) return 1;
	if (multiplier === 0.25) return -1;
	return Math.max(-1.5, Math.min(1, Math.log2(multiplier) / 2));
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

module.exports = {Matchups};
