'use strict';
// Masks, building sites, landings, rewards, options and loading of OpenFront's host, without OpenFront.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');

const { HEIGHT, WIDTH, islandMap } = require('../openfront/island_map.js');

const HOST = path.join(__dirname, '../../src/ludus/games/openfront/host');
const { ACTIONS, DIPLOMACY, KINDS, RIVALS, nameOf } = require(path.join(HOST, 'actions.js'));
const { CheckoutError, NEEDED, differences, loadCore } = require(path.join(HOST, 'checkout.js'));
const { landings } = require(path.join(HOST, 'coasts.js'));
const { isLegal } = require(path.join(HOST, 'legality.js'));
const { LAND, MapError, isOwnable, openMaps } = require(path.join(HOST, 'maps.js'));
const { leavesOf } = require(path.join(HOST, 'observe.js'));
const { OPTIONS } = require(path.join(HOST, 'options.js'));
const { TERMS, bySeat, earned, total, weightsOf } = require(path.join(HOST, 'rewards.js'));
const { isSpaced, sites } = require(path.join(HOST, 'sites.js'));
const { Statics } = require(path.join(HOST, 'statics.js'));
const { Cells, Territory } = require(path.join(HOST, 'territory.js'));
const { checkedOptions } = require('../../src/ludus/sdk/javascript/options.js');
const { Layout, Stored } = require('../../src/ludus/sdk/javascript/layout.js');

const map = islandMap();
const WEST = 1; // who owns the western island, all but its north, which belongs to player 2
const NORTH = 2;
const EAST = 3;

function settled() {
	const territory = new Territory(new Cells(WIDTH, HEIGHT, 8), map.bytes, 4);
	const updates = [];
	map.bytes.forEach((terrain, tile) => {
		if (!isOwnable(terrain)) return;
		const [x, y] = [tile % WIDTH, Math.floor(tile / WIDTH)];
		const owner = x > 67 ? (y < 40 ? EAST : 0) : y < 25 ? NORTH : WEST;
		updates.push(tile, owner | (terrain << 16));
	});
	territory.update(Uint32Array.from(updates));
	return territory;
}

const COAST = (() => {
	const tiles = [...map.bytes.keys()].filter(tile => (map.bytes[tile] & 0x40) && isOwnable(map.bytes[tile]));
	const isLake = tile => Math.hypot(tile % WIDTH - 30, Math.floor(tile / WIDTH) - 45) < 9;
	return {
		tiles: Int32Array.from(tiles), waters: Int32Array.from(tiles, tile => (isLake(tile) ? 7 : 1)),
		xs: Int32Array.from(tiles, tile => tile % WIDTH), ys: Int32Array.from(tiles, tile => Math.floor(tile / WIDTH)),
	};
})();

/** A seat of player WEST at a game of which only what masks read exists. */
function newSeat(more = {}) {
	const territory = settled();
	const rival = id => ({ smallID: () => id });
	const player = {
		troops: () => 1000, smallID: () => WEST, canAttackPlayer: () => true, outgoingAttacks: () => [],
		isFriendly: () => false,
		canSendAllianceRequest: () => true, isAlliedWith: () => false, allianceInfo: () => null, isOnSameTeam: () => false,
		hasEmbargoAgainst: () => false, ...more.player,
	};
	return {
		world: { territory, diplomacy: true, core: { UnitType: { City: 'City' } } }, id: WEST, player, isSpawning: false,
		places: [5, 6], rivals: [rival(NORTH), rival(EAST)], boats: [], own: [], gold: 0n,
		costs: { City: 100n, Port: 100n, DefensePost: 50n }, coasts: new Map([[EAST, { tile: 9 }]]), siteOf: () => 44,
		hasRequestOf: () => false, ...more.seat,
	};
}

const legal = seat => ACTIONS.filter(action => isLegal(seat, action)).map(nameOf);
const kinds = seat => new Set(ACTIONS.filter(action => isLegal(seat, action)).map(action => action.kind));

test('the list of actions is fixed: a change of its order needs a new schema', () => {
	assert.equal(ACTIONS.length, 1 + 36 + 18 + 6 + 5 + 9 + 1 + DIPLOMACY.length * RIVALS + 8);
	assert.deepEqual([0, 1, 5, 37, 55, 61, 66, 75, 76, 124].map(at => ACTIONS[at].kind), [
		'noop', 'attack', 'attack', 'boat', 'build', 'upgrade', 'retreat', 'recall', 'ally', 'spawn',
	]);
	assert.equal(nameOf(ACTIONS[6]), 'attack 1, 20%');
	assert.equal(new Set(ACTIONS.map(nameOf)).size, ACTIONS.length);
	assert.deepEqual(new Set(ACTIONS.map(action => action.kind)), new Set(KINDS));
});

