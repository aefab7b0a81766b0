'use strict';
/**
 * Static tables of one generation's dex: rows that observation ids point at, and the same facts as typed arrays.
 *
 * Row 0 of every table means "unknown". Rows depend on the dex alone, so they are equal for every match of a format.
 */

const TYPES = [
	'Normal', 'Fire', 'Water', 'Electric', 'Grass', 'Ice', 'Fighting', 'Poison', 'Ground', 'Flying', 'Psychic', 'Bug',
	'Rock', 'Ghost', 'Dragon', 'Dark', 'Steel', 'Fairy', 'Stellar',
];
const TYPE_COUNT = TYPES.length + 1;
const STATS = ['hp', 'atk', 'def', 'spa', 'spd', 'spe'];
const BOOSTS = ['atk', 'def', 'spa', 'spd', 'spe', 'accuracy', 'evasion'];
const STATUSES = ['brn', 'par', 'slp', 'frz', 'psn', 'tox'];
const CATEGORIES = ['Status', 'Physical', 'Special'];
const NONE = 1; // row of "no item" and "no ability"

// Absent from the dex, present in requests: gen 1's forced turn, and the turn after Hyper Beam.
const PSEUDO_MOVES = ['fight', 'recharge'];
const LEFT_OUT = new Set(['Future', 'CAP', 'Custom']);

const known = new WeakMap();

/** The tables of a dex; made once for each. */
function tablesOf(dex) {
	let tables = known.get(dex);
	if (!tables) known.set(dex, tables = new Tables(dex));
	return tables;
}

class Tables {
	constructor(dex) {
		this.dex = dex;
		this.gen = dex.gen;
		this.types = TYPES;
		this.typeIds = new Map(TYPES.map((type, i) => [type, i + 1]));
		this.effectiveness = effectivenessOf(dex);
		const listed = entries => entries.filter(entry => !LEFT_OUT.has(entry.isNonstandard));
		this.species = new Rows(listed(dex.species.all()), name => speciesIds(dex, name), 1);
		this.moves = new Rows(
			[...listed(dex.moves.all()).filter(move => !move.isZ && !move.isMax), ...PSEUDO_MOVES.map(pseudoMove)],
			name => moveIds(dex, name), 1);
		this.items = new Rows(dex.gen < 2 ? [] : listed(dex.items.all()), name => [dex.toID(name)], 2);
		this.abilities = new Rows(
			dex.gen < 3 ? [] : listed(dex.abilities.all()).filter(ability => ability.id !== 'noability'),
			name => [dex.toID(name)], 2);
		this.#fillSpecies();
		this.#fillMoves();
	}

	/** Published tables: name -> {shape, data: Float32Array}. */
	published() {
		return {
			species: rowsTable(this.species, SPECIES_COLUMNS),
			move: rowsTable(this.moves, MOVE_COLUMNS),
			item: {shape: [this.items.size, 1], data: Float32Array.from({length: this.items.size}, (_, i) => i)},
			ability: {shape: [this.abilities.size, 1], data: Float32Array.from({length: this.abilities.size}, (_, i) => i)},
			effectiveness: {shape: [TYPE_COUNT, TYPE_COUNT], data: this.effectiveness},
		};
	}

	#fillSpecies() {
		const {size} = this.species;
		this.speciesType1 = new Uint8Array(size);
		this.speciesType2 = new Uint8Array(size);
		this.baseStats = new Uint8Array(size * 6);
		this.weightKg = new Float32Array(size);
		this.soleAbility = new Uint16Array(size); // the only ability a species can have, 0 if it has several
		this.canEvolve = new Uint8Array(size);
		this.species.each((species, row) => {
			this.speciesType1[row] = this.typeIds.get(species.types[0]) ?? 0;
			this.speciesType2[row] = this.typeIds.get(species.types[1]) ?? 0;
			STATS.forEach((stat, i) => { this.baseStats[row * 6 + i] = species.baseStats[stat]; });
			this.weightKg[row] = species.weighthg / 10;
			this.canEvolve[row] = species.nfe ? 1 : 0;
			const abilities = Object.values(species.abilities);
			if (this.gen < 3) this.soleAbility[row] = NONE;
			else if (abilities.length === 1) this.soleAbility[row] = this.abilities.row(abilities[0]);
		});
	}

	#fillMoves() {
		const {size} = this.moves;
		this.movePp = new Uint8Array(size); // with all pp ups, as nearly every set has
		this.movePriority = new Int8Array(size);
		this.moveType = new Uint8Array(size);
		this.moveCategory = new Uint8Array(size);
		this.moveContact = new Uint8Array(size);
		this.moves.each((move, row) => {
			this.movePp[row] = move.noPPBoosts ? move.pp : Math.min(Math.floor(move.pp * 8 / 5), this.gen < 3 ? 61 : 64);
			this.movePriority[row] = move.priority;
			this.moveType[row] = this.typeIds.get(move.type) ?? 0;
			this.moveContact[row] = move.flags.contact ? 1 : 0;
			this.moveCategory[row] = CATEGORIES.indexOf(move.category);
		});
	}
}

