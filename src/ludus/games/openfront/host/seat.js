'use strict';
// One learning player: whom it can reach, which actions are legal, and the intent of each action.

const { ACTIONS, PLACES, RIVALS, STRUCTURES } = require('./actions.js');
const { landings } = require('./coasts.js');
const { isSite, sites } = require('./sites.js');

const MOST_BOATS = 3;
const SEARCH_EVERY = 4; // decisions between two searches for shores and sites; sites are sought at once if one is lost
const NOWHERE = Object.freeze({ inner: -1, border: -1, port: -1 });
const SITE_OF = { DefensePost: 'border', Port: 'port' }; // all others: inner

class Seat {
	constructor(world, number, places) {
		this.world = world;
		this.number = number;
		this.player = world.players[number];
		this.places = places; // tiles to spawn at
		this.rivals = []; // players in the slots of the table
		this.looks = 0;
		this.coasts = new Map(); // by owner: {tile, distance, from}
		this.source = 0; // an own shore tile
		this.sites = NOWHERE;
		this.mask = new Uint8Array(ACTIONS.length);
		this.decisions = 0;
		this.chosen = {}; // decisions by kind of action
		this.ignored = {}; // those that the game did not carry out
		this.isLost = false; // true once the seat was told of its loss
		this.rewardedKills = 0;
		this.recent = []; // own last decisions, newest first: {action, ignored}
	}

	get id() {
		return this.player.smallID();
	}

	get isAlive() {
		return this.player.isAlive();
	}

	/** Look at the game again, before a decision. `structures` are those of all players: {tile, unit, owner}. */
	look(structures) {
		const { world: { game, territory, mapFile, core }, player } = this;
		this.isSpawning = game.inSpawnPhase();
		this.boats = player.units(core.UnitType.TransportShip);
		this.#lookAtCoasts(territory, mapFile.coast, game.ticks());
		this.rivals = this.isSpawning ? [] : this.#ranked();
		this.own = structures.filter(each => each.owner === this.id);
		this.gold = player.gold();
		this.costs = {};
		for (const unit of STRUCTURES) this.costs[unit] = this.#cost(unit);
		const canPay = Object.values(this.costs).some(cost => cost <= this.gold);
		this.#lookForSites(canPay && !this.isSpawning, territory, mapFile.coast, structures);
		this.looks++;
	}

	/** Search for shores to land at. In between, drop those that changed hands, or all if the own shore was lost. */
	#lookAtCoasts(territory, coast, ticks) {
		if (this.isSpawning) return;
		const isKept = this.looks % SEARCH_EVERY > 0 && territory.ownerOf(this.source) === this.id;
		if (!isKept) {
			({ found: this.coasts, source: this.source } = landings(territory, coast, this.id, ticks));
			return;
		}
		for (const [owner, { tile, from }] of this.coasts) {
			if (territory.ownerOf(tile) !== owner || territory.ownerOf(from) !== this.id) this.coasts.delete(owner);
		}
	}

	#lookForSites(isWanted, territory, coast, structures) {
		if (!isWanted) {
			this.sites = NOWHERE;
			return;
		}
		const isLost = tile => tile >= 0 && !isSite(territory, this.id, tile, structures);
		const isKept = this.looks % SEARCH_EVERY > 0 && this.sites !== NOWHERE && !Object.values(this.sites).some(isLost);
		if (!isKept) this.sites = sites(territory, coast, this.player, structures);
	}

	#cost(unit) {
		const { game, core } = this.world;
		return game.config().unitInfo(core.UnitType[unit]).cost(game, this.player);
	}

	/** Neighbours by the length of the common border, then who can be reached by boat, nearest first, then the largest. */
	#ranked() {
		const { game, territory } = this.world;
		const others = game.players().filter(other => other !== this.player);
		const rank = other => {
			const border = territory.border(this.id, other.smallID());
			if (border > 0) return [2, border];
			const coast = this.coasts.get(other.smallID());
			return coast ? [1, -coast.distance] : [0, other.numTilesOwned()];
		};
		const ranked = others.map(other => ({ other, rank: rank(other) }));
		ranked.sort((a, b) => b.rank[0] - a.rank[0] || b.rank[1] - a.rank[1] || a.other.smallID() - b.other.smallID());
		return ranked.slice(0, RIVALS).map(each => each.other);
	}

	siteOf(unit) {
		return this.sites[SITE_OF[unit] ?? 'inner'];
	}

	hasRequestOf(rival) {
		return this.player.incomingAllianceRequests().some(request => request.requestor() === rival);
	}
}

/** Choose up to PLACES tiles of free land to spawn at: far from other players and from each other. */
function spawnPlaces(world, random) {
	const { territory, game } = world;
	const { width } = territory;
	const taken = game.allPlayers().filter(player => player.spawnTile() !== undefined).map(player => player.spawnTile());
	const drawn = [];
	for (let tries = 0; drawn.length < 4 * PLACES && tries < 4000; tries++) {
		const tile = random.nextBelow(territory.state.length);
		if (territory.isFree(tile) && roomAround(territory, tile) > 0.7) drawn.push(tile);
	}
	const squared = (a, b) => (a % width - b % width) ** 2 + (Math.floor(a / width) - Math.floor(b / width)) ** 2;
	const places = [];
	while (places.length < PLACES && drawn.length > 0) {
		const room = tile => Math.min(Infinity, ...[...taken, ...places].map(other => squared(tile, other)));
		const rooms = drawn.map(room);
		const best = rooms.indexOf(Math.max(...rooms));
		places.push(...drawn.splice(best, 1));
	}
	return places;
}

/** Return the share of free land among points around a tile. */
function roomAround(territory, tile) {
	const { width, height } = territory;
	const [x, y] = [tile % width, Math.floor(tile / width)];
	let [free, all] = [0, 0];
	for (let dy = -12; dy <= 12; dy += 4) {
		for (let dx = -12; dx <= 12; dx += 4) {
			all++;
			const [at, row] = [x + dx, y + dy];
			if (at >= 0 && row >= 0 && at < width && row < height && territory.isFree(row * width + at)) free++;
		}
	}
	return free / all;
}

module.exports = { MOST_BOATS, Seat, roomAround, spawnPlaces };
