// Showdown writes every message by itself: a turn of a battle is four writes, and as many times its players wake up.
// Here what goes to one connection in one turn of the event loop leaves in one write.
'use strict';

const http = require('node:http');

const ENOUGH_BYTES = 1 << 13; // are sent at once: players need not wait for the turns of all other battles

/** Gather what is written to a socket. */
function gather(socket) {
	const { write } = socket;
	let isGathering = false;
	const release = () => {
		if (!isGathering) return;
		isGathering = false;
		socket.uncork();
	};
	socket.write = function gathered(...given) {
		if (!isGathering) {
			isGathering = true;
			socket.cork();
			setImmediate(release);
		}
		const isBelow = write.apply(socket, given);
		if (socket.writableLength >= ENOUGH_BYTES) release();
		return isBelow;
	};
}

/** From now on, for the connections of every server that this process makes. */
function gatherWrites() {
	const { createServer } = http;
	http.createServer = (...given) => createServer(...given).on('connection', gather);
}

module.exports = { gather, gatherWrites };
