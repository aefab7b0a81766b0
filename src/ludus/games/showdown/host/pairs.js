'use strict';
/** The leaf `pairs`: each own Pokemon against each Pokemon of the foe that is known, on the field or not. */

const {MATCHUP, MOVE_STATE, ONE8, PAIR} = require('./columns');

const TEAM = 6;
const MOVES = 4;
const MOST8 = 127;
const DAMAGE = MATCHUP.indexOf('damage');
const KINDS = 3; // numbers of a pair that are kept: damage dealt and taken as shares of the full HP, and speed
const WIDTH = PAIR.length;

/**
 * Pairs with somebody on the bench are estimated when one of the two has changed; those on the field are taken from
 * `matchup` and `threat`. What was estimated is kept by Pokemon, because rows change places with every switch.
 */
class Pairs {
	constructor(seat) {
		this.seat = seat;
		this.observer = seat.observer;
		this.kept = new Float32Array(TEAM * TEAM * KINDS); // [foe][own]
		this.versions = new Array(TEAM).fill(0); // of the foe's Pokemon when its pairs were estimated
		this.mons = new Array(TEAM).fill(null);
		this.halves = new Uint8Array(TEAM); // has a move like Super Fang
		this.valid = new Uint8Array(TEAM); // one bit for each own Pokemon
	}

	/** All must be estimated again: the weather has changed, or screens. */
	forget() {
		this.valid.fill(0);
	}

	/** Own Pokemon that have changed, and those whose HP has: one bit for each place in the team. */
	mark(stale, hurt) {
		const changed = this.#known(stale);
		const changedHp = changed | this.#known(hurt);
		if (changedHp === 0) return;
		for (let k = 0; k < TEAM; k++) this.valid[k] &= ~(this.halves[k] ? changedHp : changed);
	}

	/** From places in the team to numbers of Pokemon. */
	#known(places) {
		const {order} = this.seat.team;
		let known = 0;
		for (let i = 0; i < TEAM; i++) if (places & 1 << i && order[i] !== null) known |= 1 << order[i].index;
		return known;
	}

	update() {
		const {seat} = this;
		const {at, foes, small, team} = seat;
		const {slots} = this.observer;
		small.fill(0, at.pairs, at.pairs + TEAM * TEAM * WIDTH);
		for (let j = 0; j < TEAM; j++) {
			const mon = foes.shown[j];
			if (!mon || mon === true || mon.fainted || mon.species === 0) continue;
			const place = j < slots ? -1 : this.#placeOf(mon);
			for (let i = 0; i < TEAM; i++) {
				if ((team.alive & 1 << i) === 0) continue;
				const out = at.pairs + (i * TEAM + j) * WIDTH;
				if (place < 0) this.#fromField(out, i, j);
				else this.#fromBench(out, i, j, place, mon);
			}
		}
	}

	/** Where the pairs of a Pokemon are kept, up to date with what is known of it. */
	#placeOf(mon) {
		const {mons, versions} = this;
		let k = mons.indexOf(mon);
		if (k < 0) {
			k = mons.indexOf(null);
			if (k < 0) k = TEAM - 1; // an Illusion has been taken for a seventh one
			mons[k] = mon;
			versions[k] = 0;
		}
		if (versions[k] !== mon.version) {
			versions[k] = mon.version;
			this.valid[k] = this.halves[k] = 0;
		}
		return k;
	}

	#fromField(out, i, s) {
		const {at, small, team, foes} = this.seat;
		const {slots} = this.observer;
		const width = MATCHUP.length;
		let dealt = 0;
		let taken = 0;
		for (let m = 0; m < MOVES; m++) {
			const blow = small[at.matchup + ((i * MOVES + m) * slots + s) * width + DAMAGE];
			const known = small[at.move_state + ((TEAM + s) * MOVES + m) * MOVE_STATE.length];
			const threat = small[at.threat + ((s * MOVES + m) * TEAM + i) * width + DAMAGE] * known / ONE8;
			if (blow > dealt) dealt = blow;
			if (threat > taken) taken = threat;
		}
		small[out] = held(dealt, foes.facing[s].fighter.hp);
		small[out + 1] = held(taken, team.order[i].hp);
		small[out + 2] = small[at.duel + (i * slots + s) * 4 + 2];
	}

	#fromBench(out, i, j, k, mon) {
		const {foes, small, team} = this.seat;
		const own = team.order[i];
		const kept = (k * TEAM + own.index) * KINDS;
		if ((this.valid[k] & 1 << own.index) === 0) {
			this.#estimate(own.fighter, foes.benched[j], i, j, k);
			this.valid[k] |= 1 << own.index;
		}
		const numbers = this.kept;
		small[out] = held(numbers[kept] * ONE8, mon.hp);
		small[out + 1] = held(numbers[kept + 1] * ONE8, own.hp);
		small[out + 2] = numbers[kept + 2];
	}

	/** The best hit of each on the other, the foe's by how probable the move is; and who is faster. */
	#estimate(mine, foe, i, j, k) {
		const {damage} = this.observer;
		const {at, foe: foeSide, matchups, mine: ownSide, small, words} = this.seat;
		const {around} = matchups;
		let best = 0;
		damage.face(mine, foe, around, foeSide.index);
		for (let m = 0; m < MOVES; m++) {
			const move = words[at.moves + i * MOVES + m];
			if (damage.isHarmless(move)) continue;
			damage.estimate(mine, move, foe, around);
			if (damage.expected > best) best = damage.expected;
		}
		let worst = 0;
		damage.face(foe, mine, around, ownSide.index);
		for (let m = 0; m < MOVES; m++) {
			const move = words[at.moves + (TEAM + j) * MOVES + m];
			if (damage.isHarmless(move)) continue;
			damage.estimate(foe, move, mine, around);
			if (damage.followsTargetsHp(move)) this.halves[k] = 1;
			const known = small[at.move_state + ((TEAM + j) * MOVES + m) * MOVE_STATE.length] / ONE8;
			if (damage.expected * known > worst) worst = damage.expected * known;
		}
		const kept = (k * TEAM + this.seat.team.order[i].index) * KINDS;
		this.kept[kept] = best;
		this.kept[kept + 1] = worst;
		this.kept[kept + 2] = matchups.lead(mine, foe);
	}
}

/** A share of the full HP, in fixed8, as a share of the HP left. */
function held(share, hp) {
	return share < MOST8 * hp ? share / hp + 0.5 : hp > 0 ? MOST8 : 0;
}

module.exports = {Pairs};