test('an attack needs a common border, boats reach the other island', () => {
	const names = legal(newSeat());
	assert.ok(names.includes('attack 1, 50%'));
	assert.ok(!names.some(name => name.startsWith('attack 2') || name.startsWith('attack free')));
	assert.deepEqual(names.filter(name => name.startsWith('boat')), ['boat 2, 20%', 'boat 2, 50%']);
	assert.ok(!names.some(name => / [3-8],/.test(name)), 'slots without a rival');
});

test('friends and immune players are not attacked, and nobody without troops or a fourth boat', () => {
	assert.ok(!kinds(newSeat({ player: { canAttackPlayer: () => false } })).has('attack'));
	const poor = kinds(newSeat({ player: { troops: () => 1 } }));
	assert.ok(!poor.has('attack') && !poor.has('boat'));
	assert.ok(!kinds(newSeat({ seat: { boats: [{}, {}, {}].map(() => ({ isActive: () => false })) } })).has('boat'));
});

test('structures need gold and a site, upgrades a finished structure', () => {
	assert.ok(!kinds(newSeat()).has('build'));
	const city = { type: () => 'City', isMarkedForDeletion: () => false, level: () => 1 };
	const built = isNew => ({ unit: { ...city, isUnderConstruction: () => isNew } });
	const rich = { gold: 60n };
	assert.deepEqual(legal(newSeat({ seat: rich })).filter(name => name.startsWith('build')), ['build DefensePost']);
	assert.ok(!kinds(newSeat({ seat: { ...rich, siteOf: () => -1 } })).has('build'));
	assert.ok(!kinds(newSeat({ seat: { ...rich, own: [built(false)] } })).has('upgrade'));
	assert.ok(kinds(newSeat({ seat: { gold: 100n, own: [built(false)] } })).has('upgrade'));
	assert.ok(!kinds(newSeat({ seat: { gold: 100n, own: [built(true)] } })).has('upgrade'));
});

test('before the match a seat only chooses a place, afterwards never', () => {
	assert.deepEqual(legal(newSeat({ seat: { isSpawning: true } })), ['spawn 0', 'spawn 1']);
	assert.ok(!kinds(newSeat()).has('spawn'));
});

test('attacks and boats on their way can be called back once', () => {
	const target = () => ({ smallID: () => NORTH });
	const attack = isBack => ({ target, retreating: () => isBack, isActive: () => true });
	const names = state => legal(newSeat({ player: { outgoingAttacks: () => [attack(state)] } }));
	assert.ok(names(false).includes('retreat 1'));
	assert.ok(!names(true).includes('retreat 1'));
	const boat = isBack => ({ isActive: () => true, transportShipState: () => ({ isRetreating: isBack }) });
	assert.ok(kinds(newSeat({ seat: { boats: [boat(false)] } })).has('recall'));
	assert.ok(!kinds(newSeat({ seat: { boats: [boat(true)] } })).has('recall'));
});

test('diplomacy follows the state of alliances, and can be switched off', () => {
	const allied = {
		isAlliedWith: other => other.smallID() === NORTH, allianceInfo: () => ({ canExtend: true }),
		canSendAllianceRequest: () => false,
	};
	const names = legal(newSeat({ player: allied }));
	assert.ok(names.includes('betray 1') && names.includes('extend 1'));
	assert.ok(!names.includes('betray 2') && !names.includes('ally 1'));
	const off = newSeat({ player: allied });
	off.world.diplomacy = false;
	assert.ok(![...kinds(off)].some(kind => DIPLOMACY.includes(kind)));
	assert.ok(kinds(newSeat({ seat: { hasRequestOf: () => true } })).has('reject'));
	assert.ok(kinds(newSeat({ player: { hasEmbargoAgainst: () => true } })).has('trade'));
});

test('landings are the nearest shores over water that the player has a shore at', () => {
	const { found } = landings(settled(), COAST, WEST, 0);
	assert.deepEqual([...found.keys()].sort(), [0, NORTH, EAST]);
	assert.ok(found.get(EAST).tile % WIDTH > 67);
	assert.ok(found.get(EAST).distance < 25);
	assert.equal(landings(settled(), COAST, 4, 0).found.size, 0, 'a player without land');
	const territory = settled();
	const inland = (water, i) => (water === 1 && territory.ownerOf(COAST.tiles[i]) === WEST ? -1 : water);
	const lakeOnly = { ...COAST, waters: COAST.waters.map(inland) };
	assert.ok(![...landings(settled(), lakeOnly, WEST, 0).found.keys()].includes(EAST), 'a lake leads nowhere');
});

