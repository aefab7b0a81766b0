'use strict';
// One game of the core: set up from a seed, advanced by ticks, with the seats' intents.

const { Statics } = require('./statics.js');
const { stateHash } = require('./hash.js');

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const SPAWN_TICKS = 3; // before the seats choose a place; by then nations and bots have theirs

class World {
	/** `random` is a SplitMix; `options` are the host's. */
	constructor(core, mapFile, options, random) {
		this.core = core;
		this.mapFile = mapFile;
		this.statics = new Statics(core);
		this.gameID = code(random);
		this.clients = Array.from({ length: options.seats }, () => code(random));
		this.conquests = []; // of the last ticks: {conquerorId, conqueredId}
		this.refused = 0; // intents that the core's schema refused, which are never sent
		this.statics.during(() => this.#create(options, random));
		this.game.drainPackedTileUpdates();
		this.onTiles = () => {};
		for (let i = 0; i < SPAWN_TICKS; i++) this.tick([]);
	}

	#create(options, random) {
		const { core, mapFile, clients } = this;
		const config = gameConfig(core, mapFile, options);
		const { map, mini } = mapFile.fresh(core);
		const isTeams = config.gameMode === core.GameMode.Team;
		const humans = clients.map((client, seat) => new core.PlayerInfo(
			`Seat ${seat}`, core.PlayerType.Human, client, code(random), false, null, [],
			isTeams ? Math.floor(seat / options.team_size) : null,
		));
		const start = { gameID: this.gameID, config, players: [] };
		const pseudo = new core.PseudoRandom(random.nextBelow(1 << 30));
		const nations = core.createNationsForGame(
			start, mapFile.nations, mapFile.additionalNations, humans.length, pseudo,
		);
		this.game = core.createGame(humans, nations, map, mini, new core.Config(config, null, false), undefined);
		this.executor = new core.Executor(this.game, this.gameID, undefined);
		if (nations.length > 0) this.game.addExecution(...this.executor.nationExecutions());
		if (options.bots > 0) this.game.addExecution(...this.executor.spawnTribes(options.bots));
		this.game.addExecution(new core.WinCheckExecution());
		this.game.addExecution(new core.RecomputeRailClusterExecution(this.game.railNetwork()));
		this.players = clients.map(client => this.game.playerByClientID(client));
		this.mostPlayers = humans.length + nations.length + options.bots;
		this.map = map;
	}

	/**
	 * Return the execution of an intent, checked by the core's schema, to be passed to `tick`. Returns null, and counts
	 * it, if the schema refuses it: an invalid intent can make all later ticks throw.
	 */
	execution(seat, intent) {
		if (!this.core.IntentSchema.safeParse(intent).success) {
			this.refused++;
			return null;
		}
		return this.executor.createExec({ ...intent, clientID: this.clients[seat] });
	}

	/** Advance by one tick, in which these executions begin. */
	tick(executions) {
		const { game } = this;
		this.statics.during(() => {
			if (executions.length > 0) game.addExecution(...executions);
			const updates = game.executeNextTick();
			const conquests = updates[this.core.GameUpdateType.ConquestEvent];
			if (conquests?.length > 0) this.conquests.push(...conquests);
		});
		this.onTiles(game.drainPackedTileUpdates());
		game.drainPackedMotionPlans(); // these buffers grow until somebody takes them
		game.drainPackedPlayerUpdates();
		game.drainPackedAttackUpdates();
		game.drainNukeImpacts();
	}

	/** Return the smallIDs of the winners: one, or those of a team. Empty while there is none. */
	winners() {
		const winner = this.game.getWinner();
		if (winner === null) return [];
		if (typeof winner === 'object') return [winner.smallID()];
		return this.game.allPlayers().filter(player => player.team() === winner).map(player => player.smallID());
	}

	hash() {
		return stateHash(this.game);
	}
}

function gameConfig(core, mapFile, options) {
	const { seats, team_size: teamSize, overtime_minutes: overtime } = options;
	const isTeams = teamSize > 1;
	const title = name => name[0].toUpperCase() + name.slice(1);
	const config = {
		gameMap: mapFile.title, difficulty: core.Difficulty[title(options.difficulty)], donateGold: false,
		donateTroops: false, gameType: core.GameType.Singleplayer,
		gameMode: isTeams ? core.GameMode.Team : core.GameMode.FFA,
		gameMapSize: core.GameMapSize[title(options.size)],
		nations: options.nations > 0 ? options.nations : 'disabled', bots: options.bots, infiniteGold: false,
		infiniteTroops: false, instantBuild: false, randomSpawn: false, disabledUnits: [],
	};
	if (isTeams) config.playerTeams = seats === teamSize ? core.HumansVsNations : seats / teamSize;
	if (overtime > 0) config.overtime = { enabled: true, startMinutes: overtime };
	return config;
}

/** Return eight letters and digits, as games, clients and players are named. */
function code(random) {
	let text = '';
	for (let i = 0; i < 8; i++) text += LETTERS[random.nextBelow(LETTERS.length)];
	return text;
}

module.exports = { World };
