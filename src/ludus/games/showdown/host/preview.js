'use strict';
// Team preview: the actions that pick which Pokemon to bring and which of them lead.

const TEAM_SIZE = 6;

/**
 * Returns for each preview action the team positions it picks, leads first. `picked` is how many Pokemon the format
 * brings (null: all), `shown` whether it has a team preview. The list is empty in singles where the whole team plays:
 * there, a switch action names the lead.
 */
function previewOrders(slots, picked, shown) {
	if (!shown || (slots === 1 && (!picked || picked >= TEAM_SIZE))) return [];
	const backs = picked && picked < TEAM_SIZE ? Math.max(picked - slots, 0) : 0;
	const positions = [0, 1, 2, 3, 4, 5];
	const orders = [];
	for (const leads of subsets(positions, slots)) {
		const rest = positions.filter(position => !leads.includes(position));
		for (const back of subsets(rest, backs)) orders.push([...leads, ...back]);
	}
	return orders;
}

/**
 * Returns the choice string of each preview action (`texts`) and the legal actions (`legal`) for a team of `team`
 * Pokemon. In teams of fewer than six, several actions have the same choice string; only the first of them is legal.
 */
function previewChoices(actionSet, team) {
	const texts = [];
	const legal = [];
	if (actionSet.preview.length === 0) {
		for (let i = 0; i < TEAM_SIZE; i++) {
			texts.push(`team ${i + 1}`);
			if (i < team) legal.push(actionSet.moveActions + i);
		}
		return { texts, legal };
	}
	const brought = Math.min(team, actionSet.previewPicks);
	const said = new Set();
	for (const [index, order] of actionSet.preview.entries()) {
		const present = order.filter(position => position < team);
		const text = `team ${present.map(position => position + 1).join(',')}`;
		texts.push(text);
		const leadsPresent = order.slice(0, actionSet.slots).every(position => position < team);
		if (leadsPresent && present.length === brought && !said.has(text)) {
			said.add(text);
			legal.push(actionSet.joint + index);
		}
	}
	return { texts, legal };
}

/** Returns all subsets of `size` items, in the order of `items`. */
function subsets(items, size) {
	if (size === 0) return [[]];
	return items.flatMap((item, i) => subsets(items.slice(i + 1), size - 1).map(rest => [item, ...rest]));
}

module.exports = { TEAM_SIZE, previewChoices, previewOrders };