test('sites keep their distance from all structures, and ports lie at a shore', () => {
	const territory = settled();
	const player = {
		smallID: () => WEST, numTilesOwned: () => 1000,
		tiles: () => [...territory.state.keys()].filter(tile => territory.ownerOf(tile) === WEST),
	};
	const structures = [{ tile: 45 * WIDTH + 40 }, { tile: 20 * WIDTH + 35 }];
	const places = sites(territory, COAST, player, structures);
	for (const tile of Object.values(places)) {
		assert.equal(territory.ownerOf(tile), WEST);
		assert.ok(isSpaced(tile, structures, WIDTH));
	}
	assert.ok(map.bytes[places.port] & 0x40);
	assert.ok(Math.floor(places.border / WIDTH) < Math.floor(places.inner / WIDTH), 'nearer to the rival in the north');
	const crowded = [...Array(100).keys()].map(i => ({ tile: (8 * Math.floor(i / 10)) * WIDTH + 8 * (i % 10) }));
	assert.deepEqual(sites(territory, COAST, player, crowded), { inner: -1, border: -1, port: -1 });
	assert.equal(isSpaced(15, [{ tile: 0 }], WIDTH), true);
	assert.equal(isSpaced(14, [{ tile: 0 }], WIDTH), false);
});

test('on large land every tile is examined if none of the sample is a site', () => {
	const side = 200; // every third tile is in the sample, from the second on
	const territory = new Territory(new Cells(side, side, 8), new Uint8Array(side * side).fill(LAND | 3), 2);
	const tiles = [...territory.state.keys()].filter(tile => tile % side % 3 !== 1);
	territory.update(Uint32Array.from(tiles.flatMap(tile => [tile, WEST | (LAND | 3) << 16])));
	const player = { smallID: () => WEST, numTilesOwned: () => tiles.length, tiles: () => tiles };
	const { inner, border } = sites(territory, { ...COAST, tiles: [] }, player, []);
	assert.equal(territory.ownerOf(inner), WEST);
	assert.equal(territory.ownerOf(border), WEST);
});

test('rewards are the weighted sum of their terms; sparse ones only the result', () => {
	const weights = weightsOf({ land: 2, kill: 0.5, survival: 0.01, win: 3, loss: -4 }, false);
	const before = { land: 0.2, isAlive: true };
	assert.ok(Math.abs(total(earned(weights, before, { land: 0.3, isAlive: true }, 2, null)) - (0.2 + 1 + 0.01)) < 1e-9);
	const lost = earned(weights, before, { land: 0, isAlive: false }, 0, 'loss');
	assert.ok(Math.abs(total(lost) - (-0.4 - 4)) < 1e-9);
	assert.deepEqual([lost.land, lost.loss, lost.survival], [-0.4, -4, 0]);
	const sparse = weightsOf({}, true);
	assert.equal(total(earned(sparse, before, { land: 0.9, isAlive: true }, 3, 'win')), 1);
	assert.equal(total(earned(sparse, before, { land: 0.9, isAlive: true }, 3, null)), 0);
	assert.deepEqual(Object.keys(earned(sparse, before, before, 3, null)), ['win', 'loss'], 'only terms that count');
	assert.deepEqual(bySeat([{ win: 1, land: 2 }, { win: 0, land: 3 }]), { win: [1, 0], land: [2, 3] });
	assert.deepEqual(Object.keys(weightsOf({ win: 1 }, false)), TERMS);
	assert.equal(weightsOf({ win: 1 }, false).land, 0, 'given weights replace the defaults');
});

test('options are checked by name and range', () => {
	assert.deepEqual(checkedOptions({}, OPTIONS).maps, ['onion']);
	const wrong = { bots: -1, difficulty: 'brutal', maps: [], rewards: { wins: 1 }, ticks: 1, sparse: 1 };
	for (const [name, value] of Object.entries(wrong)) {
		assert.throws(() => checkedOptions({ [name]: value }, OPTIONS), new RegExp(`option ${name} must be`));
	}
	assert.throws(() => checkedOptions({ nation: 1 }, OPTIONS), /unknown option nation, did you mean nations/);
});

test('rows have the stated number of bytes', () => {
	const bytes = options => new Layout(leavesOf({ ...checkedOptions({}, OPTIONS), ...options })).bytes;
	assert.equal(bytes({ feature_set: 'summary' }), 1520);
	assert.equal(bytes({}), 1520 + 32 * 32 * 11);
	assert.equal(bytes({ grid: 64 }), 1520 + 64 * 64 * 11);
});

test('a stored leaf is copied, and refused if its bytes do not fit', () => {
	const layout = new Layout([['id', 'uint8', [1]], ['grid', 'fixed8', [4]], ['more', 'fixed16', [2]]]);
	const [plain, stored] = [new Uint8Array(layout.bytes + 8), new Uint8Array(layout.bytes + 8)];
	layout.pack({ id: [3], grid: [1, -0.5, 0, 0.25], more: [2, -1] }, plain, 8);
	const given = { grid: new Stored(Int8Array.from([64, -32, 0, 16])), more: new Stored(Int16Array.from([8192, -4096])) };
	layout.pack({ id: [3], ...given }, stored, 8);
	assert.deepEqual(plain, stored);
	const packed = grid => layout.pack({ id: [3], ...given, grid: new Stored(grid) }, stored, 8);
	assert.throws(() => packed(new Int16Array(4)), /stored in 8 bytes/);
	assert.throws(() => packed(new Int8Array(3)), /3 values, expected 4/);
});

