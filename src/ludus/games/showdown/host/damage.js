'use strict';
/**
 * Estimated damage of one move: the generation's formula with the average roll, and what both seats know to matter.
 *
 * An estimate, not a simulation: no rounding, and only the abilities and items that change damage most. Pass 0 for
 * whatever the seat does not know.
 */

const {TYPE_COUNT, STATUSES} = require('./tables');

const BURN = STATUSES.indexOf('brn') + 1;
const SLEEP = STATUSES.indexOf('slp') + 1;
const LEAST_ROLL = 0.85; // to 1, evenly
const ROLL = 0.925; // its mean
const NOT_ROLLED = -1; // in place of the chance of a critical hit: the damage is always the same
const PHYSICAL = 1;

// How a move's damage comes about.
const PLAIN = 0, NO_DAMAGE = 1, LEVEL = 2, FIXED = 3, HALF_HP = 4, OHKO = 5, RANDOM_LEVEL = 6, TARGET_WEIGHT = 7,
	USER_HP = 8, USER_LOW_HP = 9, BOTH_WEIGHTS = 10, STORED_POWER = 11, USES_DEFENSE = 12, USES_FOES_ATTACK = 13,
	HITS_DEFENSE = 14, TERA_BLAST = 15, NEEDS_SLEEP = 16, FREEZE_DRY = 17, FACADE = 18, HEX = 19;
const KINDS = {
	seismictoss: LEVEL, nightshade: LEVEL, sonicboom: FIXED, dragonrage: FIXED,
	superfang: HALF_HP, naturesmadness: HALF_HP,
	ruination: HALF_HP, psywave: RANDOM_LEVEL, lowkick: TARGET_WEIGHT, grassknot: TARGET_WEIGHT, eruption: USER_HP,
	waterspout: USER_HP, dragonenergy: USER_HP, reversal: USER_LOW_HP, flail: USER_LOW_HP, heavyslam: BOTH_WEIGHTS,
	heatcrash: BOTH_WEIGHTS, storedpower: STORED_POWER, powertrip: STORED_POWER, bodypress: USES_DEFENSE,
	foulplay: USES_FOES_ATTACK, psyshock: HITS_DEFENSE, psystrike: HITS_DEFENSE, secretsword: HITS_DEFENSE,
	terablast: TERA_BLAST, dreameater: NEEDS_SLEEP, freezedry: FREEZE_DRY, facade: FACADE, hex: HEX, infernalparade: HEX,
};
// Powers that a callback computes from things not followed here: a middling guess.
const GUESSED_POWER = {
	return: 102, frustration: 102, gyroball: 60, electroball: 70, magnitude: 71, present: 40, spitup: 100, trumpcard: 50,
	wringout: 60, crushgrip: 60, hardpress: 60, fling: 40, naturalgift: 70, punishment: 60, beatup: 40, hiddenpower: 60,
};

// [ability, type or *, factor]
const ATTACK_ABILITIES = [
	['transistor', 'Electric', 1.3], ['dragonsmaw', 'Dragon', 1.5],
	['steelworker', 'Steel', 1.5], ['rockypayload', 'Rock', 1.5],
	['waterbubble', 'Water', 2], ['steelyspirit', 'Steel', 1.5], ['sheerforce', '*', 1.15], ['toughclaws', '*', 1.2],
];
const DEFENSE_ABILITIES = [
	['levitate', 'Ground', 0], ['eartheater', 'Ground', 0], ['flashfire', 'Fire', 0], ['wellbakedbody', 'Fire', 0],
	['waterabsorb', 'Water', 0], ['stormdrain', 'Water', 0], ['dryskin', 'Water', 0], ['dryskin', 'Fire', 1.25],
	['voltabsorb', 'Electric', 0], ['motordrive', 'Electric', 0], ['lightningrod', 'Electric', 0],
	['sapsipper', 'Grass', 0],
	['thickfat', 'Fire', 0.5], ['thickfat', 'Ice', 0.5], ['heatproof', 'Fire', 0.5], ['waterbubble', 'Fire', 0.5],
	['purifyingsalt', 'Ghost', 0.5], ['fluffy', 'Fire', 2],
];
const PHYSICAL_ABILITIES = {hugepower: 2, purepower: 2, hustle: 1.5, gorillatactics: 1.5};
const PHYSICAL_ITEMS = {choiceband: 1.5, muscleband: 1.1, lifeorb: 1.3};
const SPECIAL_ITEMS = {choicespecs: 1.5, wiseglasses: 1.1, lifeorb: 1.3};
const TYPE_ITEMS = {
	silkscarf: 'Normal', charcoal: 'Fire', mysticwater: 'Water', magnet: 'Electric', miracleseed: 'Grass',
	nevermeltice: 'Ice',
	blackbelt: 'Fighting', poisonbarb: 'Poison', softsand: 'Ground', sharpbeak: 'Flying', twistedspoon: 'Psychic',
	silverpowder: 'Bug', hardstone: 'Rock', spelltag: 'Ghost', dragonfang: 'Dragon', blackglasses: 'Dark',
	metalcoat: 'Steel',
	fairyfeather: 'Fairy',
};

