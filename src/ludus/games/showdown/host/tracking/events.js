'use strict';
/** What happened in the most recent turn in which anything did, by place on the field. */

/** Columns of the leaf `last_turn`. Those after `switched` and before `missed` are sums of percentages of HP. */
const LAST_TURN = [
	'moved', 'order', 'stopped', 'switched', 'dealt', 'taken', 'lost', 'healed', 'missed', 'crit', 'effective', 'failed',
];
const MOVED = 0, ORDER = 1, STOPPED = 2, SWITCHED = 3, DEALT = 4, TAKEN = 5, LOST = 6, HEALED = 7, MISSED = 8, CRIT = 9,
	EFFECTIVE = 10, FAILED = 11;
const WIDTH = LAST_TURN.length;

const handlers = {
	'-miss': ({events}) => events.mark(MISSED, 1),
	'-crit': ({events}) => events.mark(CRIT, 1),
	'-supereffective': ({events}) => events.mark(EFFECTIVE, 1),
	'-resisted': ({events}) => events.mark(EFFECTIVE, -1),
};

class Events {
	constructor(slots) {
		this.slots = slots;
		this.numbers = new Int16Array(2 * slots * WIDTH); // own slots of side 0, then those of side 1
		this.moves = new Uint16Array(2 * slots); // ids of the moves used from each place; 0: none, or one without an id
		this.order = 0; // how many moves were used
		this.over = false; // the next event is of another turn
		this.actor = -1; // the place of whoever used a move last in this turn, -1: nobody
		this.actorsSide = -1;
	}

	copy() {
		const made = Object.assign(new Events(this.slots), this);
		made.numbers = this.numbers.slice();
		made.moves = this.moves.slice();
		return made;
	}

	/** The turn is over; its events remain until the next one. */
	end() {
		this.over = true;
		this.actor = -1;
	}

	/** Whoever stands in a place uses a move. */
	move(mon, row) {
		const place = this.#place(mon);
		if (place < 0) return;
		this.actor = place;
		this.actorsSide = mon.side.index;
		const at = place * WIDTH;
		if (this.numbers[at + MOVED] > 0) return; // a second one, by Dancer or Instruct
		this.numbers[at + MOVED] = 1;
		this.numbers[at + ORDER] = 4 - this.order++;
		this.moves[place] = row;
	}

	stop(mon) {
		this.#put(mon, STOPPED, 1);
	}

	sendOut(side, slot) {
		this.#begin();
		this.numbers[(side.index * this.slots + slot) * WIDTH + SWITCHED] = 1;
		this.actor = -1; // what follows is not what a move does
	}

	/** HP has changed by so many percent of the full HP. `isDirect`: by the move in hand. */
	change(mon, percent, isDirect) {
		if (percent > 0) return this.#put(mon, HEALED, percent);
		if (percent === 0) return;
		if (!isDirect || this.actor < 0) return this.#put(mon, LOST, -percent);
		this.#put(mon, TAKEN, -percent);
		if (this.actorsSide !== mon.side.index) this.numbers[this.actor * WIDTH + DEALT] -= percent;
	}

	/** Notes something of the move in hand. */
	mark(column, value) {
		if (this.actor >= 0) this.numbers[this.actor * WIDTH + column] = value;
	}

	/** The move in hand did nothing to `mon`: it is immune, or protected. */
	foil(mon, isImmune) {
		if (this.actor < 0 || (isImmune && this.actorsSide === mon.side.index)) return;
		if (isImmune) this.mark(EFFECTIVE, -2);
		this.mark(FAILED, 1);
	}

	/** How much HP `mon` has lost in this turn by other things than moves, in percent. */
	lossOf(mon) {
		const place = this.over ? -1 : this.#placeOf(mon);
		return place < 0 ? 0 : this.numbers[place * WIDTH + LOST];
	}

	#put(mon, column, value) {
		const place = this.#place(mon);
		if (place >= 0) this.numbers[place * WIDTH + column] += value;
	}

	#place(mon) {
		this.#begin();
		return this.#placeOf(mon);
	}

	#placeOf(mon) {
		const {side} = mon;
		const slot = side.active[0] === mon ? 0 : side.active.length > 1 && side.active[1] === mon ? 1 : -1;
		return slot < 0 ? -1 : side.index * this.slots + slot;
	}

	#begin() {
		if (!this.over) return;
		this.over = false;
		this.order = 0;
		this.actor = -1;
		this.numbers.fill(0);
		this.moves.fill(0);
	}
}

module.exports = {Events, LAST_TURN, FIRST_SHARE: DEALT, LAST_SHARE: HEALED, ORDER, EFFECTIVE, handlers};
