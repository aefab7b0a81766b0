'use strict';
// A hash of everything that an action can change. The core's own hash covers troops, tiles and units only.

const PRIME = 0x01000193;

/** Return the state of a game as 8 hexadecimal digits: tiles, players, diplomacy, attacks and units. */
function stateHash(game) {
	let hash = 0x811c9dc5;
	const add = text => {
		for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME);
	};
	for (const state of game.map().tileStateBuffer()) hash = Math.imul(hash ^ state, PRIME);
	add(`${game.ticks()} ${game.inSpawnPhase()}`);
	for (const player of game.allPlayers()) add(described(game, player));
	return (hash >>> 0).toString(16).padStart(8, '0');
}

function described(game, player) {
	const others = game.allPlayers().filter(other => other !== player);
	const attack = each => `${each.target().smallID()}:${each.troops()}:${each.retreating()}`;
	const unit = each => `${each.id()}:${each.type()}:${each.tile()}:${each.level()}:${each.isUnderConstruction()}`
		+ `:${each.troops()}:${each.type() === 'Transport' && each.transportShipState().isRetreating}`;
	const alliance = each => `${each.other(player).smallID()}:${each.expiresAt()}:${each.agreedToExtend(player)}`;
	return [
		player.smallID(), player.troops(), player.gold(), player.numTilesOwned(), player.isTraitor(),
		player.alliances().map(alliance), player.outgoingAllianceRequests().map(each => each.recipient().smallID()),
		player.getEmbargoes().map(each => `${each.target.smallID()}:${each.isTemporary}`),
		others.map(other => player.relation(other)), player.outgoingAttacks().map(attack), player.units().map(unit),
	].join('|');
}

module.exports = { stateHash };
