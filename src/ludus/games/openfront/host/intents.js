'use strict';
// What each action asks of the game, and how to tell whether the game has done it.

const { attackOn, boatOf, upgradable } = require('./legality.js');

/**
 * Return {intent, after, happened} of a legal action, or null for noop. `happened(execution)` tells, once `after` ticks
 * have passed, whether the game has done it.
 */
function planned(seat, action) {
	if (action.kind === 'noop') return null;
	return PLANS[action.kind](seat, action, action.rival > 0 ? seat.rivals[action.rival - 1] : null);
}

const PLANS = {
	attack(seat, { share }, rival) {
		const { player } = seat;
		const troops = Math.floor(player.troops() * share);
		const left = player.troops() - troops / 2;
		return {
			intent: { type: 'attack', targetID: rival?.id() ?? null, troops }, after: 1,
			happened: execution => execution.isActive() || player.troops() < left, // an opposing attack may absorb it
		};
	},

	boat(seat, { share }, rival) {
		const { tile } = seat.coasts.get(rival?.smallID() ?? 0);
		const troops = Math.floor(seat.player.troops() * share);
		return { intent: { type: 'boat', dst: tile, troops }, after: 1, happened: execution => execution.isActive() };
	},

	build(seat, { unit }) {
		const type = seat.world.core.UnitType[unit];
		const before = seat.player.unitsConstructed(type);
		return {
			intent: { type: 'build_unit', unit: type, tile: seat.siteOf(unit) }, after: 2,
			happened: () => seat.player.unitsConstructed(type) > before,
		};
	},

	upgrade(seat, { unit }) {
		const structure = upgradable(seat, unit);
		const level = structure.level();
		return {
			intent: { type: 'upgrade_structure', unit: structure.type(), unitId: structure.id() }, after: 1,
			happened: () => structure.level() > level,
		};
	},

	retreat(seat, _, rival) {
		const attack = attackOn(seat, rival);
		return {
			intent: { type: 'cancel_attack', attackID: attack.id() }, after: 2,
			happened: () => attack.retreating() || !attack.isActive(),
		};
	},

	recall(seat) {
		const boat = boatOf(seat);
		return {
			intent: { type: 'cancel_boat', unitID: boat.id() }, after: 2,
			happened: () => !boat.isActive() || boat.transportShipState().isRetreating,
		};
	},

	ally(seat, _, rival) {
		const { player } = seat;
		const asked = () => player.outgoingAllianceRequests().some(request => request.recipient() === rival);
		return {
			intent: { type: 'allianceRequest', recipient: rival.id() }, after: 1,
			happened: () => player.isAlliedWith(rival) || asked(),
		};
	},

	reject(seat, _, rival) {
		return {
			intent: { type: 'allianceReject', requestor: rival.id() }, after: 1, happened: () => !seat.hasRequestOf(rival),
		};
	},

	extend(seat, _, rival) {
		const alliance = seat.player.allianceWith(rival);
		const until = alliance.expiresAt();
		return {
			intent: { type: 'allianceExtension', recipient: rival.id() }, after: 1,
			happened: () => alliance.agreedToExtend(seat.player) || alliance.expiresAt() > until,
		};
	},

	betray(seat, _, rival) {
		return {
			intent: { type: 'breakAlliance', recipient: rival.id() }, after: 2,
			happened: () => !seat.player.isAlliedWith(rival),
		};
	},

	embargo(seat, _, rival) {
		return {
			intent: { type: 'embargo', targetID: rival.id(), action: 'start' }, after: 2,
			happened: () => seat.player.hasEmbargoAgainst(rival),
		};
	},

	trade(seat, _, rival) {
		return {
			intent: { type: 'embargo', targetID: rival.id(), action: 'stop' }, after: 2,
			happened: () => !seat.player.hasEmbargoAgainst(rival),
		};
	},

	spawn(seat, { place }) {
		const tile = seat.places[place];
		return { intent: { type: 'spawn', tile }, after: 2, happened: () => seat.player.hasSpawned() };
	},
};

module.exports = { planned };
