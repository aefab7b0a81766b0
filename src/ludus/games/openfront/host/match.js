'use strict';
// One match as the SDK plays it: turns in, actions out.

const { SplitMix, Stored } = require('../../../sdk/javascript');
const { ACTIONS } = require('./actions.js');
const { coastOf } = require('./coasts.js');
const { planned } = require('./intents.js');
const { isLegal } = require('./legality.js');
const { Observer } = require('./observe.js');
const { Recording } = require('./recording.js');
const { bySeat, earned, total, weightsOf } = require('./rewards.js');
const { Seat, spawnPlaces } = require('./seat.js');
const { Cells, Territory } = require('./territory.js');
const { BOT, FREE, FRIENDLY, OWN, RIVAL, View } = require('./view.js');
const { World } = require('./world.js');

const TICKS_PER_MINUTE = 600;
const DEFENCE = 'Defense Post';

class OpenFrontMatch {
	/** `maps` are the MapFiles to choose from; `keepLog` asks for a record for the replay page. */
	constructor(core, maps, options, keepLog) {
		Object.assign(this, { core, maps, options, keepLog });
		this.weights = weightsOf(options.rewards, options.sparse);
	}

	start(seed) {
		const { core, maps, options } = this;
		const random = new SplitMix(seed);
		const mapFile = maps[random.nextBelow(maps.length)];
		const world = new World(core, mapFile, options, random);
		mapFile.coast ??= coastOf(mapFile, world.game);
		const cells = new Cells(mapFile.width, mapFile.height, options.grid);
		Object.assign(world, { options, diplomacy: options.diplomacy });
		world.territory = new Territory(cells, mapFile.bytes, world.mostPlayers);
		world.territory.update(wholeMap(world.map));
		world.onTiles = packed => world.territory.update(packed);
		const places = spawnPlaces(world, random);
		this.world = world;
		this.seats = world.players.map((_, number) => new Seat(world, number, places));
		this.observers = this.seats.map(seat => new Observer(seat));
		this.views = options.feature_set === 'full'
			? this.seats.map(seat => new View(world.territory, this.#classes(seat))) : [];
		this.stored = this.views.map(view => new Stored(view.bytes));
		this.recording = this.keepLog ? new Recording(world, mapFile) : null;
		this.recording?.add([]);
		this.standing = this.seats.map(seat => this.#standing(seat));
		this.kills = this.seats.map(() => 0);
		return this.#ask({ reward: this.seats.map(() => 0) });
	}

	advance(actions) {
		const { world, options } = this;
		const plans = [];
		const chosen = Object.entries(actions).map(([seat, action]) => ({ seat: Number(seat), action, isIgnored: false }));
		for (const choice of chosen) {
			const plan = planned(this.seats[choice.seat], ACTIONS[choice.action]);
			if (plan === null) continue;
			const execution = world.execution(choice.seat, plan.intent);
			if (execution === null) choice.isIgnored = true;
			else plans.push({ ...plan, execution, choice });
		}
		for (let tick = 1; tick <= options.ticks && this.#isOpen(); tick++) {
			world.tick(tick === 1 ? plans.map(plan => plan.execution) : []);
			for (const { after, happened, execution, choice } of plans) {
				if (tick === after) choice.isIgnored = !happened(execution);
			}
		}
		this.#count(chosen);
		this.recording?.add(chosen);
		return this.#turn();
	}

	#count(chosen) {
		for (const { seat: number, action, isIgnored } of chosen) {
			const seat = this.seats[number];
			const { kind } = ACTIONS[action];
			seat.decisions++;
			seat.chosen[kind] = (seat.chosen[kind] ?? 0) + 1;
			if (isIgnored) seat.ignored[kind] = (seat.ignored[kind] ?? 0) + 1;
			this.observers[number].remember(action, isIgnored);
		}
	}

	/** Return whether the match goes on: no winner, a living seat and, with several sides of seats, two that live. */
	#isOpen() {
		const { world } = this;
		if (world.game.inSpawnPhase()) return true;
		return world.game.getWinner() === null && this.#sidesLeft().size >= (this.sides > 1 ? 2 : 1);
	}

	get sides() {
		return this.options.seats / this.options.team_size;
	}

	#sideOf(seat) {
		return Math.floor(seat.number / this.options.team_size);
	}