// What all moves of one Pokemon on another share: places in one array of numbers.
const LEVEL_FACTOR = 0, ATTACK = 1, SPECIAL_ATTACK = 2, DEFENSE = 3, SPECIAL_DEFENSE = 4,
	ON_PHYSICAL = 5, ON_SPECIAL = 6,
	CRITICAL = 7, HIGH_CRITICAL = 8, EQUIPMENT = 9, CRITICAL_FACTOR = 10, TERMS = 11;

const UNKNOWN_POWER = 80; // of a move nobody has seen yet

class Damage {
	constructor(tables, doubles) {
		this.tables = tables;
		this.gen = tables.gen;
		this.effectiveness = 1; // results of the last estimate
		this.stab = 0;
		this.terms = new Float64Array(TERMS);
		this.stages = 0; // the user's accuracy over the target's evasion
		this.hit = 0; // mean share of the target's full HP when it hits and is not critical
		this.critical = 0; // chance of a critical hit, or NOT_ROLLED
		this.aim = 1; // chance to hit
		this.expected = 0; // mean share of the target's full HP over all of this
		this.boostFactor = boostFactors(tables.gen);
		this.terrainFactor = tables.gen > 7 ? 1.3 : 1.5;
		this.#fillMoves(doubles);
		this.#fillAbilitiesAndItems();
	}

