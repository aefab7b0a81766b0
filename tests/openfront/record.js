'use strict';
// OPENFRONT_HOME=... node tests/openfront/record.js: writes tests/data/openfront/updates.json.gz, the packed tile
// updates of a match on our own map, for tests that run without OpenFront.

const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');

const { islandMap } = require('./island_map.js');

const HOST = path.join(__dirname, '../../src/ludus/games/openfront/host');
const { loadCore } = require(path.join(HOST, 'checkout.js'));
const { wholeMap } = require(path.join(HOST, 'match.js'));
const { World } = require(path.join(HOST, 'world.js'));
const { SplitMix } = require('../../src/ludus/sdk/javascript');

const TICKS = 400;
const options = {
	seats: 1, team_size: 1, bots: 3, nations: 2, difficulty: 'medium', size: 'compact', overtime_minutes: 0,
};
const core = loadCore(process.env.OPENFRONT_HOME);
const world = new World(core, islandMap([[20, 25], [92, 40]]), options, new SplitMix(2));
const owned = wholeMap(world.map);
const first = [];
for (let i = 0; i < owned.length; i += 2) if (owned[i + 1] & 0xfff) first.push(owned[i], owned[i + 1]);
const ticks = [first];
world.onTiles = packed => ticks.push([...packed]);
world.tick([world.execution(0, { type: 'spawn', tile: 60 * 120 + 35 })]);
for (let tick = 1; tick < TICKS; tick++) {
	const attack = tick % 40 === 10 && world.players[0].isAlive();
	const troops = Math.floor(world.players[0].troops() / 5);
	world.tick(attack ? [world.execution(0, { type: 'attack', targetID: null, troops })] : []);
}
const players = world.game.allPlayers();
const text = JSON.stringify({ players: players.length, tiles: players.map(player => player.numTilesOwned()), ticks });
const file = path.join(__dirname, '../data/openfront/updates.json.gz');
fs.mkdirSync(path.dirname(file), { recursive: true });
fs.writeFileSync(file, zlib.gzipSync(text, { level: 9 }));
process.stdout.write(`${ticks.length} ticks, ${fs.statSync(file).size} bytes\n`);
