'use strict';
/** Kinds of items and abilities that a Pokemon would have shown, or must have, by what it did: one bit each. */

const CHOICE = 1, LEFTOVERS = 2, BOOTS = 4, LIFE_ORB = 8, BALLOON = 16, ORB = 32, HALF_BERRY = 64, QUARTER_BERRY = 128,
	LUM = 256, CHESTO = 512, SCARF = 1024, HELMET = 2048, ANNOUNCED = 4096, WEATHER = 8192, GUARD = 16384,
	AIRBORNE = 32768;

const ITEMS = [
	[CHOICE, ['choiceband', 'choicespecs', 'choicescarf']], [SCARF, ['choicescarf']],
	[LEFTOVERS, ['leftovers', 'blacksludge']], [BOOTS, ['heavydutyboots']], [LIFE_ORB, ['lifeorb']],
	[BALLOON, ['airballoon']], [ORB, ['flameorb', 'toxicorb']], [HELMET, ['rockyhelmet']],
	[HALF_BERRY, ['sitrusberry', 'goldberry', 'berry', 'oranberry']],
	[QUARTER_BERRY, ['figyberry', 'iapapaberry', 'wikiberry', 'aguavberry', 'magoberry', 'salacberry', 'petayaberry',
		'liechiberry', 'starfberry', 'custapberry', 'apicotberry', 'ganlonberry']],
	[LUM, ['lumberry', 'miracleberry']], [CHESTO, ['chestoberry', 'mintberry']],
];
const ABILITIES = [
	[ANNOUNCED, ['intimidate', 'moldbreaker', 'teravolt', 'turboblaze', 'unnerve', 'airlock', 'cloudnine', 'fairyaura',
		'darkaura', 'swordofruin', 'beadsofruin', 'tabletsofruin', 'vesselofruin']],
	[WEATHER, ['drizzle', 'drought', 'sandstream', 'snowwarning', 'electricsurge', 'grassysurge', 'mistysurge',
		'psychicsurge', 'orichalcumpulse', 'hadronengine']],
	[GUARD, ['magicguard']], [AIRBORNE, ['levitate']],
];
const SINCE_GEN_4 = [[ANNOUNCED, ['pressure']]]; // gen 3 tells it to its owner alone
// Abilities under which a kind of item or ability would not show itself, or is not needed.
const EXCUSES = [[LIFE_ORB, ['sheerforce', 'magicguard']], [BOOTS, ['magicguard']], [HELMET, ['klutz']],
	[LEFTOVERS, ['klutz']], [SCARF, ['swiftswim', 'chlorophyll', 'sandrush', 'slushrush', 'surgesurfer', 'unburden']]];

const OF_ABILITIES = ANNOUNCED | WEATHER | GUARD | AIRBORNE;
const OF_ITEMS = ~OF_ABILITIES;

/** The kinds of each item, of each ability, and what each ability excuses, by their rows in the tables. */
class Kinds {
	constructor({abilities, gen, items}) {
		this.item = bits(items, ITEMS);
		this.ability = bits(abilities, gen > 3 ? [...ABILITIES, ...SINCE_GEN_4] : ABILITIES);
		this.excuse = bits(abilities, EXCUSES);
	}
}

function bits(rows, kinds) {
	const table = new Uint32Array(rows.size + 1);
	for (const [kind, names] of kinds) {
		for (const name of names) if (rows.byId.has(name)) table[rows.byId.get(name)] |= kind;
	}
	return table;
}

module.exports = {
	AIRBORNE, ANNOUNCED, BALLOON, BOOTS, CHESTO, CHOICE, GUARD, HALF_BERRY, HELMET, Kinds, LEFTOVERS, LIFE_ORB, LUM, ORB,
	OF_ABILITIES, OF_ITEMS, QUARTER_BERRY, SCARF, WEATHER,
};