test('variables that games share are swapped for each, also after an error', () => {
	const core = {
		NationMIRVBehavior: class { static recentMirvTargets = new Map(); },
		TransportShipExecution: class { static _staggerCounter = 5; }, TradeShipExecution: class {},
	};
	const [one, other] = [new Statics(core), new Statics(core)];
	one.during(() => { core.TransportShipExecution._staggerCounter += 3; });
	assert.throws(() => other.during(() => {
		core.TransportShipExecution._staggerCounter++;
		core.NationMIRVBehavior.recentMirvTargets.set('a', 1);
		throw new Error('a tick failed');
	}), /a tick failed/);
	one.during(() => {
		assert.equal(core.TransportShipExecution._staggerCounter, 3);
		assert.equal(core.NationMIRVBehavior.recentMirvTargets.size, 0);
	});
	other.during(() => assert.equal(core.TransportShipExecution._staggerCounter, 1));
});

test('a folder that is no checkout, and one without dependencies, are named in one line', () => {
	const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'openfront-'));
	const refused = pattern => assert.throws(() => loadCore(folder), error => {
		assert.ok(error instanceof CheckoutError);
		assert.match(error.message, pattern);
		assert.ok(!error.message.includes('\n'));
		return true;
	});
	try {
		refused(/no folder src\/core/);
		fs.mkdirSync(path.join(folder, 'src/core'), { recursive: true });
		refused(/has no file src\/core\/Schemas.ts/);
		for (const file of Object.keys(NEEDED)) {
			fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
			fs.writeFileSync(path.join(folder, file), '');
		}
		refused(/esbuild is missing .*npm ci/);
		fs.mkdirSync(path.join(folder, 'resources/maps/onion'), { recursive: true });
		const manifest = { map4x: { width: 2, height: 2 }, map16x: { width: 1, height: 1 } };
		fs.writeFileSync(path.join(folder, 'resources/maps/onion/manifest.json'), JSON.stringify(manifest));
		assert.throws(() => openMaps(folder, ['unions'], true), MapError);
		assert.throws(() => openMaps(folder, ['onion'], true), /has no map4x.bin/);
		fs.writeFileSync(path.join(folder, 'resources/maps/onion/map4x.bin'), 'abc');
		assert.throws(() => openMaps(folder, ['Onion'], true), /3 bytes for 2 x 2 tiles/);
	} finally {
		fs.rmSync(folder, { recursive: true });
	}
});

test('the probe names missing exports, methods, settings and intents', () => {
	const files = fakeCore();
	assert.deepEqual(differences(files), []);
	delete files['src/core/game/GameImpl.ts'].GameImpl.prototype.getWinner;
	delete files['src/core/configuration/Config.ts'].Config;
	assert.deepEqual(differences(files), [
		'Config of src/core/configuration/Config.ts', 'GameImpl.getWinner() of src/core/game/GameImpl.ts',
	]);
	const older = fakeCore({ drops: 'overtime', intents: ['attack', 'spawn'] });
	assert.match(differences(older).join('; '), /overtime of GameConfigSchema; the intent cancel_attack; the intent boat/);
});

/** What the probe looks at of a core that fits, without the settings in `drops` and with these intents only. */
function fakeCore({ drops = '', intents = null } = {}) {
	const files = {};
	for (const [file, names] of Object.entries(NEEDED)) {
		files[file] = {};
		for (const name of names) {
			const [exported, method] = name.split('.');
			files[file][exported] ??= class {};
			if (method) files[file][exported].prototype[method] = () => {};
		}
	}
	const all = [
		'attack', 'cancel_attack', 'spawn', 'boat', 'cancel_boat', 'allianceRequest', 'allianceReject', 'allianceExtension',
		'breakAlliance', 'embargo', 'build_unit', 'upgrade_structure',
	];
	const kept = config => Object.fromEntries(Object.entries(config).filter(([key]) => key !== drops));
	files['src/core/Schemas.ts'] = {
		GameConfigSchema: { safeParse: config => ({ success: true, data: kept(config) }) },
		IntentSchema: { options: (intents ?? all).map(value => ({ shape: { type: { value } } })) },
	};
	const units = ['City', 'Port', 'DefensePost', 'Factory', 'MissileSilo', 'SAMLauncher', 'TransportShip'];
	files['src/core/game/Game.ts'].UnitType = Object.fromEntries(units.map(unit => [unit, unit]));
	return files;
}
