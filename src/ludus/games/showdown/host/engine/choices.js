'use strict';
/**
 * Choices: `move 2` and `switch 3`, which are nearly all there are, without parsing and without asking twice.
 *
 * Stock code builds the Pokemon's part of the request again, and its move list a second time, to check a move against
 * them. A move that is enabled and has PP, chosen by a Pokemon that nothing can lock in, passes every check; whatever
 * else is chosen goes to the stock method, which also words the refusals.
 */

const {mayBeHeard} = require('./listeners');
const {createAction} = require('./queue');
const {AIMED_BY_USER} = require('./requests');

const MAX_MOVES = 4;
const MAX_TEAM = 6;

const PLAIN_MOVES = new Map();
const PLAIN_SWITCHES = new Map();
const MOVE_INDEXES = new Map();
for (let n = 1; n <= MAX_MOVES; n++) {
	PLAIN_MOVES.set(`move ${n}`, `${n}`);
	MOVE_INDEXES.set(`${n}`, n - 1);
}
for (let n = 1; n <= MAX_TEAM; n++) PLAIN_SWITCHES.set(`switch ${n}`, `${n}`);

module.exports = function patchChoices({replace, Side}) {
	replace(Side.prototype, 'choose', '6b1bba5ecb39', stock => function (input) {
		const move = PLAIN_MOVES.get(input);
		const replacement = move === undefined ? PLAIN_SWITCHES.get(input) : undefined;
		if (move === undefined && replacement === undefined || !this.requestState || this.choice.cantUndo) {
			return stock.call(this, input);
		}
		this.clearChoice();
		if (!(move === undefined ? this.chooseSwitch(replacement) : this.chooseMove(move, undefined, ''))) return false;
		return !this.choice.error;
	});

	replace(Side.prototype, 'chooseMove', '8a65e869d2bc', stock => function (moveText, targetLoc = 0, event = '') {
		const slot = event ? undefined : MOVE_INDEXES.get(moveText);
		return slot !== undefined && this.requestState === 'move' && choosePlainMove(this, slot, targetLoc) ||
			stock.call(this, moveText, targetLoc, event);
	});

	// a choice is cleared three times a turn; nobody keeps the last one
	replace(Side.prototype, 'clearChoice', '06d62abeca15', stock => function () {
		const {choice, battle} = this;
		if (battle.requestState === 'switch' || !choice) {
			stock.call(this);
			return;
		}
		choice.cantUndo = false;
		choice.error = '';
		if (choice.actions.length) choice.actions = [];
		choice.forcedSwitchesLeft = 0;
		choice.forcedPassesLeft = 0;
		if (choice.switchIns.size) choice.switchIns = new Set();
		choice.zMove = choice.mega = choice.ultra = choice.dynamax = choice.terastallize = false;
	});
};

/** False, with nothing changed, where the stock method has to decide. */
function choosePlainMove(side, index, targetLoc) {
	const {battle, active, choice} = side;
	const at = side.getChoiceIndex();
	if (at >= active.length) return false;
	const pokemon = active[at];
	const moveSlot = pokemon.moveSlots[index];
	if (moveSlot === undefined || moveSlot.disabled || !(moveSlot.pp > 0) || mayBeBound(battle, pokemon)) return false;
	const needsTarget = battle.actions.targetTypeChoices(moveSlot.target);
	if (needsTarget) {
		if (!targetLoc && active.length >= 2) return false;
		if (!battle.validTargetLoc(targetLoc, pokemon, moveSlot.target)) return false;
	} else if (targetLoc) {
		return false;
	}
	// what building the Pokemon's part of the request does besides
	if (pokemon.isLastActive()) {
		pokemon.maybeLocked = pokemon.maybeLocked || pokemon.maybeDisabled;
	} else {
		pokemon.maybeDisabled = false;
		pokemon.maybeLocked = false;
		pokemon.maybeTrapped = false;
	}
	const action = createAction('move', pokemon, undefined);
	action.targetLoc = targetLoc;
	action.moveid = moveSlot.id;
	action.moveSlot = index;
	action.mega = action.megax = action.megay = false;
	choice.actions.push(action);
	if (pokemon.maybeDisabled && (battle.gameType === 'singles' || battle.gen <= 3 && !needsTarget)) {
		choice.cantUndo = true;
	}
	return true;
}

/** Whether the Pokemon may be locked into a move, or its list of moves is not simply its slots. */
function mayBeBound(battle, pokemon) {
	const {volatiles, moveSlots, status} = pokemon;
	if (battle.gen === 1 && (status === 'frz' || status === 'slp' || volatiles['partiallytrapped'])) return true;
	if (volatiles['dynamax']) return true;
	for (let i = 0; i < moveSlots.length; i++) if (AIMED_BY_USER.has(moveSlots[i].id)) return true;
	return mayBeHeard(battle, 'LockMove', pokemon) || mayBeHeard(battle, 'SemiLockMove', pokemon);
}
