'use strict';
/**
 * Battle#endTurn without its waste.
 *
 * Stock code deep-clones every move of every active Pokemon each turn to ask it for onDisableMove, which nine moves
 * have, and asks every ability a foe might have for onFoeMaybeTrapPokemon, which three have. Here both are looked up
 * first. The rest is the stock method, step by step.
 */

const {mayBeHeard} = require('./listeners');

module.exports = function patchTurns({replace, Battle}) {
	replace(Battle.prototype, 'endTurn', 'dbe256ed5a23', () => function () {
		this.turn++;
		this.lastSuccessfulMoveThisTurn = null;
		endDynamax(this);
		if (this.gen === 1) endPartialTrapping(this);
		const {sides} = this;
		const trappedBySide = [];
		const stalenessBySide = [];
		for (let i = 0; i < sides.length; i++) {
			const side = sides[i];
			const {active} = side;
			let isTrapped = true;
			let sideStaleness;
			for (let j = 0; j < active.length; j++) {
				const pokemon = active[j];
				if (!pokemon) continue;
				beginNextTurn(this, pokemon);
				if (pokemon.fainted) continue;
				isTrapped = isTrapped && pokemon.trapped;
				const staleness = pokemon.volatileStaleness || pokemon.staleness;
				if (staleness) sideStaleness = sideStaleness === 'external' ? sideStaleness : staleness;
				pokemon.activeTurns++;
			}
			trappedBySide.push(isTrapped);
			stalenessBySide.push(sideStaleness);
			side.faintedLastTurn = side.faintedThisTurn;
			side.faintedThisTurn = null;
		}
		if (this.maybeTriggerEndlessBattleClause(trappedBySide, stalenessBySide)) return;
		if (this.gameType === 'triples') centerLastPokemon(this);
		this.add('turn', this.turn);
		if (this.gameType === 'multi') announceDynamax(this);
		if (this.gen === 2) this.quickClawRoll = this.randomChance(60, 256);
		if (this.gen === 3) this.quickClawRoll = this.randomChance(1, 5);
		this.makeRequest('move');
	});

	replace(Battle.prototype, 'maybeTriggerEndlessBattleClause', '17d625960bd8', stock => function (trapped, staleness) {
		// in Gen 1 stock code lists the moves of every Pokemon, twice, to see whether all are out of PP or Transform
		const [first, second] = this.sides;
		if (this.gen === 1 && this.turn <= 100 && (canProgress(first) || canProgress(second))) return undefined;
		return stock.call(this, trapped, staleness);
	});
};

function canProgress({pokemon}) {
	for (let i = 0; i < pokemon.length; i++) {
		const {fainted, status, moveSlots} = pokemon[i];
		if (fainted || status === 'frz') continue;
		let hasOther = false;
		let hasPP = false;
		for (let j = 0; j < moveSlots.length; j++) {
			if (moveSlots[j].id !== 'transform') hasOther = true;
			if (moveSlots[j].pp !== 0) hasPP = true;
		}
		if (hasOther && hasPP) return true;
	}
	return false;
}

function endDynamax(battle) {
	if (!isAnyDynamaxed(battle)) return;
	const ending = battle.getAllActive().filter(pokemon => pokemon.volatiles['dynamax']?.turns === 3);
	if (ending.length > 1) {
		battle.updateSpeed();
		battle.speedSort(ending);
	}
	for (const pokemon of ending) pokemon.removeVolatile('dynamax');
}

function isAnyDynamaxed({sides}) {
	for (let i = 0; i < sides.length; i++) {
		const {active} = sides[i];
		for (let j = 0; j < active.length; j++) if (active[j] && active[j].volatiles['dynamax']) return true;
	}
	return false;
}

/** Gen 1 partial trapping has no duration: it ends when the other end of it is gone. */
function endPartialTrapping(battle) {
	for (const pokemon of battle.getAllActive()) {
		const {volatiles} = pokemon;
		const lock = volatiles['partialtrappinglock'];
		if (lock && (lock.locked.hp <= 0 || !lock.locked.volatiles['partiallytrapped'])) {
			delete volatiles['partialtrappinglock'];
		}
		const trap = volatiles['partiallytrapped'];
		if (trap && (trap.source.hp <= 0 || !trap.source.volatiles['partialtrappinglock'])) {
			delete volatiles['partiallytrapped'];
		}
		const fake = volatiles['fakepartiallytrapped'];
		if (fake && (fake.counterpart.hp <= 0 || !fake.counterpart.volatiles['fakepartiallytrapped'])) {
			delete volatiles['fakepartiallytrapped'];
		}
	}
}

