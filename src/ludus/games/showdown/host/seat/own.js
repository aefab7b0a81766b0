'use strict';
/** What a seat knows of one of its own Pokemon, from requests and from what everybody sees. */

const {Fighter} = require('../damage');
const {STATUS_INDEX} = require('../tracking/state');

const MOVES = 4;
const FAINTED = '0 fnt';

class Own {
	constructor(ident) {
		this.ident = ident;
		this.name = ident.slice(4);
		this.position = -1;
		this.slot = -1; // >= 0 while active
		this.shown = null; // how everybody sees it
		this.shownVersion = 0;
		this.details = '';
		this.condition = '';
		this.itemId = null;
		this.item = 0;
		this.teraType = null;
		this.abilityId = null;
		this.ability = 0;
		this.species = 0;
		this.level = 100;
		this.hp = 1;
		this.status = 0;
		this.tera = 0;
		this.moveIds = ['', '', '', ''];
		this.moves = new Uint16Array(MOVES);
		this.pp = new Float32Array(MOVES).fill(-1); // last seen in a request; -1 never
		this.maxPp = new Float32Array(MOVES);
		this.usesThen = new Uint8Array(MOVES); // public count of uses when the pp was seen
		this.fighter = new Fighter();
		this.followsFoesHp = false; // has a move like Super Fang
		this.stats = 0;
		this.followsOwnHp = false; // has a move like Eruption, or Multiscale
		this.matchedAt = -1; // what the match-ups in the row were estimated for
		this.matchedCombat = 0;
		this.matchedShown = null;
		this.matchedStatus = 0;
		this.matchedSpecies = 0;
		this.matchedAbility = 0;
		this.matchedItem = 0;
		this.matchedSlot = -1;
		this.matchedTera = 0;
		this.matchedMaxhp = 0;
		this.matchedHp = -1;
		this.hurt = false; // only its HP has changed
		this.stale = true; // its match-ups must be estimated again
	}

	/** Takes `243/310 par` or `0 fnt`. */
	readCondition(condition) {
		if (this.condition === condition) return;
		this.condition = condition;
		if (condition === FAINTED) {
			this.hp = this.status = 0;
			return;
		}
		const slash = condition.indexOf('/');
		const space = condition.indexOf(' ');
		const max = parseInt(condition.slice(slash + 1), 10);
		this.hp = parseInt(condition, 10) / max;
		this.fighter.maxhp = max;
		this.status = space < 0 ? 0 : STATUS_INDEX.get(condition.slice(space + 1)) ?? 0;
	}

	/** Which of the known moves an offered one is: `hiddenpower` is what the team calls hiddenpowerfire70. */
	moveIndex(id, m) {
		if (this.moveIds[m] === id) return m;
		for (let k = 0; k < MOVES; k++) if (this.moveIds[k] === id) return k;
		for (let k = 0; k < MOVES; k++) if (this.moveIds[k].startsWith(id) && id.length > 5) return k;
		return -1;
	}

	seePp(index, move) {
		this.pp[index] = move.pp;
		this.maxPp[index] = move.maxpp;
		this.usesThen[index] = publicUses(this.shown, this.moves[index]);
	}

	ppLeft(index, data) {
		const row = this.moves[index];
		const uses = publicUses(this.shown, row);
		const max = this.pp[index] < 0 ? data.movePp[row] : this.maxPp[index];
		const left = this.pp[index] < 0 ? max - uses : this.pp[index] - Math.max(0, uses - this.usesThen[index]);
		return max > 0 ? Math.max(0, left) / max : 0;
	}
}

function publicUses(mon, row) {
	if (mon === null) return 0;
	for (let i = 0; i < mon.moveCount; i++) if (mon.moves[i] === row) return mon.uses[i];
	return 0;
}

module.exports = {Own, MOVES, FAINTED};
