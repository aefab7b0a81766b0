'use strict';
// What a seat observes: numbers of its own state, a table of rivals, its options, its last decisions, and the grid.
// OpenFront hides nothing from its clients: each of them simulates the whole game, so everything here is public.

const { ACTIONS, KINDS, RIVALS, STRUCTURES } = require('./actions.js');
const { CHANNELS } = require('./view.js');

const GLOBALS = [
	'spawning', 'time', 'left', 'land', 'rank', 'leader', 'bar', 'troops', 'fullness', 'income', 'gold', 'attacking',
	'attacked', 'boats', 'free', 'alive', 'humans', 'nations', 'bots',
	...STRUCTURES.map(unit => `levels_${unit}`), ...STRUCTURES.map(unit => `affords_${unit}`),
];
const RIVAL_COLUMNS = [
	'present', 'free_land', 'human', 'nation', 'bot', 'land', 'troops', 'strength', 'fullness', 'gold', 'border', 'coast',
	'allied', 'same_team', 'embargo_by', 'embargo_on', 'traitor', 'attacks', 'attacked', 'asks', 'asked',
	'alliance_left', 'relation', 'structures',
];
const OPTION_COLUMNS = ['share', 'strength', 'distance', 'x', 'y'];
const RECENT = 6; // own last decisions
const RECENT_COLUMNS = [...KINDS, 'rival', 'share', 'ignored'];
const ALLIANCE_TICKS = 3000;

/** Return the leaves of an observation, as HELLO lists them. */
function leavesOf({ feature_set: features, grid }) {
	const leaves = [
		['globals', 'fixed16', [GLOBALS.length]],
		['rivals', 'fixed16', [RIVALS + 1, RIVAL_COLUMNS.length]],
		['recent', 'fixed8', [RECENT * RECENT_COLUMNS.length]],
		['option_kind', 'uint8', [ACTIONS.length]],
		['option_rival', 'uint8', [ACTIONS.length]],
		['option_numbers', 'fixed8', [ACTIONS.length, OPTION_COLUMNS.length]],
	];
	if (features === 'full') leaves.push(['grid', 'fixed8', [grid, grid, CHANNELS.length]]);
	return leaves;
}

/** Return the parts of HELLO's layout that describe these leaves to nets and scripted players. */
function layoutOf({ feature_set: features }) {
	return {
		entities: { rivals: ['rivals'] }, options: ['option_kind', 'option_rival', 'option_numbers'],
		refers: { option_rival: 'rivals' }, ids: { option_kind: 'kinds' }, grids: features === 'full' ? ['grid'] : [],
		columns: { globals: GLOBALS, rivals: RIVAL_COLUMNS, recent: RECENT_COLUMNS, options: OPTION_COLUMNS, grid: CHANNELS },
		kinds: KINDS, actions: ACTIONS.map(({ kind, rival, share, unit }) => ({ kind, rival, share, unit })),
	};
}

/** One row per kind of action, for the ids in `option_kind`. */
function tablesOf() {
	const data = KINDS.flatMap((_, i) => KINDS.map((__, j) => (i === j ? 1 : 0)));
	return { kinds: { shape: [KINDS.length, KINDS.length], data } };
}

/** Writes the observations of one seat. The arrays are reused by its next observation. */
class Observer {
	constructor(seat) {
		this.seat = seat;
		this.globals = new Float64Array(GLOBALS.length);
		this.rivals = new Float64Array((RIVALS + 1) * RIVAL_COLUMNS.length);
		this.recent = new Float64Array(RECENT * RECENT_COLUMNS.length);
		this.numbers = new Float64Array(ACTIONS.length * OPTION_COLUMNS.length);
		ACTIONS.forEach(({ share }, i) => { this.numbers[i * OPTION_COLUMNS.length] = share; });
	}

