'use strict';
/**
 * The sets that a format's team generator makes, counted over many teams of fixed seeds.
 *
 * Counting takes seconds, so the result is kept in a file beside the installed simulator. It depends on the version of
 * the simulator and on nothing else: whoever counts gets the same file.
 */

const fs = require('node:fs');
const path = require('node:path');

const TEAMS = 8000;
const VERSION = 1; // of the file
const SEED = [20250, 1, 1, 1];
const MOST_BYTES = 16 * 1024 * 1024;

/** Return species id -> list of [weight, [moves], ability, item, tera type], or null if the format makes no teams. */
function generatedSets(sim, format, tables, simRoot) {
	if (!format.team) return null;
	const file = cacheFile(simRoot, format);
	const counted = read(file) ?? write(file, count(sim.Teams, format));
	return resolve(counted, tables);
}

/** Where a format's sets are kept: <cache>/beliefs/, beside the folder of the installed simulator. */
function cacheFile(simRoot, format) {
	const { version } = require(path.join(simRoot, 'package.json'));
	const installed = path.resolve(simRoot, '..', '..');
	return path.join(path.dirname(installed), 'beliefs', `${version}-${format.id}-${VERSION}.json`);
}

/** Count the sets of many teams: {species: {set: how often}}; a set is `moves|ability|item|tera type`. */
function count(Teams, format) {
	const generator = Teams.getGenerator(format, SEED);
	const species = {};
	for (let i = 0; i < TEAMS; i++) {
		for (const set of generator.getTeam()) {
			const key = [[...set.moves].sort().join(), set.ability ?? '', set.item ?? '', set.teraType ?? ''].join('|');
			const sets = species[set.species] ??= {};
			sets[key] = (sets[key] ?? 0) + 1;
		}
	}
	return species;
}

/** Replace names by the ids of the tables. */
function resolve(counted, tables) {
	const bySpecies = new Map();
	for (const [species, sets] of Object.entries(counted)) {
		const row = tables.species.row(species);
		if (row === 0) continue;
		const own = bySpecies.get(row) ?? [];
		for (const [key, weight] of Object.entries(sets)) {
			const [moves, ability, item, tera] = key.split('|');
			own.push([
				weight, moves.split(',').map(move => tables.moves.row(move)), tables.abilities.row(ability),
				item === '' ? 1 : tables.items.row(item), tables.typeIds.get(tera) ?? 0,
			]);
		}
		bySpecies.set(row, own);
	}
	return bySpecies;
}

/** The content of a file, or null if it is missing or no such file. */
function read(file) {
	try {
		if (fs.statSync(file).size > MOST_BYTES) return null;
		const { teams, species } = JSON.parse(fs.readFileSync(file, 'utf8'));
		const whole = teams === TEAMS && Object.values(species).every(
			sets => Object.entries(sets).every(([key, weight]) => key.split('|').length === 4 && weight > 0));
		return whole ? species : null;
	} catch {
		return null;
	}
}

/** Keep what was counted, if the folder can be written to, and return it. */
function write(file, species) {
	const partial = `${file}.${process.pid}`;
	try {
		fs.mkdirSync(path.dirname(file), { recursive: true });
		fs.writeFileSync(partial, JSON.stringify({ teams: TEAMS, species }));
		fs.renameSync(partial, file);
	} catch {
		fs.rmSync(partial, { force: true }); // the next host counts again
	}
	return species;
}

module.exports = { TEAMS, count, generatedSets, resolve };