	#fillMoves(doubles) {
		const {tables, gen} = this;
		const {size} = tables.moves;
		this.power = new Float32Array(size);
		this.maxPower = new Float32Array(size);
		this.accuracy = new Float32Array(size).fill(1);
		this.criticalChance = new Float32Array(size);
		this.highCrit = new Uint8Array(size);
		this.kind = new Uint8Array(size).fill(NO_DAMAGE);
		this.amount = new Float32Array(size);
		this.sound = new Uint8Array(size);
		this.bullet = new Uint8Array(size);
		const manyHits = gen > 4 ? 3.1 : 3;
		tables.moves.each((move, row) => {
			this.accuracy[row] = move.accuracy === true ? 1 : move.accuracy / 100;
			this.sound[row] = move.flags.sound ? 1 : 0;
			this.bullet[row] = move.flags.bullet ? 1 : 0;
			if (move.category === 'Status') return;
			const power = move.basePower || GUESSED_POWER[move.id] || 0;
			this.kind[row] = move.ohko ? OHKO : KINDS[move.id] ?? (power > 0 ? PLAIN : NO_DAMAGE);
			const hits = Array.isArray(move.multihit) ? manyHits : move.multihit ?? 1;
			const spread = doubles && (move.target === 'allAdjacent' || move.target === 'allAdjacentFoes') ? 0.75 : 1;
			this.power[row] = power * hits * spread * (gen < 5 && move.selfdestruct ? 2 : 1);
			this.maxPower[row] = move.maxMove?.basePower ?? 0;
			this.amount[row] = typeof move.damage === 'number' ? move.damage : 0;
			this.highCrit[row] = move.critRatio > 1 ? 1 : 0;
			this.criticalChance[row] = move.willCrit ? 1 : move.critRatio > 1 ? 1 / 8 : 1 / (gen > 6 ? 24 : 16);
		});
	}

	#fillAbilitiesAndItems() {
		const {tables} = this;
		const {abilities, items, typeIds} = tables;
		const matrix = rows => new Float32Array(rows.size * TYPE_COUNT).fill(1);
		this.abilityAttack = matrix(abilities);
		this.abilityDefense = matrix(abilities);
		this.abilityPhysical = new Float32Array(abilities.size).fill(1);
		this.itemAttack = matrix(items);
		this.itemPhysical = new Float32Array(items.size).fill(1);
		this.itemSpecial = new Float32Array(items.size).fill(1);
		const put = (table, rows, name, type, factor) => {
			const row = rows.byId.get(name);
			if (row === undefined) return;
			if (type === '*') table.fill(factor, row * TYPE_COUNT, (row + 1) * TYPE_COUNT);
			else table[row * TYPE_COUNT + typeIds.get(type)] = factor;
		};
		for (const [name, type, factor] of ATTACK_ABILITIES) put(this.abilityAttack, abilities, name, type, factor);
		for (const [name, type, factor] of DEFENSE_ABILITIES) put(this.abilityDefense, abilities, name, type, factor);
		const typeItem = this.gen > 3 ? 1.2 : 1.1;
		for (const [name, type] of Object.entries(TYPE_ITEMS)) put(this.itemAttack, items, name, type, typeItem);
		const each = (table, rows, factors) => {
			for (const [name, factor] of Object.entries(factors)) if (rows.byId.has(name)) table[rows.byId.get(name)] = factor;
		};
		each(this.abilityPhysical, abilities, PHYSICAL_ABILITIES);
		each(this.itemPhysical, items, PHYSICAL_ITEMS);
		each(this.itemSpecial, items, SPECIAL_ITEMS);
		const of = (rows, name) => rows.byId.get(name) ?? -1;
		this.guts = of(abilities, 'guts');
		this.adaptability = of(abilities, 'adaptability');
		this.technician = of(abilities, 'technician');
		this.furCoat = of(abilities, 'furcoat');
		this.iceScales = of(abilities, 'icescales');
		this.wonderGuard = of(abilities, 'wonderguard');
		this.soundproof = of(abilities, 'soundproof');
		this.bulletproof = of(abilities, 'bulletproof');
		const flags = names => {
			const marked = new Uint8Array(abilities.size);
			for (const name of names) if (abilities.byId.has(name)) marked[abilities.byId.get(name)] = 1;
			return marked;
		};
		this.solid = flags(['solidrock', 'filter', 'prismarmor']);
		this.scaled = flags(['multiscale', 'shadowshield']);
		this.assaultVest = of(items, 'assaultvest');
		this.eviolite = of(items, 'eviolite');
		this.airBalloon = of(items, 'airballoon');
		this.expertBelt = of(items, 'expertbelt');
		this.quickItem = of(items, 'choicescarf');
	}

	/** Whether there is nothing to estimate: a status move, or one that is not known. */
	isHarmless(move) {
		return this.kind[move] === NO_DAMAGE;
	}

	/** Whether a move's estimate changes with its user's HP, or its target's. */
	followsUsersHp(move) {
		return this.kind[move] === USER_HP || this.kind[move] === USER_LOW_HP;
	}

	followsTargetsHp(move) {
		return this.kind[move] === HALF_HP;
	}

	/** What all moves of `user` on `target` share, who stands on side `hitSide`; `estimate` and `unknown` rely on it. */
	face(user, target, around, hitSide) {
		const {boostFactor, terms, gen} = this;
		const {boosts} = user;
		const guard = target.boosts;
		terms[LEVEL_FACTOR] = 0.4 * user.level + 2;
		terms[ATTACK] = user.atk * boostFactor[boosts[0] + 6];
		terms[SPECIAL_ATTACK] = user.spa * boostFactor[boosts[2] + 6];
		terms[DEFENSE] = target.def * boostFactor[guard[1] + 6];
		terms[SPECIAL_DEFENSE] = target.spd * boostFactor[guard[gen === 1 ? 2 : 3] + 6];
		terms[ON_PHYSICAL] = ROLL * around.physical[hitSide];
		terms[ON_SPECIAL] = ROLL * around.special[hitSide];
		this.stages = boosts[5] - guard[6];
		terms[CRITICAL_FACTOR] = this.criticalFactor(user.level);
		if (gen > 1) return;
		// by base speed, of which moves with many critical hits count eight times
		const speed = this.tables.baseStats[user.species * 6 + 5];
		terms[CRITICAL] = Math.min(1, speed / 512);
		terms[HIGH_CRITICAL] = Math.min(1, speed * 8 / 512);
	}

	/** By how much a critical hit does more; in gen 1 it doubles the level. */
	criticalFactor(level) {
		return this.gen > 5 ? 1.5 : this.gen > 1 ? 2 : 1 + level / (level + 5);
	}

	/** Estimates a move that is not harmless, after `face`; results are left in this object's fields. */
	estimate(user, move, target, around) {
		const {tables} = this;
		const kind = this.kind[move];
		let type = tables.moveType[move];
		let physical = tables.moveCategory[move] === PHYSICAL;
		if (kind === TERA_BLAST && user.tera > 0) {
			type = user.tera;
			if (this.terms[ATTACK] > this.terms[SPECIAL_ATTACK]) physical = true;
		}
		this.#multiply(type, kind, move, target);
		const {effectiveness} = this;
		const born = type > 0 && (type === user.born1 || type === user.born2);
		const stab = born || (type > 0 && type === user.tera);
		this.stab = stab ? 1 : 0;
		if (effectiveness === 0) {
			this.hit = this.expected = 0;
			return;
		}
		const {maxhp} = target;
		let hit = 0;
		let critical = NOT_ROLLED;
		switch (kind) {
		case LEVEL: hit = user.level / maxhp; break;
		case FIXED: hit = this.amount[move] / maxhp; break;
		case HALF_HP: hit = target.hp / 2; break;
		case OHKO: hit = 1; break;
		case RANDOM_LEVEL: hit = user.level * 0.75 / maxhp; break;
		default:
			this.#formula(user, move, target, around, kind, type, physical);
			hit = this.hit * effectiveness / maxhp;
			if (stab) hit *= user.tera === type && born ? 2 : user.ability === this.adaptability ? 2 : 1.5;
			if (this.gen > 1) critical = this.criticalChance[move];
			else critical = this.highCrit[move] ? this.terms[HIGH_CRITICAL] : this.terms[CRITICAL];
		}
		this.hit = hit;
		this.critical = critical;
		this.aim = this.stages === 0 ? this.accuracy[move] : this.#hitChance(move);
		this.expected = hit * this.aim;
		if (critical > 0) this.expected *= 1 + critical * (this.terms[CRITICAL_FACTOR] - 1);
	}

	/** Mean share of the target's full HP that a move nobody has seen yet may take: its user's best type and stat. */
	unknown(user, target, multiplier) {
		const {terms} = this;
		let physical = terms[ATTACK] / terms[DEFENSE];
		if (user.status === BURN) physical /= 2;
		const special = terms[SPECIAL_ATTACK] / terms[SPECIAL_DEFENSE];
		const ratio = physical > special ? physical : special;
		return (terms[LEVEL_FACTOR] * UNKNOWN_POWER * ratio / 50 + 2) * 1.5 * multiplier / target.maxhp;
	}

	// These leave what they work out in a field: a fraction that a call returns is an object on the heap.

	#multiply(type, kind, move, target) {
		const table = this.tables.effectiveness;
		const row = type * TYPE_COUNT;
		let multiplier = table[row + target.type1];
		if (target.type2 > 0) multiplier *= table[row + target.type2];
		if (target.addedType > 0) multiplier *= table[row + target.addedType];
		if (kind === FREEZE_DRY && (target.type1 === 3 || target.type2 === 3)) multiplier *= 4; // Water: 2 in place of 0.5
		const {ability} = target;
		if (ability > 1) {
			multiplier *= this.abilityDefense[ability * TYPE_COUNT + type];
			if (ability === this.wonderGuard && multiplier < 2 && type > 0) multiplier = 0;
			if (ability === this.soundproof && this.sound[move]) multiplier = 0;
			if (ability === this.bulletproof && this.bullet[move]) multiplier = 0;
		}
		this.effectiveness = type === 9 && target.item === this.airBalloon ? 0 : multiplier; // 9: Ground
	}

	#formula(user, move, target, around, kind, type, physical) {
		const {terms} = this;
		let power = user.dynamaxed && this.maxPower[move] > 0 ? this.maxPower[move] : this.power[move];
		let attack = physical ? terms[ATTACK] : terms[SPECIAL_ATTACK];
		let defense = physical ? terms[DEFENSE] : terms[SPECIAL_DEFENSE];
		switch (kind) {
		case PLAIN: break;
		case USES_FOES_ATTACK: attack = target.atk * this.boostFactor[target.boosts[0] + 6]; break;
		case USES_DEFENSE: attack = user.def * this.boostFactor[user.boosts[1] + 6]; break;
		case HITS_DEFENSE: defense = terms[DEFENSE]; break;
		case TARGET_WEIGHT: power = weightPower(this.tables.weightKg[target.species]); break;
		case USER_HP: power = Math.max(1, power * user.hp); break;
		case USER_LOW_HP: power = lowHpPower(user.hp); break;
		case BOTH_WEIGHTS:
			power = ratioPower(this.tables.weightKg[user.species], this.tables.weightKg[target.species]);
			break;
		case STORED_POWER: power = 20 * (1 + raised(user.boosts)); break;
		case FACADE: if (user.status > 0 && user.status !== SLEEP) power *= 2; break;
		case HEX: if (target.status > 0) power *= 2; break;
		}
		let factor = physical ? terms[ON_PHYSICAL] : terms[ON_SPECIAL];
		if (type > 0) {
			if (type === around.helped) factor *= 1.5;
			else if (type === around.hindered) factor *= 0.5;
			// 10: Flying
			if (type === around.terrainType && user.type1 !== 10 && user.type2 !== 10) factor *= this.terrainFactor;
		}
		if (around.sand && !physical && (target.type1 === 13 || target.type2 === 13)) factor /= 1.5; // 13: Rock
		if (around.snow && physical && (target.type1 === 6 || target.type2 === 6)) factor /= 1.5; // 6: Ice
		if (physical && user.status > 0) {
			if (user.ability === this.guts) factor *= 1.5;
			else if (user.status === BURN && kind !== FACADE) factor *= 0.5;
		}
		if (this.gen > 1) {
			this.#equip(user, target, type, physical, power);
			factor *= terms[EQUIPMENT];
		}
		if (kind === NEEDS_SLEEP && target.status !== SLEEP) factor = 0;
		this.hit = (terms[LEVEL_FACTOR] * power * attack / defense / 50 + 2) * factor;
	}

	#equip(user, target, type, physical, power) {
		let factor = 1;
		const {ability, item} = user;
		if (ability > 1) {
			factor *= this.abilityAttack[ability * TYPE_COUNT + type];
			if (physical) factor *= this.abilityPhysical[ability];
			if (ability === this.technician && power <= 60) factor *= 1.5;
		}
		if (item > 1) {
			factor *= this.itemAttack[item * TYPE_COUNT + type] * (physical ? this.itemPhysical[item] : this.itemSpecial[item]);
			if (item === this.expertBelt && this.effectiveness > 1) factor *= 1.2;
		}
		if (target.ability > 1) {
			if (physical ? target.ability === this.furCoat : target.ability === this.iceScales) factor *= 0.5;
			if (this.effectiveness > 1 && this.solid[target.ability]) factor *= 0.75;
			if (target.hp === 1 && this.scaled[target.ability]) factor *= 0.5;
		}
		if (target.item > 1) {
			if (!physical && target.item === this.assaultVest) factor /= 1.5;
			if (target.item === this.eviolite && this.tables.canEvolve[target.species]) factor /= 1.5;
		}
		this.terms[EQUIPMENT] = factor;
	}

	#hitChance(move) {
		const chance = this.accuracy[move];
		const {stages} = this;
		if (chance === 1 && this.gen > 1 && this.tables.moves.entries[move - 1].accuracy === true) return chance;
		const clipped = stages > 6 ? 6 : stages < -6 ? -6 : stages;
		return Math.min(1, chance * (clipped > 0 ? (3 + clipped) / 3 : 3 / (3 - clipped)));
	}
}

