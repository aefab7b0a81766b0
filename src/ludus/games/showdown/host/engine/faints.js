'use strict';
/**
 * Battle#faintMessages without its delete.
 *
 * Stock code deletes `terastallized` from every Pokemon that faints, which turns one that had it into a hash table:
 * from then on all code that meets it is slow, or compiled again. Here the field is set to undefined, which nothing in
 * the simulator tells from absent.
 */

module.exports = function patchFaints({replace, Battle, toID}) {
	replace(Battle.prototype, 'faintMessages', '8f933159565c', () => function (
		lastFirst = false, forceCheck = false, checkWin = true
	) {
		if (this.ended) return undefined;
		const {faintQueue} = this;
		const {length} = faintQueue;
		if (!length) return !!(forceCheck && this.checkWin());
		if (lastFirst) faintQueue.unshift(faintQueue.pop());
		let last;
		while (this.faintQueue.length) {
			const left = this.faintQueue.length;
			last = this.faintQueue.shift();
			if (last.target.fainted || !this.runEvent('BeforeFaint', last.target, last.source, last.effect)) continue;
			faint(this, last, toID);
			if (this.faintQueue.length >= left) checkWin = true;
		}
		cancelActions(this);
		if (checkWin && this.checkWin(last)) return true;
		this.runEvent('AfterFaint', last.target, last.source, last.effect, length);
		return false;
	});

	replace(Battle.prototype, 'checkFainted', '14fa60ff94cf', () => function () {
		const {sides} = this;
		for (let i = 0; i < sides.length; i++) {
			const {active} = sides[i];
			for (let j = 0; j < active.length; j++) {
				if (!active[j].fainted) continue;
				active[j].status = 'fnt';
				active[j].switchFlag = true;
			}
		}
	});
};

function faint(battle, {target: pokemon, source, effect}, toID) {
	const {side} = pokemon;
	battle.add('faint', pokemon);
	if (side.pokemonLeft) side.pokemonLeft--;
	if (side.totalFainted < 100) side.totalFainted++;
	battle.runEvent('Faint', pokemon, source, effect);
	battle.singleEvent('End', pokemon.getAbility(), pokemon.abilityState, pokemon);
	battle.singleEvent('End', pokemon.getItem(), pokemon.itemState, pokemon);
	if (pokemon.formeRegression && !pokemon.transformed) {
		pokemon.baseSpecies = battle.dex.species.get(pokemon.set.species || pokemon.set.name);
		pokemon.baseAbility = toID(pokemon.set.ability);
	}
	pokemon.clearVolatile(false);
	pokemon.fainted = true;
	pokemon.illusion = null;
	pokemon.isActive = false;
	pokemon.isStarted = false;
	pokemon.terastallized = undefined;
	if (pokemon.formeRegression) {
		pokemon.details = pokemon.getUpdatedDetails();
		battle.add('detailschange', pokemon, pokemon.details, '[silent]');
		pokemon.updateMaxHp();
		pokemon.formeRegression = false;
	}
	pokemon.side.faintedThisTurn = pokemon;
}

/** In the first generations a faint ends the turn for others as well. */
function cancelActions(battle) {
	if (battle.gen <= 1) {
		battle.queue.clear();
	} else if (battle.gen <= 3 && battle.gameType === 'singles') {
		for (const pokemon of battle.getAllActive()) {
			if (battle.gen <= 2) battle.queue.cancelMove(pokemon);
			else battle.queue.cancelAction(pokemon);
		}
	}
}
