'use strict';
/** Battle#speedSort without an array for each position it fills. */

/** Sorts by Battle#comparePriority handlers whose fields are all numbers. */
function sortHandlers(battle, handlers) {
	sortWith(battle, handlers, compareHandlers);
}

function compareHandlers(a, b) {
	return a.order - b.order || b.priority - a.priority || b.speed - a.speed || a.subOrder - b.subOrder ||
		a.effectOrder - b.effectOrder;
}

function sortWith(battle, list, compare) {
	if (list.length < 2) return;
	if (list.length === 2) {
		const delta = compare(list[0], list[1]);
		if (delta > 0) swap(list, 0, 1);
		else if (delta === 0) battle.prng.shuffle(list, 0, 2);
		return;
	}
	const ties = [];
	for (let sorted = 0; sorted + 1 < list.length; sorted += ties.length) {
		ties.length = 0;
		ties.push(sorted);
		for (let i = sorted + 1; i < list.length; i++) {
			const delta = compare(list[ties[0]], list[i]);
			if (delta > 0) ties.length = 0;
			if (delta >= 0) ties.push(i);
		}
		for (let i = 0; i < ties.length; i++) {
			if (ties[i] !== sorted + i) swap(list, sorted + i, ties[i]);
		}
		if (ties.length > 1) battle.prng.shuffle(list, sorted, sorted + ties.length);
	}
}

function swap(list, i, j) {
	const item = list[i];
	list[i] = list[j];
	list[j] = item;
}

module.exports = {sortHandlers, sortWith};