/** Entries of a dex numbered from `first`; names in any spelling find their row. */
class Rows {
	#byName = new Map();
	#ids;

	constructor(entries, ids, first) {
		this.first = first;
		this.size = first + entries.length;
		this.entries = entries;
		this.ids = entries.map(idOf);
		this.byId = new Map(this.ids.map((id, i) => [id, first + i]));
		this.#ids = ids;
	}

	/** Row of a name or id, 0 if there is none. Each spelling is resolved once. */
	row(name) {
		const row = this.#byName.get(name);
		return row !== undefined ? row : this.#resolve(name);
	}

	#resolve(name) {
		let row = 0;
		for (const id of this.#ids(name)) if ((row = this.byId.get(id) ?? 0)) break;
		this.#byName.set(name, row);
		return row;
	}

	each(visit) {
		this.entries.forEach((entry, i) => visit(entry, this.first + i));
	}

	/** Ids in row order; rows before `first` are named by what they stand for. */
	names() {
		return [...['unknown', 'none'].slice(0, this.first), ...this.ids];
	}
}

/** Every typed Hidden Power has the id `hiddenpower`; its name tells them apart. */
function idOf(entry) {
	return entry.name.toLowerCase().replace(/[^a-z0-9]+/g, '');
}

function speciesIds(dex, name) {
	const species = dex.species.get(name.endsWith('-*') ? name.slice(0, -2) : name);
	return [species.id, dex.toID(species.baseSpecies)];
}

function moveIds(dex, name) {
	const id = dex.toID(name);
	const bare = id.replace(/\d+$/, ''); // requests write return102 and hiddenpowerfire70
	return [id, bare, dex.moves.get(id).id, dex.moves.get(bare).id];
}

function pseudoMove(id) {
	return {
		id, name: id, type: '???', category: 'Status', basePower: 0, accuracy: true, pp: 1, noPPBoosts: true, priority: 0,
		target: 'self', flags: {}, critRatio: 1,
	};
}

function effectivenessOf(dex) {
	const table = new Float32Array(TYPE_COUNT * TYPE_COUNT).fill(1);
	const exists = name => {
		const type = dex.types.get(name);
		return name !== 'Stellar' && type.exists && type.isNonstandard !== 'Future';
	};
	TYPES.forEach((attack, a) => TYPES.forEach((defend, d) => {
		if (!exists(attack) || !exists(defend)) return;
		const multiplier = dex.getImmunity(attack, defend) ? 2 ** dex.getEffectiveness(attack, defend) : 0;
		table[(a + 1) * TYPE_COUNT + d + 1] = multiplier;
	}));
	return table;
}

const SPECIES_COLUMNS = [
	...STATS.map((stat, i) => [`base_${stat}`, species => species.baseStats[STATS[i]] / 200]),
	['weight', species => Math.log2(1 + species.weighthg / 10) / 10],
	['can_evolve', species => species.nfe ? 1 : 0],
	...TYPES.map(type => [`type_${type.toLowerCase()}`, species => species.types.includes(type) ? 1 : 0]),
];

const FOE_TARGETS = new Set(['normal', 'any', 'adjacentFoe', 'randomNormal', 'scripted']);
const SPREAD_TARGETS = new Set(['allAdjacent', 'allAdjacentFoes', 'all']);
const ALLY_TARGETS = new Set(['adjacentAlly', 'adjacentAllyOrSelf', 'allies', 'allySide', 'allyTeam']);
const HAZARDS = new Set(['spikes', 'toxicspikes', 'stealthrock', 'stickyweb', 'gmaxsteelsurge']);
const SCREENS = new Set(['reflect', 'lightscreen', 'auroraveil']);
const CLEARING = new Set(['rapidspin', 'defog', 'mortalspin', 'tidyup', 'courtchange']);
const share = fraction => fraction ? fraction[0] / fraction[1] : 0;
const effectsOf = move => [...(move.secondaries ?? (move.secondary ? [move.secondary] : []))];

