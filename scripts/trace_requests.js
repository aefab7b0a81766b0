'use strict';
// Loaded before host.js (node --require): writes what each seat is told, one JSON line a decision, to the file
// LUDUS_TRACE. The host must keep the logs of its matches (`keep_log`), or the lines would be missing.

const fs = require('node:fs');
const path = require('node:path');
const { Match } = require(path.join(__dirname, '../src/ludus/games/showdown/host/matches.js'));

const file = fs.openSync(process.env.LUDUS_TRACE, 'a');
const ask = Match.prototype.ask;

Match.prototype.ask = function (seat, arrivals) {
	if (!this.setup.keepLog) throw new Error('the tracer reads the log of a match, and this host does not keep logs');
	ask.call(this, seat, arrivals);
	this.told ??= [0, 0];
	const lines = toldTo(seat, this.battle.log, this.told[seat]);
	this.told[seat] = this.battle.log.length;
	const request = this.battle.sides[seat].activeRequest;
	fs.writeSync(file, `${JSON.stringify({ match: this.number, seat, lines, request })}\n`);
};

/** The lines from `start` on as that player's client gets them. */
function toldTo(seat, log, start) {
	const lines = [];
	for (let i = start; i < log.length; i++) {
		if (!log[i].startsWith('|split|')) {
			lines.push(log[i]);
			continue;
		}
		lines.push(log[i] === `|split|p${seat + 1}` ? log[i + 1] : log[i + 2]);
		i += 2;
	}
	return lines;
}
