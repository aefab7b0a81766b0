'use strict';
/**
 * A Pokemon as it was at the start, which the simulator works out anew whenever one leaves or faints.
 *
 * Stock code looks the nature up once for each stat, also where there is none, goes over the stats by name, joins the
 * types twice and deletes what is not there. Here each stat is read where it is.
 */

module.exports = function patchStats({replace, Battle, Pokemon, ModdedDex}) {
	// the stock method takes a power and a floating-point remainder to cut a number off after some bits
	replace(ModdedDex.prototype, 'trunc', 'dc0bc4573ac2', stock => function (num, bits = 0) {
		if (!bits) return num >>> 0;
		return bits < 31 ? num & (1 << bits) - 1 : stock.call(this, num, bits);
	});

	const {statModify: stockStatModify} = Battle.prototype;
	replace(Battle.prototype, 'spreadModify', '057d71d1d189', stock => function (baseStats, set) {
		// some mods have a formula of their own
		if (this.statModify !== stockStatModify) return stock.call(this, baseStats, set);
		const {ivs, evs, level} = set;
		const {hp} = baseStats;
		const tr = this.trunc;
		const stats = {
			hp: tr(tr(2 * hp + ivs.hp + tr(evs.hp / 4) + 100) * level / 100 + 10),
			atk: neutral(tr, baseStats.atk, ivs.atk, evs.atk, level),
			def: neutral(tr, baseStats.def, ivs.def, evs.def, level),
			spa: neutral(tr, baseStats.spa, ivs.spa, evs.spa, level),
			spd: neutral(tr, baseStats.spd, ivs.spd, evs.spd, level),
			spe: neutral(tr, baseStats.spe, ivs.spe, evs.spe, level),
		};
		if (set.nature) {
			const {plus, minus} = this.dex.natures.get(set.nature);
			if (plus) stats[plus] = this.statModify(baseStats, set, plus);
			if (minus) stats[minus] = this.statModify(baseStats, set, minus);
		}
		return stats;
	});

	replace(Pokemon.prototype, 'setType', '9168fa957479', stock => function (newType, enforce = false) {
		if (!enforce || !Array.isArray(newType)) return stock.call(this, newType, enforce);
		this.types = newType;
		this.addedType = '';
		this.knownType = true;
		this.apparentType = joined(newType);
		return true;
	});

	replace(Pokemon.prototype, 'clearVolatile', '7c631ea6cc1c', () => function (includeSwitchFlags = true) {
		this.boosts = {atk: 0, def: 0, spa: 0, spd: 0, spe: 0, accuracy: 0, evasion: 0};
		this.moveSlots = this.baseMoveSlots.slice();
		this.transformed = false;
		this.ability = this.baseAbility;
		this.hpType = this.baseHpType;
		this.hpPower = this.baseHpPower;
		if (this.canTerastallize === false) this.canTerastallize = this.teraType;
		const {volatiles} = this;
		for (const id in volatiles) {
			const {linkedStatus, linkedPokemon} = volatiles[id];
			if (linkedStatus) this.removeLinkedVolatiles(linkedStatus, linkedPokemon);
		}
		this.volatiles = this.species.name === 'Eternatus-Eternamax' && volatiles['dynamax'] ?
			{dynamax: volatiles['dynamax']} : {};
		if (includeSwitchFlags) this.switchFlag = this.forceSwitchFlag = false;
		this.lastMove = null;
		this.lastMoveEncore = null;
		this.lastMoveUsed = null;
		this.moveThisTurn = '';
		this.moveLastTurnResult = undefined;
		this.moveThisTurnResult = undefined;
		this.lastDamage = 0;
		this.attackedBy = [];
		this.hurtThisTurn = null;
		this.newlySwitched = true;
		this.beingCalledBack = false;
		this.volatileStaleness = undefined;
		if (this.abilityState.started !== undefined) delete this.abilityState.started;
		if (this.itemState.started !== undefined) delete this.itemState.started;
		this.setSpecies(this.baseSpecies);
	});

	replace(Pokemon.prototype, 'setSpecies', '5edf7cb85576', () => function (
		rawSpecies, source = this.battle.effect, isTransform = false
	) {
		const {battle} = this;
		const species = battle.runEvent('ModifySpecies', this, null, source, rawSpecies);
		if (!species) return null;
		this.species = species;
		this.setType(species.types, true);
		this.apparentType = joined(rawSpecies.types);
		this.addedType = species.addedType || '';
		this.knownType = true;
		this.weighthg = species.weighthg;
		const stats = battle.spreadModify(species.baseStats, this.set);
		if (species.maxHP) stats.hp = species.maxHP;
		if (!this.maxhp) this.baseMaxhp = this.maxhp = this.hp = stats.hp;
		if (!isTransform) this.baseStoredStats = stats;
		fill(this.storedStats, stats);
		if (this.modifiedStats) fill(this.modifiedStats, stats);
		if (battle.gen <= 1) {
			if (this.status === 'par') this.modifyStat('spe', 0.25);
			if (this.status === 'brn') this.modifyStat('atk', 0.5);
		}
		this.speed = this.storedStats.spe;
		return species;
	});
};

/** Battle#statModify of any stat but HP, without a nature. */
function neutral(tr, base, iv, ev, level) {
	return tr(tr(2 * base + iv + tr(ev / 4)) * level / 100 + 5);
}

function fill(table, stats) {
	table.atk = stats.atk;
	table.def = stats.def;
	table.spa = stats.spa;
	table.spd = stats.spd;
	table.spe = stats.spe;
}

function joined(types) {
	if (types.length === 1) return types[0];
	return types.length === 2 ? `${types[0]}/${types[1]}` : types.join('/');
}
