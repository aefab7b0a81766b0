'use strict';
// Teams for formats that do not make their own: a folder of text files, each an export, packed lines or a team
// builder's backup ("Teams" in docs/games/showdown.md). Every team passes Showdown's validator before the first match.

const fs = require('node:fs');
const path = require('node:path');
const { HostError } = require('../../../sdk/javascript/frames.js');

const SUFFIXES = ['.txt', '.team', '.packed'];
const LARGEST_TEAM = 6; // what the action set can name
const MOST_MOVES = 4;
const PROBLEMS_SHOWN = 8;

/** All teams of a folder, packed, in the order of their file names. Throws HostError of kind "configuration". */
function loadTeams(folder, format, { Teams, TeamValidator }) {
	const files = teamFiles(folder, format);
	const validator = TeamValidator.get(format.id);
	const teams = [];
	const problems = [];
	let passedOver = 0;
	for (const file of files) {
		const name = path.basename(file);
		const found = splitTeams(fs.readFileSync(file, 'utf8'));
		if (found.length === 0) problems.push(`${name}: no team in it`);
		for (const [index, entry] of found.entries()) {
			if (entry.format && entry.format !== format.id) {
				passedOver++;
				continue;
			}
			const label = found.length > 1 ? `${name}, team ${index + 1}${entry.title ? ` (${entry.title})` : ''}` : name;
			const team = Teams.import(entry.text);
			if (team && validator.gen <= 2) fillStatExperience(team);
			const reasons = team && team.length ? problemsOf(team, validator) : ['it is neither an export nor a packed team'];
			if (reasons.length) problems.push(`${label}: ${reasons.join('; ')}`);
			else teams.push(Teams.pack(team));
		}
	}
	if (problems.length) {
		const shown = problems.slice(0, PROBLEMS_SHOWN).join(' | ');
		const more = problems.length > PROBLEMS_SHOWN ? ` | and ${problems.length - PROBLEMS_SHOWN} more` : '';
		throw new HostError('configuration', `bad teams for ${format.id} in ${folder}: ${shown}${more}`);
	}
	if (teams.length === 0) {
		const why = `${passedOver} teams in ${folder} say that they are for other formats`;
		throw new HostError('configuration', `no team for ${format.id}: ${why}`);
	}
	return teams;
}

function teamFiles(folder, format) {
	let names;
	try {
		names = fs.readdirSync(folder);
	} catch (error) {
		throw new HostError('configuration', `the team folder ${folder} for ${format.id} cannot be read (${error.code})`);
	}
	const files = names.filter(name => SUFFIXES.includes(path.extname(name).toLowerCase())).sort();
	if (files.length === 0) {
		const wanted = `files ending in ${SUFFIXES.join(', ')}`;
		throw new HostError('configuration', `the team folder ${folder} for ${format.id} has no team; expected ${wanted}`);
	}
	return files.map(name => path.join(folder, name));
}

/** The teams in a text as {text, format, title}; the last two come from a "=== [format] title ===" line. */
function splitTeams(text) {
	const lines = text.replace(/\r/g, '').replace(/^\uFEFF/, '').split('\n');
	const filled = lines.filter(line => line.trim() !== '');
	if (filled.length && filled.every(line => line.includes('|'))) return filled.map(line => packedLine(line.trim()));
	const teams = [];
	let current = { text: '', format: '', title: '' };
	for (const line of lines) {
		const header = /^===\s*(?:\[([^\]]*)\]\s*)?(.*?)\s*===$/.exec(line.trim());
		if (header) {
			teams.push(current);
			current = { text: '', format: (header[1] || '').toLowerCase().replace(/[^a-z0-9]/g, ''), title: header[2] };
		} else {
			current.text += `${line}\n`;
		}
	}
	teams.push(current);
	return teams.filter(team => team.text.trim() !== '');
}

/** Backups write "format]title|packed team"; a bare packed team has no "]" before its first "|". */
function packedLine(line) {
	const bar = line.indexOf('|');
	const bracket = line.lastIndexOf(']', bar);
	if (bracket < 0) return { text: line, format: '', title: '' };
	const format = line.slice(0, bracket).toLowerCase();
	return { text: line.slice(bar + 1), format, title: line.slice(bracket + 1, bar) };
}

/** In gens 1 and 2 everybody has all of it and exports leave it out, as the team builder does. */
function fillStatExperience(team) {
	for (const set of team) {
		if (!set.evs || Object.values(set.evs).every(value => value === 0)) {
			set.evs = { hp: 252, atk: 252, def: 252, spa: 252, spd: 252, spe: 252 };
		}
	}
}

function problemsOf(team, validator) {
	if (team.length > LARGEST_TEAM) return [`it has ${team.length} Pokemon, actions can name ${LARGEST_TEAM}`];
	const crowded = team.find(set => set.moves.length > MOST_MOVES);
	if (crowded) return [`${crowded.species} has ${crowded.moves.length} moves, actions can name ${MOST_MOVES}`];
	return validator.validateTeam(team) || [];
}

module.exports = { loadTeams, splitTeams };
