'use strict';
// The record of a match for its replay page: the map in picture cells, who holds them over time, and what seats chose.

const { ACTIONS, nameOf } = require('./actions.js');
const { MAGNITUDE, isOwnable } = require('./maps.js');

const SIDE = 144; // of the picture, at most

class Recording {
	constructor(world, mapFile) {
		this.world = world;
		const { width, height } = mapFile;
		const scale = Math.min(1, SIDE / Math.max(width, height));
		this.width = Math.max(1, Math.round(width * scale));
		this.height = Math.max(1, Math.round(height * scale));
		this.samples = Int32Array.from({ length: this.width * this.height }, (_, i) => {
			const x = Math.floor((i % this.width + 0.5) * width / this.width);
			const y = Math.floor((Math.floor(i / this.width) + 0.5) * height / this.height);
			return y * width + x;
		});
		const { terrain } = world.territory;
		const digit = land => (isOwnable(land) ? 1 + Math.floor((land & MAGNITUDE) / 10) : 0); // 0: nobody can own it
		this.terrain = Array.from(this.samples, tile => digit(terrain[tile]));
		this.owners = new Uint16Array(this.samples.length);
		this.map = mapFile.title;
		this.frames = [];
	}

	/** Add what happened since the last frame. `chosen` are {seat, action, ignored}. */
	add(chosen) {
		const { territory, game } = this.world;
		const changes = [];
		let last = 0;
		for (let i = 0; i < this.samples.length; i++) {
			const owner = territory.ownerOf(this.samples[i]);
			if (owner === this.owners[i]) continue;
			this.owners[i] = owner;
			changes.push(i - last, owner); // distances are shorter in JSON than places
			last = i;
		}
		const players = game.players().map(player => [player.smallID(), player.numTilesOwned(), Math.round(player.troops())]);
		const named = ({ action, isIgnored }) => `${nameOf(ACTIONS[action])}${isIgnored ? ' (ignored)' : ''}`;
		const choices = chosen.map(choice => [choice.seat, named(choice)]);
		this.frames.push({ t: game.ticks(), c: changes, p: players, a: choices });
	}

	/** Return the record as JSON. */
	text(winners) {
		const { world: { game, territory, players: seats }, width, height, terrain, frames, map } = this;
		const seatOf = player => seats.indexOf(player);
		const players = game.allPlayers().map(player => ({
			id: player.smallID(), name: player.name(), type: player.type(), seat: seatOf(player), team: player.team() ?? '',
		}));
		const picture = { map, width, height, land: territory.total, terrain: terrain.join('') };
		return JSON.stringify({ ...picture, players, winners, frames });
	}
}

module.exports = { Recording };
