'use strict';
// Which actions are legal for a seat. Cheap rules of our own where the core's take milliseconds (building, boats), and
// stricter than the core where it does harm instead of refusing: attacks on players without a common border.

const { MOST_BOATS } = require('./seat.js');

/** Return whether a seat may choose an action now, as it looked at the game last. */
function isLegal(seat, action) {
	if (seat.isSpawning) return action.kind === 'spawn' && seat.places[action.place] !== undefined;
	if (action.rival > seat.rivals.length) return false;
	return MAY[action.kind](seat, action, action.rival > 0 ? seat.rivals[action.rival - 1] : null);
}

const MAY = {
	noop: () => true,
	spawn: () => false, // only before the match begins

	attack(seat, { share }, rival) {
		const { world: { territory }, player } = seat;
		if (player.troops() * share < 1 || territory.border(seat.id, rival?.smallID() ?? 0) === 0) return false;
		return rival === null || player.canAttackPlayer(rival);
	},

	boat(seat, { share }, rival) {
		if (seat.player.troops() * share < 1 || seat.boats.length >= MOST_BOATS) return false;
		return seat.coasts.has(rival?.smallID() ?? 0) && (rival === null || seat.player.canAttackPlayer(rival));
	},

	build(seat, { unit }) {
		return seat.costs[unit] <= seat.gold && seat.siteOf(unit) >= 0;
	},

	upgrade(seat, { unit }) {
		return seat.costs[unit] <= seat.gold && upgradable(seat, unit) !== null;
	},

	retreat(seat, _, rival) {
		return attackOn(seat, rival) !== null;
	},

	recall(seat) {
		return boatOf(seat) !== null;
	},

	ally(seat, _, rival) {
		return seat.world.diplomacy && seat.player.canSendAllianceRequest(rival);
	},

	reject(seat, _, rival) {
		return seat.world.diplomacy && !seat.player.isFriendly(rival) && seat.hasRequestOf(rival);
	},

	extend(seat, _, rival) {
		return seat.world.diplomacy && (seat.player.allianceInfo(rival)?.canExtend ?? false);
	},

	betray(seat, _, rival) {
		return seat.world.diplomacy && seat.player.isAlliedWith(rival);
	},

	embargo(seat, _, rival) {
		return seat.world.diplomacy && !seat.player.isOnSameTeam(rival) && !seat.player.hasEmbargoAgainst(rival);
	},

	trade(seat, _, rival) {
		return seat.world.diplomacy && seat.player.hasEmbargoAgainst(rival);
	},
};

/** Return the own structure of that type with the lowest level that can be upgraded, or null. */
function upgradable(seat, unit) {
	const type = seat.world.core.UnitType[unit];
	let best = null;
	for (const { unit: each } of seat.own) {
		if (each.type() !== type || each.isUnderConstruction() || each.isMarkedForDeletion()) continue;
		if (best === null || each.level() < best.level()) best = each;
	}
	return best;
}

/** Return an attack on a rival (null: on free land) that can be called back, or null. */
function attackOn(seat, rival) {
	const target = rival?.smallID() ?? 0;
	const fits = each => each.target().smallID() === target && !each.retreating() && each.isActive();
	return seat.player.outgoingAttacks().find(fits) ?? null;
}

/** Return a boat that can be called back, or null. */
function boatOf(seat) {
	return seat.boats.find(boat => boat.isActive() && !boat.transportShipState().isRetreating) ?? null;
}

module.exports = { attackOn, boatOf, isLegal, upgradable };
