'use strict';
/** The active slots' boosts and volatiles, the field, and what the request asks. */

const {BOOSTS} = require('../tables');
const {ONE, ONE8, clearNumbers, fixed, lasted} = require('../columns');
const {EFFECTIVE, FIRST_SHARE, LAST_SHARE, LAST_TURN, ORDER} = require('../tracking/events');
const {TEAM} = require('./team');

const MOST8 = 127;

class Field {
	constructor(seat) {
		this.seat = seat;
		this.observer = seat.observer;
	}

	update(request) {
		this.#slots();
		this.#field(request);
		if (this.observer.groups.has('last_turn')) this.#lastTurn();
	}

	#slots() {
		const {seat} = this;
		const {at, bytes} = seat;
		const {slots, effects} = this.observer;
		const width = effects.volatiles.length;
		for (let s = 0; s < 2 * slots; s++) {
			const mon = s < slots ? seat.mine.active[s] : seat.foe.active[s - slots];
			const boosts = at.boosts + s * BOOSTS.length;
			const volatiles = at.volatiles + s * width;
			if (mon === null) {
				bytes.fill(0, boosts, boosts + BOOSTS.length);
				bytes.fill(0, volatiles, volatiles + width);
				continue;
			}
			for (let i = 0; i < BOOSTS.length; i++) bytes[boosts + i] = mon.boosts[i]; // the leaf reads them as signed
			for (let i = 0; i < width; i++) bytes[volatiles + i] = mon.volatiles[i];
		}
	}

	#field(request) {
		const {seat, observer} = this;
		const {tracker, mine, foe} = seat;
		const {slots, variants} = observer;
		const out = seat.numbers;
		const at = seat.at.columns;
		const {turn} = tracker;
		clearNumbers(out, seat.at.field, observer.fieldColumns.length);
		if (tracker.weather >= 0) {
			out[at.weather + tracker.weather] = ONE;
			out[at.weatherTurns] = lasted(turn, tracker.weatherSince);
		}
		if (tracker.terrain >= 0) {
			out[at.terrain + tracker.terrain] = ONE;
			out[at.terrainTurns] = lasted(turn, tracker.terrainSince);
		}
		for (let i = 0; i < tracker.rooms.length; i++) {
			if (tracker.rooms[i] > 0) {
				out[at.rooms + i] = ONE;
				if (i === 0) out[at.trickRoomTurns] = lasted(turn, tracker.roomSince[i]);
			}
		}
		this.#side(mine, at.own);
		this.#side(foe, at.foe);
		out[at.turn] = fixed(Math.min(turn, 500) / 100);
		const kind = request.teamPreview ? at.requestPreview : request.forceSwitch ? at.requestSwitch :
			request.active ? at.requestMove : -1;
		if (kind >= 0) out[kind] = ONE;
		for (let s = 0; s < slots; s++) {
			if (request.forceSwitch && request.forceSwitch[s]) out[at.force + s] = ONE;
			const active = request.active ? request.active[s] : null;
			if (!active) continue;
			for (let v = 1; v < variants.length; v++) {
				if (canUse(active, variants[v])) out[at.can + (v - 1) * slots + s] = ONE;
			}
		}
		for (let v = 1; v < variants.length; v++) if (foe.spent[variants[v]]) out[at.spent + v - 1] = ONE;
		out[at.foeUnrevealed] = fixed(seat.foes.unseen / TEAM);
		out[at.ownAlive] = fixed(bitsIn(seat.team.alive) / TEAM);
		out[at.foeAlive] = fixed((foe.size - foe.fainted) / TEAM);
	}

	/** What happened in the most recent turn, the own slots first. */
	#lastTurn() {
		const {seat} = this;
		const {at, small, words} = seat;
		const {slots} = this.observer;
		const {numbers, moves} = seat.tracker.events;
		words.fill(0, at.last_move, at.last_move + 2 * TEAM);
		for (let s = 0; s < 2 * slots; s++) {
			const isOwn = s < slots;
			const place = (isOwn ? seat.mine : seat.foe).index * slots + s % slots;
			words[at.last_move + (isOwn ? s : TEAM + s - slots)] = moves[place];
			const out = at.last_turn + s * LAST_TURN.length;
			for (let k = 0; k < LAST_TURN.length; k++) small[out + k] = column(k, numbers[place * LAST_TURN.length + k]);
		}
	}

	#side(side, at) {
		if (side.version === 1) return; // nothing was ever laid there
		const {sideColumn, sideLayers, sideTimed} = this.observer.effects;
		const {conditions} = side;
		for (let i = 0; i < conditions.length; i++) {
			if (conditions[i] === 0) continue;
			const column = at + sideColumn[i];
			this.seat.numbers[column] = fixed(conditions[i] / sideLayers[i]);
			if (sideTimed[i]) this.seat.numbers[column + 1] = lasted(this.seat.tracker.turn, side.since[i]);
		}
	}
}

/** What column `k` of the last turn says: HP in percent, or a small number, in fixed8. */
function column(k, value) {
	if (k >= FIRST_SHARE && k <= LAST_SHARE) return Math.min(MOST8, Math.round(value * ONE8 / 100));
	if (k === ORDER) return value * ONE8 / 4;
	return k === EFFECTIVE ? value * ONE8 / 2 : value * ONE8;
}

function bitsIn(set) {
	let count = 0;
	for (; set > 0; set &= set - 1) count++;
	return count;
}

function canUse(active, variant) {
	switch (variant) {
	case 'mega': return !!(active.canMegaEvo || active.canMegaEvoX || active.canUltraBurst);
	case 'megay': return !!active.canMegaEvoY;
	case 'zmove': return !!active.canZMove;
	case 'dynamax': return !!active.canDynamax;
	default: return !!active.canTerastallize;
	}
}

module.exports = {Field};