	/** `grid` is a Stored leaf, or null without one. Call after `seat.look`. */
	observe(structures, grid) {
		const { seat } = this;
		const { territory: { total }, game } = seat.world;
		this.troops = seat.player.troops();
		this.most = game.config().maxTroops(seat.player);
		this.land = seat.player.numTilesOwned() / total;
		this.#writeRivals(structures, total);
		this.#writeGlobals(total);
		this.#writeRecent();
		this.#writeOptions();
		const obs = {
			globals: this.globals, rivals: this.rivals, recent: this.recent, option_kind: OPTION_KIND,
			option_rival: OPTION_RIVAL, option_numbers: this.numbers,
		};
		if (grid !== null) obs.grid = grid;
		return obs;
	}

	#writeGlobals(total) {
		const { seat, globals, troops, most } = this;
		const { game, options, core: { PlayerType } } = seat.world;
		const players = game.players();
		const lands = players.map(player => player.numTilesOwned() / total);
		const count = type => players.reduce((sum, player) => sum + (player.type() === type ? 1 : 0), 0);
		const sum = attacks => attacks.reduce((all, attack) => all + attack.troops(), 0);
		const left = Math.max(0, options.max_minutes * 600 - game.ticks());
		const income = seat.isSpawning ? 0 : game.config().troopIncreaseRate(seat.player);
		const levels = STRUCTURES.map(unit => levelOf(seat, unit));
		const bar = seat.isSpawning ? 80 : game.config().percentageTilesOwnedToWin(game.elapsedGameSeconds());
		const values = [
			seat.isSpawning ? 1 : 0, game.ticks() / 6000, left / 6000, this.land,
			lands.filter(land => land > this.land).length / 8, Math.max(0, ...lands), bar / 100, scaled(troops),
			troops / Math.max(1, most), income / Math.max(1, most) * 100,
			scaled(Number(seat.gold)), sum(seat.player.outgoingAttacks()) / Math.max(1, troops),
			sum(seat.player.incomingAttacks()) / Math.max(1, troops), seat.boats.length / 3,
			1 - lands.reduce((a, b) => a + b, 0),
			players.length / 16, count(PlayerType.Human) / 4, count(PlayerType.Nation) / 4, count(PlayerType.Bot) / 16,
			...levels.map(level => level / 4),
			...STRUCTURES.map(unit => Math.min(2, Number(seat.gold) / Number(seat.costs[unit]))),
		];
		values.forEach((value, i) => { globals[i] = clipped(value); });
	}

	#writeRivals(structures, total) {
		const { seat, rivals } = this;
		const { territory } = seat.world;
		rivals.fill(0);
		this.edge = 1;
		for (let owner = 0; owner < territory.stride; owner++) this.edge += territory.border(seat.id, owner);
		const owned = seat.world.game.players().reduce((sum, player) => sum + player.numTilesOwned(), 0);
		const free = 1 - owned / total;
		rivals[0] = free > 0 ? 1 : 0;
		rivals[1] = 1;
		rivals[5] = free;
		this.#writeReach(0, 0);
		const counts = new Map();
		for (const { owner } of structures) counts.set(owner, (counts.get(owner) ?? 0) + 1);
		seat.rivals.forEach((rival, i) => this.#writeRival(i + 1, rival, total, counts.get(rival.smallID()) ?? 0));
	}

	/** Write how a rival can be reached: by land, by boat, and the attacks on it. */
	#writeReach(slot, owner) {
		const { seat, rivals, troops } = this;
		const { territory } = seat.world;
		const at = slot * RIVAL_COLUMNS.length;
		const coast = seat.coasts.get(owner);
		const own = seat.player.outgoingAttacks().filter(attack => attack.target().smallID() === owner);
		rivals[at + 10] = territory.border(seat.id, owner) / this.edge;
		rivals[at + 11] = coast ? Math.max(0.1, 1 - coast.distance / Math.max(territory.width, territory.cells.height)) : 0;
		rivals[at + 18] = clipped(own.reduce((sum, attack) => sum + attack.troops(), 0) / Math.max(1, troops));
	}

	#writeRival(slot, rival, total, structures) {
		const { seat, rivals, troops } = this;
		const { game, core: { PlayerType } } = seat.world;
		const { player } = seat;
		const alliance = player.allianceWith(rival);
		const incoming = player.incomingAttacks().filter(attack => attack.attacker() === rival);
		const type = rival.type();
		const values = [
			1, 0, type === PlayerType.Human, type === PlayerType.Nation, type === PlayerType.Bot,
			rival.numTilesOwned() / total, scaled(rival.troops()), Math.log2((1 + rival.troops()) / (1 + troops)),
			rival.troops() / Math.max(1, game.config().maxTroops(rival)), scaled(Number(rival.gold())), 0, 0, alliance !== null,
			player.isOnSameTeam(rival), rival.hasEmbargoAgainst(player), player.hasEmbargoAgainst(rival), rival.isTraitor(),
			incoming.reduce((sum, attack) => sum + attack.troops(), 0) / Math.max(1, troops), 0, seat.hasRequestOf(rival),
			player.outgoingAllianceRequests().some(request => request.recipient() === rival),
			alliance === null ? 0 : (alliance.expiresAt() - game.ticks()) / ALLIANCE_TICKS, rival.relation(player) / 3,
			structures / 8,
		];
		const at = slot * RIVAL_COLUMNS.length;
		values.forEach((value, i) => { rivals[at + i] = clipped(Number(value)); });
		this.#writeReach(slot, rival.smallID());
	}

	#writeRecent() {
		const { recent, seat } = this;
		recent.fill(0);
		seat.recent.forEach(({ action, isIgnored }, i) => {
			const at = i * RECENT_COLUMNS.length;
			const { kind, rival, share } = ACTIONS[action];
			recent[at + KINDS.indexOf(kind)] = 1;
			recent[at + KINDS.length] = Math.max(0, rival) / RIVALS;
			recent[at + KINDS.length + 1] = share;
			recent[at + KINDS.length + 2] = isIgnored ? 1 : 0;
		});
	}

	#writeOptions() {
		const { seat, numbers, rivals } = this;
		const { width, cells: { height } } = seat.world.territory;
		for (const [i, { kind, rival, share, unit, place }] of ACTIONS.entries()) {
			const at = i * OPTION_COLUMNS.length;
			const tile = kind === 'spawn' ? seat.places[place] : kind === 'build' ? seat.siteOf(unit) : undefined;
			numbers[at + 1] = numbers[at + 2] = 0;
			if ((kind === 'attack' || kind === 'boat') && rival <= seat.rivals.length) {
				const row = rival * RIVAL_COLUMNS.length;
				numbers[at + 1] = Math.max(-1.9, Math.min(1.9, (Math.log2(share) - rivals[row + 7]) / 2));
				numbers[at + 2] = kind === 'boat' ? rivals[row + 11] : rivals[row + 10];
			}
			numbers[at + 3] = tile >= 0 ? (tile % width) / width : 0;
			numbers[at + 4] = tile >= 0 ? Math.floor(tile / width) / height : 0;
		}
	}

	/** Keep a decision for `recent`. */
	remember(action, isIgnored) {
		this.seat.recent.unshift({ action, isIgnored });
		if (this.seat.recent.length > RECENT) this.seat.recent.pop();
	}
}

const OPTION_KIND = Uint8Array.from(ACTIONS, ({ kind }) => KINDS.indexOf(kind));
const OPTION_RIVAL = Uint8Array.from(ACTIONS, ({ rival }) => rival + 1);

function levelOf(seat, unit) {
	const type = seat.world.core.UnitType[unit];
	return seat.own.reduce((sum, { unit: each }) => sum + (each.type() === type ? each.level() : 0), 0);
}

function scaled(amount) {
	return Math.log10(1 + amount) / 2;
}

function clipped(value) {
	return Math.max(-7.9, Math.min(7.9, value));
}

module.exports = { GLOBALS, OPTION_COLUMNS, Observer, RECENT_COLUMNS, RIVAL_COLUMNS, layoutOf, leavesOf, tablesOf };
