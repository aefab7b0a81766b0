'use strict';
// What a server says of the formats it plays.

const { suggestion } = require('../../../../sdk/javascript/options.js');

const LONGEST_NAME = 100;
const MOST_NAMES = 10_000;

/** The ids in a |formats| line: entries are "name,flags" between headings and ",column". */
function listedFormats(line) {
	const entries = line.split('|').slice(2).filter(entry => entry.indexOf(',') > 0 && entry.length <= LONGEST_NAME)
		.slice(0, MOST_NAMES);
	return entries.map(entry => entry.slice(0, entry.lastIndexOf(',')).toLowerCase().replace(/[^a-z0-9]/g, ''));
}

/** Why a server with this |formats| line cannot play the format, or null. Servers do not list what they hide. */
function whyUnlisted(format, line) {
	if (!format.searchShow && !format.challengeShow && !format.tournamentShow) return null;
	const listed = listedFormats(line);
	if (listed.length === 0 || listed.includes(format.id)) return null;
	return `the server does not know the format ${format.id}${suggestion(format.id, listed)}`;
}

module.exports = { listedFormats, whyUnlisted };
