'use strict';
// Lines of a battle's room, told apart by the letter after their bar: most of them need no closer look.

// No part of a battle, and no sign that the server works on it.
const TALK = /^\|(?:c|c:|chat|j|J|join|l|L|leave|n|N|name|raw|html|uhtml|uhtmlchange)\|/;
const TALKING = beginningWith('cjJlLnNrhu');
const MEANT = beginningWith('retsw'); // request, error, t:, turn, tie, sentchoice, win, and others

function isTalk(line) {
	return TALKING[line.charCodeAt(1)] === 1 && TALK.test(line);
}

/** Whether a line may be one that a battle itself looks at; all others are for its view only. */
function mayBeMeant(line) {
	return MEANT[line.charCodeAt(1)] === 1;
}

function beginningWith(letters) {
	const table = new Uint8Array(128);
	for (const letter of letters) table[letter.charCodeAt(0)] = 1;
	return table;
}

module.exports = { isTalk, mayBeMeant };
