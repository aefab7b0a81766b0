'use strict';
/** The action queue without the tables, iterators and copies that the stock methods make for each action. */

const ORDERS = {
	team: 1, start: 2, instaswitch: 3, beforeTurn: 4, beforeTurnMove: 5, revivalblessing: 6,
	runSwitch: 101, switch: 103, megaEvo: 104, megaEvoX: 104, megaEvoY: 104, runDynamax: 105, terastallize: 106,
	priorityChargeMove: 107, shift: 200, move: 200, event: 200, residual: 300,
};

module.exports = function patchQueue({replace, BattleQueue}) {
	// the stock method finds the order in a table of its own making; one that is there already it leaves alone
	replace(BattleQueue.prototype, 'resolveAction', '74f1a671fceb', stock => function (action, midTurn = false) {
		const {choice} = action || NO_ACTION;
		if (choice === 'beforeTurn' || choice === 'residual' || choice === 'runSwitch') {
			if (!action.side && action.pokemon) action.side = action.pokemon.side;
			if (!action.order) action.order = ORDERS[choice];
			if (!action.moveid && !action.move) {
				this.battle.getActionSpeed(action);
				return [action];
			}
		} else if ((choice === 'move' || choice === 'switch' || choice === 'instaswitch') && !action.order) {
			// in the stock order of keys
			if (!action.side && action.pokemon) action.side = action.pokemon.side;
			if (!action.move && action.moveid) action.move = this.battle.dex.getActiveMove(action.moveid);
			action.order = ORDERS[choice];
		}
		return stock.call(this, action, midTurn);
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
