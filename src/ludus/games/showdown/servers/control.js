// What ludus adds to a Showdown server, by its configuration: pages that say how it is, and an end with its parent.
//
//   GET  /ludus/status  {"pid": 812, "battles": 3}   battles is null in a network process of its own: it cannot know
//   POST /ludus/drain   no battle begins any more
//   POST /ludus/leave   {"left": true} and it exits, unless a battle is running
//
// Requests carry the token that the server was started with, in a header that no web page can send to another origin.
'use strict';

const TOKEN = process.env.LUDUS_SERVER_TOKEN;

const PAGES = {
	'GET /ludus/status': () => ({ pid: process.pid, battles: battles() }),
	'POST /ludus/drain': () => {
		close();
		return { drained: true };
	},
	'POST /ludus/leave': () => {
		if (battles() !== 0) return { left: false };
		close(); // in the same turn of the event loop as the count: no battle begins before the exit
		return { left: true };
	},
};

/** Showdown calls it before it looks for a file; true: answered. */
function customhttpresponse(request, response) {
	const page = PAGES[`${request.method} ${request.url}`];
	if (!page || !TOKEN || request.headers['x-ludus'] !== TOKEN) return false;
	const answer = page();
	const body = JSON.stringify(answer);
	response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length, connection: 'close' });
	response.end(body, () => {
		if (answer.left) process.exit(0);
	});
	return true;
}

/** Rooms with a battle that has not ended, also where a player is away: it may come back to it. */
function battles() {
	if (!global.Rooms?.global) return null;
	let running = 0;
	for (const room of Rooms.rooms.values()) {
		if (room.type === 'battle' && room.game && !room.game.ended) running++;
	}
	return running;
}

function close() {
	if (global.Rooms?.global) Rooms.global.lockdown = true;
}

/** Showdown calls it when it has started, before the first request. The first connection would wait for this else. */
function startuphook() {
	if (process.env.LUDUS_SERVER_WARM && global.Rooms?.global) void Rooms.global.formatListText;
}

// The other end of stdin is the parent's alone: its end is the parent's end, on every system.
process.stdin.on('error', () => process.exit(0));
process.stdin.on('end', () => process.exit(0));
process.stdin.resume();

module.exports = { customhttpresponse, startuphook };
