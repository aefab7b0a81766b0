'use strict';
// Battles of the simulator as their players are told them on a server.

const path = require('node:path');
const { SplitMix, startBattle } = require('./simulator.js');
const { extractChannelMessages } = require(path.join(process.env.LUDUS_TEST_SIMULATOR, 'dist', 'sim', 'battle.js'));

const LONGEST = 40; // turns

/** A battle between Agent (p1) and Stranger (p2): for each of them a list of messages, which are lists of lines. */
function transcripts(formatId, seed) {
	const battle = startBattle(formatId, new SplitMix(seed));
	const told = [[['|init|battle', '|title|x', '|j|Agent']], [['|init|battle', '|title|x', '|j|Agent']]];
	let sent = 0;
	let rqid = 0;
	const tell = () => {
		const channels = extractChannelMessages(battle.log.slice(sent).join('\n'), [1, 2]);
		sent = battle.log.length;
		rqid += 2;
		for (const [seat, messages] of told.entries()) {
			const lines = channels[seat + 1].join('\n').split('\n').map(named);
			if (messages.length === 1) messages[0].push(...lines);
			else messages.push(lines);
			const request = battle.sides[seat].activeRequest;
			if (request && !battle.ended) messages.push([`|request|${JSON.stringify({ ...request, rqid })}`]);
		}
	};
	tell();
	while (!battle.ended && battle.turn < LONGEST) {
		battle.makeChoices();
		tell();
	}
	if (!battle.ended) for (const messages of told) messages.push(['|win|Agent']);
	return told;
}

function named(line) {
	return line.replace(/^\|player\|p1\|p1\|/, '|player|p1|Agent|').replace(/^\|player\|p2\|p2\|/, '|player|p2|Stranger|')
		.replace(/^\|win\|p1$/, '|win|Agent').replace(/^\|win\|p2$/, '|win|Stranger');
}

module.exports = { transcripts };
