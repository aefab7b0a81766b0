'use strict';
/**
 * Battle#runAction for the actions of every turn.
 *
 * The stock method is one body of two hundred lines that handles every kind of action. It never gets compiled for good,
 * so each of its loops makes an iterator and an object a step, a fifth of all that a battle allocates. Here the kinds
 * that make up nearly all turns are handled in small functions, step by step as in the stock method, which still has
 * the rest.
 */

const HANDLED = new Set(['move', 'switch', 'instaswitch', 'runSwitch', 'beforeTurn', 'residual']);

module.exports = function patchActions({replace, Battle}) {
	replace(Battle.prototype, 'runAction', '6c36c083886c', stock => function (action) {
		const {choice, pokemon} = action;
		if (!HANDLED.has(choice)) return stock.call(this, action);
		const hpBefore = pokemon?.hp;
		let residual = null;
		if (choice === 'move') {
			if (!pokemon.isActive || pokemon.fainted) return false;
			move(this, action);
		} else if (choice === 'runSwitch') {
			this.actions.runSwitch(pokemon);
		} else if (choice === 'beforeTurn') {
			this.eachEvent('BeforeTurn');
		} else if (choice === 'residual') {
			residual = endOfTurn(this);
		} else {
			switchIn(this, action);
		}
		dragIn(this);
		this.clearActiveMove();
		this.faintMessages();
		if (this.ended) return true;
		const next = this.queue.peek();
		if (!next || this.gen <= 3 && (next.choice === 'move' || next.choice === 'residual')) {
			this.checkFainted();
		} else if (next.choice === 'instaswitch') {
			return false;
		}
		if (this.gen >= 5) {
			this.eachEvent('Update');
			if (residual !== null) exitAfterResidual(this, residual);
		}
		if (
			choice === 'runSwitch' && pokemon.hp && pokemon.hp <= pokemon.maxhp / 2 && hpBefore > pokemon.maxhp / 2
		) this.runEvent('EmergencyExit', pokemon);
		if (mustSwitch(this)) {
			const isAsked = settleSwitches(this);
			if (this.ended) return true;
			if (isAsked) {
				this.makeRequest('switch');
				return true;
			}
		}
		if (this.gen < 5) this.eachEvent('Update');
		if (this.gen >= 8) reorder(this);
		return false;
	});
};

function move(battle, action) {
	battle.actions.runMove(action.move, action.pokemon, action.targetLoc, {
		sourceEffect: action.sourceEffect,
		zMove: action.zmove,
		maxMove: action.maxMove,
		originalTarget: action.originalTarget,
	});
}

function switchIn(battle, action) {
	const {pokemon, target, sourceEffect} = action;
	if (action.choice === 'switch' && pokemon.status) {
		battle.singleEvent('CheckShow', battle.dex.abilities.getByID('naturalcure'), null, pokemon);
	}
	if (battle.actions.switchIn(target, pokemon.position, sourceEffect) !== 'pursuitfaint') return;
	if (battle.gen <= 4) {
		battle.hint('Previously chosen switches continue in Gen 2-4 after a Pursuit target faints.');
		action.priority = -101;
		battle.queue.unshift(action);
	} else {
		battle.hint("A Pokemon can't switch between when it runs out of HP and when it faints");
	}
}

/** Returns the active Pokemon and their HP before residual damage, one after the other. */
function endOfTurn(battle) {
	battle.add('');
	battle.clearActiveMove(true);
	battle.updateSpeed();
	const before = [];
	// only abilities of Gen 7 and later listen, but the stock method looks from Gen 5 on
	if (battle.gen >= 5) {
		for (const pokemon of battle.getAllActive()) before.push(pokemon, pokemon.getUndynamaxedHP());
	}
	battle.fieldEvent('Residual');
	if (!battle.ended) battle.add('upkeep');
	return before;
}

function exitAfterResidual(battle, before) {
	for (let i = 0; i < before.length; i += 2) {
		const pokemon = before[i];
		const half = pokemon.getUndynamaxedHP(pokemon.maxhp) / 2;
		if (pokemon.hp && pokemon.getUndynamaxedHP() <= half && before[i + 1] > half) {
			battle.runEvent('EmergencyExit', pokemon);
		}
	}
}

function dragIn(battle) {
	const {sides} = battle;
	for (let i = 0; i < sides.length; i++) {
		const {active} = sides[i];
		for (let j = 0; j < active.length; j++) {
			const pokemon = active[j];
			if (!pokemon.forceSwitchFlag) continue;
			if (pokemon.hp) battle.actions.dragIn(pokemon.side, pokemon.position);
			pokemon.forceSwitchFlag = false;
		}
	}
}

function mustSwitch({sides}) {
	for (let i = 0; i < sides.length; i++) if (hasSwitchFlag(sides[i])) return true;
	return false;
}

function hasSwitchFlag({active}) {
	for (let i = 0; i < active.length; i++) if (active[i] && active[i].switchFlag) return true;
	return false;
}

/** Drops switches that nobody is left for, runs what comes before the others; returns whether a side has to choose. */
function settleSwitches(battle) {
	const {sides} = battle;
	const switches = sides.map(hasSwitchFlag);
	for (let i = 0; i < sides.length; i++) {
		if (!switches[i]) continue;
		if (!battle.canSwitch(sides[i])) {
			switches[i] = keepRevivals(sides[i]);
			continue;
		}
		for (const pokemon of sides[i].active) {
			if (
				!pokemon.hp || !pokemon.switchFlag || pokemon.switchFlag === 'revivalblessing' ||
				pokemon.skipBeforeSwitchOutEventFlag
			) continue;
			battle.runEvent('BeforeSwitchOut', pokemon);
			pokemon.skipBeforeSwitchOutEventFlag = true;
			battle.faintMessages();
			if (battle.ended) return true;
			if (pokemon.fainted) switches[i] = hasSwitchFlag(sides[i]);
		}
	}
	return switches.includes(true);
}

function keepRevivals(side) {
	let isReviving = false;
	for (const pokemon of side.active) {
		if (side.slotConditions[pokemon.position]['revivalblessing']) isReviving = true;
		else pokemon.switchFlag = false;
	}
	return isReviving;
}

/** From Gen 8 on a change of speed counts within the turn. */
function reorder(battle) {
	const choice = battle.queue.peek()?.choice;
	if (choice !== 'move' && choice !== 'runDynamax') return;
	battle.updateSpeed();
	const {list} = battle.queue;
	for (let i = 0; i < list.length; i++) if (list[i].pokemon) battle.getActionSpeed(list[i]);
	battle.queue.sort();
}
