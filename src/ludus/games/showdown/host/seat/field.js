'use strict';
/** The active slots' boosts and volatiles, the field, and what the request asks. */

const {BOOSTS} = require('../tables');
const {ONE, clearNumbers, fixed, lasted} = require('../columns');
const {TEAM} = require('./team');

class Field {
	constructor(seat) {
		this.seat = seat;
		this.observer = seat.observer;
	}

	update(request) {
		this.#slots();
		this.#field(request);
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
