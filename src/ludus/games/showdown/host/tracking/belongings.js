'use strict';
/** Abilities and items, as they are shown. */

const {NONE} = require('../tables');
const {changed, volatile} = require('./state');

// Lines in which [of] is not whose ability it is.
const OF_IS_ANOTHER = new Set(['waterabsorb', 'voltabsorb', 'dryskin', 'eartheater', 'pickpocket', 'magician', 'trace',
	'costar', 'wanderingspirit', 'receiver', 'powerofalchemy', 'cheekpouch', 'colorchange', 'sapsipper']);
const SWAPPING = new Set(['move: Trick', 'move: Switcheroo']);
// Whose [of] loses the item.
const TAKING = new Set(['thief', 'covet', 'magician', 'pickpocket', 'bestow']);

const handlers = {
	'-ability': ability,
	'-endability': tracker => {
		const mon = tracker.mon(0);
		if (mon === null) return;
		const shown = tracker.field(1);
		if (shown !== '' && !shown.startsWith('[')) reveal(tracker, mon, shown);
		volatile(mon, tracker.ids.gastroacid, 1);
		changed(mon);
	},
	'-item': item,
	'-enditem': endItem,
	'-immune': tracker => foiled(tracker, true),
	'-fail': tracker => foiled(tracker, false),
	'-block': tracker => {
		const mon = tracker.mon(0);
		const effect = tracker.field(1);
		if (mon === null) return;
		if (effect.startsWith('ability: ')) reveal(tracker, tracker.of() ?? mon, effect.slice(9));
		else if (effect.startsWith('item: ') && mon.item !== NONE) {
			mon.item = tracker.tables.items.row(effect.slice(6));
			changed(mon);
		}
	},
};

/** A Pokemon shows the ability it has now; it is its own unless something changed it. */
function reveal(tracker, mon, name) {
	const row = tracker.tables.abilities.row(name);
	if (row === 0 || mon.ability === row || tracker.asOne.has(mon.ability)) return; // As One shows its two halves
	if (mon.ability === mon.baseAbility) mon.baseAbility = row;
	if (row === tracker.gasRow) tracker.gas = true;
	mon.ability = row;
	changed(mon);
}

/** `[from] ability: X` and `[from] item: X` at the end of a line about `mon`. */
function revealFrom(tracker, mon, itemIsOfs = false) {
	if (!tracker.hasKeyword) return;
	const from = tracker.from();
	if (from.startsWith('ability: ')) {
		const id = tracker.effects.id(from);
		reveal(tracker, OF_IS_ANOTHER.has(id) ? mon : tracker.of() ?? mon, from.slice(9));
	} else if (from.startsWith('item: ')) {
		const holder = (itemIsOfs ? tracker.of() : null) ?? mon;
		if (from.includes('Berry')) return; // eaten, perhaps somebody else's: its -enditem has come before
		const row = tracker.tables.items.row(from.slice(6));
		if (holder.item !== NONE && row > 0 && holder.item !== row) {
			holder.item = row;
			changed(holder);
		}
	}
}

function ability(tracker) {
	const mon = tracker.mon(0);
	if (mon === null || tracker.has('[silent]')) return; // gen 3 tells Pressure to its owner alone
	const row = tracker.tables.abilities.row(tracker.field(1));
	const from = tracker.from();
	changed(mon);
	if (from === '') return reveal(tracker, mon, tracker.field(1));
	const source = tracker.effects.id(from);
	if (source === 'trace') {
		if (mon.ability === mon.baseAbility) mon.baseAbility = tracker.tables.abilities.row('trace');
		const traced = tracker.of();
		if (traced !== null) reveal(tracker, traced, tracker.field(1));
	}
	const old = tracker.tables.abilities.row(tracker.field(2));
	if (old > 0 && mon.ability === mon.baseAbility) mon.baseAbility = old;
	mon.ability = row;
	if (source === 'roleplay' || source === 'doodle' || source === 'receiver' || source === 'powerofalchemy') {
		const model = tracker.of();
		if (model !== null && model !== mon && !model.fainted) reveal(tracker, model, tracker.field(1));
	}
}

function item(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	const given = tracker.tables.items.row(tracker.field(1));
	const from = tracker.from();
	// Trick says whom it gave what after a White Herb that it gave has worked
	mon.item = mon === tracker.spender && given === tracker.spent && SWAPPING.has(from) ? NONE : given;
	changed(mon);
	if (from === '') return;
	const source = tracker.effects.id(from);
	if (from.startsWith('ability: ')) {
		reveal(tracker, source === 'frisk' ? tracker.of() ?? mon : mon, from.slice(9));
	}
	if (TAKING.has(source)) {
		const giver = tracker.of();
		if (giver !== null && giver !== mon) {
			giver.item = NONE;
			changed(giver);
		}
	}
}

function endItem(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	tracker.spender = mon;
	tracker.spent = tracker.tables.items.row(tracker.field(1));
	mon.item = NONE;
	changed(mon);
}

function foiled(tracker, isImmune) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	tracker.events.foil(mon, isImmune);
	revealFrom(tracker, mon);
}

module.exports = {handlers, reveal, revealFrom};
