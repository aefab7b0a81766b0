'use strict';
/** The action queue without the tables, iterators and copies that the stock methods make for each action. */

/** Of the actions that are handled here; what has other keys than createAction's is left to the stock method. */
const ORDERS = {__proto__: null, instaswitch: 3, beforeTurn: 4, runSwitch: 101, switch: 103, move: 200, residual: 300};

/** Every key that an action of these kinds gets; undefined ones are not serialised. */
function createAction(choice, pokemon, order) {
	return {
		choice,
		pokemon,
		targetLoc: undefined,
		moveid: undefined,
		moveSlot: undefined,
		mega: undefined,
		megax: undefined,
		megay: undefined,
		zmove: undefined,
		maxMove: undefined,
		terastallize: undefined,
		target: undefined,
		side: undefined,
		move: undefined,
		order,
		fractionalPriority: undefined,
		sourceEffect: undefined,
		originalTarget: undefined,
		priority: undefined,
		speed: undefined,
	};
}

module.exports = function patchQueue({replace, BattleQueue}) {
	/*
	 * Actions that come from a choice or from the turn itself, which is nearly all there are, leave with one layout, as
	 * whatever reads the queue meets all kinds of them. The stock method adds keys as it goes, and finds the order in a
	 * table of its own making; one that is there already it leaves alone.
	 */
	replace(BattleQueue.prototype, 'resolveAction', '74f1a671fceb', stock => function (given, midTurn = false) {
		const {choice} = given || NO_ACTION;
		const order = ORDERS[choice];
		if (order === undefined || given.order || given.move) return stock.call(this, given, midTurn);
		if (choice === 'move') {
			if (!given.moveid) return stock.call(this, given, midTurn);
			if (!given.side && given.pokemon) given.side = given.pokemon.side;
			given.move = this.battle.dex.getActiveMove(given.moveid);
			given.order = order;
			return stock.call(this, given, midTurn);
		}
		const isSwitch = choice === 'switch' || choice === 'instaswitch';
		if (given.moveid || isSwitch && midTurn) return stock.call(this, given, midTurn);
		const action = createAction(choice, given.pokemon, order);
		action.target = given.target;
		if (action.pokemon) action.side = action.pokemon.side;
		if (isSwitch) {
			const {pokemon} = action;
			if (typeof pokemon.switchFlag === 'string') {
				action.sourceEffect = this.battle.dex.moves.get(pokemon.switchFlag);
			}
			pokemon.switchFlag = false;
		}
		this.battle.getActionSpeed(action);
		return [action];
	});

	// a handful of actions: moving them up one by one takes less than calling Array#shift
	replace(BattleQueue.prototype, 'shift', 'f1d95b875451', () => function () {
		const {list} = this;
		if (list.length === 0) return undefined;
		const first = list[0];
		for (let i = 1; i < list.length; i++) list[i - 1] = list[i];
		list.pop();
		return first;
	});

	replace(BattleQueue.prototype, 'addChoice', 'cbcee87071c2', () => function (choices) {
		if (!Array.isArray(choices)) {
			append(this.list, this.resolveAction(choices));
			return;
		}
		for (const choice of choices) append(this.list, this.resolveAction(choice));
	});

	replace(BattleQueue.prototype, 'insertChoice', 'afa436d97684', stock => function (choices, midTurn = false) {
		if (Array.isArray(choices)) {
			stock.call(this, choices, midTurn);
			return;
		}
		if (choices.pokemon) choices.pokemon.updateSpeed();
		const actions = this.resolveAction(choices, midTurn);
		const {list, battle} = this;
		let first = -1;
		let last = -1;
		for (let i = 0; i < list.length; i++) {
			const compared = battle.comparePriority(actions[0], list[i]);
			if (compared <= 0 && first < 0) first = i;
			if (compared < 0) {
				last = i;
				break;
			}
		}
		if (first < 0) {
			append(list, actions);
			return;
		}
		if (last < 0) last = list.length;
		list.splice(first === last ? first : battle.random(first, last + 1), 0, ...actions);
	});
};

const NO_ACTION = {choice: ''};

function append(list, actions) {
	for (let i = 0; i < actions.length; i++) list.push(actions[i]);
}

module.exports.createAction = createAction;
