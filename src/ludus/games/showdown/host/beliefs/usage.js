'use strict';
/**
 * Sets drawn from a file of usage statistics, for formats whose teams are made by players.
 *
 * The file is JSON in the form in which Smogon publishes its statistics ("chaos"): {"data": {"Great Tusk": {"Moves":
 * {"headlongrush": weight, ...}, "Abilities": {...}, "Items": {...}, "Tera Types": {...}}}}. It says nothing about
 * combinations, so moves, ability, item and tera type are drawn independently.
 */

const {randomFrom} = require('../random.js');
const fs = require('node:fs');
const { HostError } = require('../../../../sdk/javascript/frames.js');

const SETS = 256; // for each species
const MOVES = 4;
const MOST_BYTES = 256 * 1024 * 1024;

/** Return species id -> list of [weight, [moves], ability, item, tera type]. Throws HostError for any other file. */
function usageSets(file, tables) {
	const bySpecies = new Map();
	for (const [species, usage] of Object.entries(read(file))) {
		const row = tables.species.row(species);
		if (row === 0 || usage === null || typeof usage !== 'object') continue;
		const moves = column(usage.Moves, name => tables.moves.row(name));
		if (moves.length === 0) continue;
		const abilities = column(usage.Abilities, name => tables.abilities.row(name));
		const items = column(usage.Items, name => tables.items.row(name) || (name === 'nothing' ? 1 : 0));
		const teras = column(usage['Tera Types'], name => typeOf(name, tables));
		const random = randomFrom(row);
		const sets = [];
		for (let i = 0; i < SETS; i++) {
			const left = moves.slice();
			const own = [];
			while (own.length < MOVES && left.length > 0) own.push(left.splice(draw(left, random), 1)[0][0]);
			sets.push([1, own, ...[abilities, items, teras].map(ids => ids.length ? ids[draw(ids, random)][0] : 0)]);
		}
		bySpecies.set(row, sets);
	}
	if (bySpecies.size === 0) throw broken(file, 'it names no species of this format with moves');
	return bySpecies;
}

function read(file) {
	let data;
	try {
		if (fs.statSync(file).size > MOST_BYTES) throw new Error(`it has more than ${MOST_BYTES} bytes`);
		({ data } = JSON.parse(fs.readFileSync(file, 'utf8')));
	} catch (error) {
		throw broken(file, error.code ?? error.message);
	}
	if (data === null || typeof data !== 'object') throw broken(file, 'it has no object "data"');
	return data;
}

function broken(file, why) {
	return new HostError('configuration', `the usage file ${file} cannot be used: ${why}`);
}

/** [[id, weight], ...] of the names that exist in this generation. */
function column(weights, idOf) {
	if (weights === null || typeof weights !== 'object') return [];
	return Object.entries(weights)
		.map(([name, weight]) => [name === '' ? 0 : idOf(name), weight])
		.filter(([id, weight]) => id > 0 && Number.isFinite(weight) && weight > 0);
}

function typeOf(name, tables) {
	return tables.typeIds.get(name.charAt(0).toUpperCase() + name.slice(1)) ?? 0;
}

/** Draw an index of `ids` in proportion to the weights. */
function draw(ids, random) {
	let rest = random() * ids.reduce((sum, [, weight]) => sum + weight, 0);
	for (let i = 0; i < ids.length - 1; i++) if ((rest -= ids[i][1]) < 0) return i;
	return ids.length - 1;
}

module.exports = { usageSets };