function beginNextTurn(battle, pokemon) {
	pokemon.moveThisTurn = '';
	pokemon.newlySwitched = false;
	pokemon.moveLastTurnResult = pokemon.moveThisTurnResult;
	pokemon.moveThisTurnResult = undefined;
	if (battle.turn !== 1) {
		pokemon.usedItemThisTurn = false;
		pokemon.statsRaisedThisTurn = false;
		pokemon.statsLoweredThisTurn = false;
		pokemon.hurtThisTurn = null;
	}
	disableMoves(battle, pokemon);
	if (pokemon.attackedBy.length && battle.gen >= 7) pokemon.knownType = true;
	forgetAttacks(pokemon);
	if (battle.gen >= 7 && !pokemon.terastallized) showType(battle, pokemon);
	pokemon.trapped = pokemon.maybeTrapped = false;
	battle.runEvent('TrapPokemon', pokemon);
	if (!pokemon.knownType || battle.dex.getImmunity('trapped', pokemon)) {
		battle.runEvent('MaybeTrapPokemon', pokemon);
	}
	if (battle.gen > 2) guessTrapping(battle, pokemon);
}

function disableMoves(battle, pokemon) {
	pokemon.maybeDisabled = false;
	pokemon.maybeLocked = false;
	const {moveSlots} = pokemon;
	for (let i = 0; i < moveSlots.length; i++) {
		moveSlots[i].disabled = false;
		moveSlots[i].disabledSource = '';
	}
	battle.runEvent('DisableMove', pokemon);
	const disabling = disablingMoves(battle.dex);
	if (disabling.size === 0) return;
	for (const moveSlot of pokemon.moveSlots) {
		if (!disabling.has(moveSlot.id)) continue;
		const move = battle.dex.moves.getByID(moveSlot.id);
		if (move.onDisableMove !== undefined) {
			battle.singleEvent('DisableMove', battle.dex.getActiveMove(move.id), null, pokemon);
		}
		if (move.flags['cantusetwice'] && pokemon.lastMove?.id === moveSlot.id) {
			pokemon.disableMove(pokemon.lastMove.id);
		}
	}
}

const disablingByDex = new WeakMap();

/** The ids of moves that can be disabled by what they are. */
function disablingMoves(dex) {
	let ids = disablingByDex.get(dex);
	if (ids === undefined) {
		const {Moves} = dex.data;
		ids = new Set(Object.keys(Moves).filter(id => Moves[id].onDisableMove || Moves[id].flags?.cantusetwice));
		disablingByDex.set(dex, ids);
	}
	return ids;
}

function forgetAttacks(pokemon) {
	for (let i = pokemon.attackedBy.length - 1; i >= 0; i--) {
		const attack = pokemon.attackedBy[i];
		if (attack.source.isActive) {
			attack.thisTurn = false;
		} else {
			pokemon.attackedBy.splice(pokemon.attackedBy.indexOf(attack), 1);
		}
	}
}

function showType(battle, pokemon) {
	const seen = pokemon.illusion || pokemon;
	const types = seen.getTypes(true).join('/');
	if (types === seen.apparentType) return;
	battle.add('-start', pokemon, 'typechange', types, '[silent]');
	seen.apparentType = types;
	if (pokemon.addedType) battle.add('-start', pokemon, 'typeadd', pokemon.addedType, '[silent]');
}

/** Marks the Pokemon as maybe trapped by abilities its foes could have, as a player would have to assume. */
function guessTrapping(battle, pokemon) {
	const {dex, ruleTable} = battle;
	// asking for immunity runs the Type event, whose listeners could tie and draw from the generator; in debug mode
	// every question is logged
	const mustAsk = battle.debugMode || mayBeHeard(battle, 'Type', pokemon);
	for (const source of pokemon.foes()) {
		const {species} = source.illusion || source;
		if (!species.abilities) continue;
		if (!mustAsk && !canTrap(dex, species)) continue;
		for (const slot in species.abilities) {
			const name = species.abilities[slot];
			if (name === source.ability) continue;
			if ((ruleTable.has('+hackmons') || !ruleTable.has('obtainableabilities')) && !battle.format.team) continue;
			if (slot === 'H' && species.unreleasedHidden) continue;
			const ability = dex.abilities.get(name);
			if (ruleTable.has('-ability:' + ability.id)) continue;
			if (pokemon.knownType && !dex.getImmunity('trapped', pokemon)) continue;
			battle.singleEvent('FoeMaybeTrapPokemon', ability, {}, pokemon, source);
		}
	}
}

const trappers = new WeakMap();

function canTrap(dex, species) {
	let known = trappers.get(dex);
	if (known === undefined) trappers.set(dex, known = new WeakMap());
	let answer = known.get(species);
	if (answer === undefined) {
		answer = Object.values(species.abilities)
			.some(name => dex.abilities.get(name).onFoeMaybeTrapPokemon !== undefined);
		known.set(species, answer);
	}
	return answer;
}

function centerLastPokemon(battle) {
	if (!battle.sides.every(side => side.pokemonLeft === 1)) return;
	const actives = battle.getAllActive();
	if (actives.length > 1 && !actives[0].isAdjacent(actives[1])) {
		battle.swapPosition(actives[0], 1, '[silent]');
		battle.swapPosition(actives[1], 1, '[silent]');
		battle.add('-center');
	}
}

function announceDynamax(battle) {
	for (const side of battle.sides) {
		if (!side.canDynamaxNow()) continue;
		if (battle.turn === 1) {
			battle.addSplit(side.id, ['-candynamax', side.id]);
		} else {
			battle.add('-candynamax', side.id);
		}
	}
}