	/** Sides with a seat that lives. Before the first tick of the match, all seats live. */
	#sidesLeft() {
		return new Set(this.seats.filter(seat => seat.isAlive || !seat.player.hasSpawned()).map(seat => this.#sideOf(seat)));
	}

	#turn() {
		const { world, options, seats } = this;
		const isOpen = this.#isOpen();
		const isCut = isOpen && world.game.ticks() >= options.max_minutes * TICKS_PER_MINUTE;
		const winners = isOpen ? new Set() : this.#winningSeats();
		for (const { conquerorId } of world.conquests.splice(0)) {
			const seat = seats.find(each => each.player.id() === conquerorId);
			if (seat) this.kills[seat.number]++;
		}
		const terms = seats.map(seat => this.#earn(seat, isOpen, winners));
		const rewards = { reward: terms.map(total), terms: bySeat(terms) };
		if (isOpen && !isCut) return this.#ask(rewards);
		const score = seats.map(seat => (isCut ? (seat.isAlive ? 0.5 : 0) : winners.has(seat.number) ? 1 : 0));
		const ending = { score, ...rewards, facts: this.#facts(), log: this.#log() };
		if (!isCut) return ending;
		return { ...ending, truncated: true, obs: this.#observations(seats) };
	}

	#log() {
		return this.recording === null ? '' : this.recording.text(this.world.winners());
	}

	/** Return the numbers of the seats that won: by the game's rules, or as the last side of several. */
	#winningSeats() {
		const ids = this.world.winners();
		const byRule = this.seats.filter(seat => ids.includes(seat.id));
		if (ids.length > 0) return new Set(byRule.map(seat => seat.number));
		const left = this.#sidesLeft();
		if (this.sides < 2 || left.size !== 1) return new Set();
		return new Set(this.seats.filter(seat => left.has(this.#sideOf(seat))).map(seat => seat.number));
	}

	#standing(seat) {
		return { land: seat.player.numTilesOwned() / this.world.territory.total, isAlive: seat.isAlive };
	}

	#earn(seat, isOpen, winners) {
		const before = this.standing[seat.number];
		const after = this.#standing(seat);
		const died = before.isAlive && !after.isAlive;
		let result = null;
		if (!isOpen && winners.has(seat.number)) result = 'win';
		else if (!seat.isLost && (died || !isOpen)) result = 'loss';
		if (result === 'loss') seat.isLost = true;
		const terms = earned(this.weights, before, after, this.kills[seat.number] - seat.rewardedKills, result);
		seat.rewardedKills = this.kills[seat.number];
		this.standing[seat.number] = after;
		return terms;
	}

	#ask(rewards) {
		const seats = this.seats.filter(seat => seat.isAlive || this.world.game.inSpawnPhase());
		const obs = this.#observations(seats);
		const legal = seats.map(seat => {
			for (let i = 0; i < ACTIONS.length; i++) seat.mask[i] = isLegal(seat, ACTIONS[i]) ? 1 : 0;
			return seat.mask;
		});
		return { seats: seats.map(seat => seat.number), obs, legal, ...rewards };
	}

	#observations(seats) {
		const structures = this.#structures();
		this.world.structures = structures;
		return seats.map(seat => {
			seat.look(structures);
			const view = this.views[seat.number];
			if (view !== undefined) {
				view.reclass(this.#classes(seat));
				view.refresh(structures.map(({ tile, owner, range }) => ({ tile, range, isOwn: owner === seat.id })));
			}
			return this.observers[seat.number].observe(structures, view === undefined ? null : this.stored[seat.number]);
		});
	}

	/** Return the structures of all players as {tile, owner, unit, range}. */
	#structures() {
		const { game, core } = this.world;
		const range = game.config().defensePostRange();
		const found = [];
		for (const player of game.allPlayers()) {
			for (const unit of player.units()) {
				if (!core.Structures.has(unit.type())) continue;
				found.push({ tile: unit.tile(), owner: player.smallID(), unit, range: unit.type() === DEFENCE ? range : 0 });
			}
		}
		return found;
	}

	/** Return the class of every owner as a seat sees it. */
	#classes(seat) {
		const { world: { game, territory }, core: { PlayerType } } = this;
		const classes = new Uint8Array(territory.stride).fill(RIVAL);
		classes[0] = FREE;
		for (const player of game.allPlayers()) {
			if (player === seat.player) classes[player.smallID()] = OWN;
			else if (seat.player.isFriendly(player)) classes[player.smallID()] = FRIENDLY;
			else if (player.type() === PlayerType.Bot) classes[player.smallID()] = BOT;
		}
		return classes;
	}

	#facts() {
		const { world, seats } = this;
		const turns = Math.max(...seats.map(seat => seat.decisions));
		const facts = { turns, ticks: world.game.ticks(), refused_intents: world.refused };
		for (const seat of seats) {
			const at = seats.length > 1 ? `@${seat.number}` : '';
			const all = Object.values(seat.ignored).reduce((sum, count) => sum + count, 0);
			facts[`land${at}`] = this.standing[seat.number].land;
			facts[`kills${at}`] = this.kills[seat.number];
			facts[`ignored${at}`] = all;
			for (const kind of ['attack', 'boat', 'build']) {
				facts[`${kind}s${at}`] = seat.chosen[kind] ?? 0;
				facts[`ignored_${kind}s${at}`] = seat.ignored[kind] ?? 0;
			}
		}
		return facts;
	}
}

/** Return the state of a whole map as packed updates. */
function wholeMap(map) {
	const state = map.tileStateBuffer();
	const packed = new Uint32Array(2 * state.length);
	for (let tile = 0; tile < state.length; tile++) {
		packed[2 * tile] = tile;
		packed[2 * tile + 1] = state[tile] | (map.terrainByte(tile) << 16);
	}
	return packed;
}

module.exports = { OpenFrontMatch, wholeMap };
