'use strict';
// What a Showdown server says in tests that have none: the opening of a battle, requests, and a socket.

const path = require('node:path');
const { HOST, HOSTING } = require('./simulator.js');
const { ArrivalBuffer } = require(path.join(HOSTING, 'frames.js'));
const { setUp } = require(path.join(HOST, 'setup.js'));
const { Connection } = require(path.join(HOST, 'server', 'connection.js'));

const FORMAT = 'gen1randombattle';

/** The set-up of a host that plays on a server. */
function serverSetup(keepLog) {
	const options = { feature_set: 'raw', format: FORMAT };
	return setUp(process.env.LUDUS_TEST_SIMULATOR, options, keepLog, { engine: 'server', options: {} });
}

/** The lines that open a battle of these two players. `room` are the lines that a server says about the room. */
function openingLines(one, two, room = []) {
	return [
		'|init|battle', ...room, '|t:|1', '|gametype|singles', `|player|p1|${one}`, `|player|p2|${two}`,
		'|teamsize|p1|1', '|teamsize|p2|1', '|gen|1', '|tier|[Gen 1] Random Battle', '|start',
		'|switch|p1a: Mew|Mew, L80|100/100', '|switch|p2a: Mew|Mew, L80|100/100', '|turn|1',
	];
}

/** A request for a move of the player in `seat`. */
function request(seat, rqid, more = {}) {
	const mon = {
		ident: `p${seat + 1}: Mew`, details: 'Mew, L80', condition: '300/300', active: true, moves: ['tackle', 'surf'],
		stats: { atk: 1, def: 1, spa: 1, spd: 1, spe: 1 }, baseAbility: 'noability', item: '', pokeball: 'pokeball',
	};
	const move = (name, id) => ({ move: name, id, pp: 20, maxpp: 20, target: 'normal', disabled: false });
	const active = [{ moves: [move('Tackle', 'tackle'), move('Surf', 'surf')] }];
	const side = { name: 'x', id: `p${seat + 1}`, pokemon: [mon] };
	return `|request|${JSON.stringify({ active, side, rqid, ...more })}`;
}

/** An empty buffer for the arrivals of one match. */
function newArrivals(setup) {
	return new ArrivalBuffer(2, setup.actionSet.maskBytes, setup.observer.nbytes);
}

class FakeSocket {
	constructor(url) {
		Object.assign(this, { url, sent: [] });
		FakeSocket.last = this;
	}

	send(text) {
		this.sent.push(text);
	}

	say(data) {
		this.onmessage({ data });
	}

	close() {}
}

/** Calls `act` while connections are made with fake sockets; `FakeSocket.last` is the latest. */
async function withFakeSockets(act) {
	const original = Connection.Socket;
	Connection.Socket = FakeSocket;
	try {
		return await act();
	} finally {
		Connection.Socket = original;
	}
}

module.exports = { FORMAT, FakeSocket, newArrivals, openingLines, request, serverSetup, withFakeSockets };