function boostFactors(gen) {
	const old = [25, 28, 33, 40, 50, 66, 100, 150, 200, 250, 300, 350, 400];
	return Float64Array.from({length: 13}, (_, i) => gen < 3 ? old[i] / 100 : i < 6 ? 2 / (8 - i) : (i - 4) / 2);
}

/** The chance that a hit takes at least `hp`. `hit` is its mean, both are shares of the target's full HP. */
function koChance(hit, critical, aim, factor, hp) {
	if (hit <= 0) return 0;
	if (critical === NOT_ROLLED) return hit >= hp ? aim : 0;
	return aim * ((1 - critical) * lethal(hit, hp) + critical * lethal(hit * factor, hp));
}

function lethal(hit, hp) {
	const roll = hp * ROLL / hit; // the least that is enough
	return roll <= LEAST_ROLL ? 1 : roll >= 1 ? 0 : (1 - roll) / (1 - LEAST_ROLL);
}

function weightPower(kg) {
	return kg < 10 ? 20 : kg < 25 ? 40 : kg < 50 ? 60 : kg < 100 ? 80 : kg < 200 ? 100 : 120;
}

function ratioPower(user, target) {
	const ratio = user / (target || 1);
	return ratio >= 5 ? 120 : ratio >= 4 ? 100 : ratio >= 3 ? 80 : ratio >= 2 ? 60 : 40;
}

function lowHpPower(hp) {
	return hp < 0.0417 ? 200 : hp < 0.1042 ? 150 : hp < 0.2083 ? 100 : hp < 0.3542 ? 80 : hp < 0.6875 ? 40 : 20;
}

function raised(boosts) {
	let sum = 0;
	for (let i = 0; i < 7; i++) if (boosts[i] > 0) sum += boosts[i];
	return sum;
}

module.exports = {Damage, koChance};