const chance = (move, matches) => Math.max(
	matches(move) ? 1 : 0, ...effectsOf(move).filter(matches).map(effect => (effect.chance ?? 100) / 100));

/** Expected stages of a stat by which a move boosts its user (`self`) or its target. */
function boostOf(move, stat, self) {
	const selfMove = move.target === 'self' || ALLY_TARGETS.has(move.target);
	let stages = (selfMove === self ? move.boosts?.[stat] : 0) ?? 0;
	if (self) stages += move.self?.boosts?.[stat] ?? move.selfBoost?.boosts?.[stat] ?? 0;
	for (const effect of effectsOf(move)) {
		const boosts = self ? effect.self?.boosts : effect.boosts;
		stages += (boosts?.[stat] ?? 0) * (effect.chance ?? 100) / 100;
	}
	return stages / 2;
}

const MOVE_COLUMNS = [
	['base_power', move => move.basePower / 150],
	['accuracy', move => move.accuracy === true ? 1 : move.accuracy / 100],
	...CATEGORIES.map(category => [category.toLowerCase(), move => move.category === category ? 1 : 0]),
	...TYPES.map(type => [`type_${type.toLowerCase()}`, move => move.type === type ? 1 : 0]),
	['priority', move => move.priority / 5],
	['pp', move => move.pp / 40],
	['target_self', move => move.target === 'self' ? 1 : 0],
	['target_foe', move => FOE_TARGETS.has(move.target) ? 1 : 0],
	['target_spread', move => SPREAD_TARGETS.has(move.target) ? 1 : 0],
	['target_ally', move => ALLY_TARGETS.has(move.target) ? 1 : 0],
	['drain', move => share(move.drain)],
	['recoil', move => share(move.recoil) + (move.mindBlownRecoil || move.struggleRecoil ? 0.5 : 0)],
	['heal', move => share(move.heal) || (move.flags.heal && !move.drain ? 0.5 : 0)],
	...STATUSES.map(status => [`inflicts_${status}`, move => chance(move, effect => effect.status === status)]),
	['inflicts_confusion', move => chance(move, effect => effect.volatileStatus === 'confusion')],
	['inflicts_flinch', move => chance(move, effect => effect.volatileStatus === 'flinch')],
	['inflicts_trap', move => chance(move, effect => effect.volatileStatus === 'partiallytrapped')],
	...BOOSTS.map(stat => [`boosts_self_${stat}`, move => boostOf(move, stat, true)]),
	...BOOSTS.map(stat => [`boosts_foe_${stat}`, move => boostOf(move, stat, false)]),
	...['contact', 'sound', 'protect', 'charge', 'recharge'].map(flag => [flag, move => move.flags[flag] ? 1 : 0]),
	['crit', move => move.willCrit ? 1 : (move.critRatio - 1) / 3],
	['hits', move => (Array.isArray(move.multihit) ? 3 : move.multihit ?? 1) / 5],
	['self_switch', move => move.selfSwitch ? 1 : 0],
	['force_switch', move => move.forceSwitch ? 1 : 0],
	['hazard', move => HAZARDS.has(move.sideCondition) ? 1 : 0],
	['clears_hazards', move => CLEARING.has(move.id) ? 1 : 0],
	['screen', move => SCREENS.has(move.sideCondition) || SCREENS.has(move.volatileStatus) ? 1 : 0],
	['weather', move => move.weather ? 1 : 0],
	['terrain', move => move.terrain ? 1 : 0],
	['stalling', move => move.stallingMove ? 1 : 0],
	['substitute', move => move.volatileStatus === 'substitute' ? 1 : 0],
	['leech_seed', move => move.volatileStatus === 'leechseed' ? 1 : 0],
	['self_destruct', move => move.selfdestruct ? 1 : 0],
	['ohko', move => move.ohko ? 1 : 0],
	['fixed_damage', move => move.damage || move.damageCallback ? 1 : 0],
];

function rowsTable(rows, columns) {
	const data = new Float32Array(rows.size * columns.length);
	rows.each((entry, row) => columns.forEach(([, value], i) => { data[row * columns.length + i] = value(entry); }));
	return {shape: [rows.size, columns.length], data};
}

module.exports = {
	tablesOf, TYPES, TYPE_COUNT, STATS, BOOSTS, STATUSES, NONE,
	columns: {species: SPECIES_COLUMNS.map(([name]) => name), move: MOVE_COLUMNS.map(([name]) => name)},
};
