'use strict';
// What a host and its fleet say to each other, for tests that stand in for the fleet.

const path = require('node:path');
const { HOSTING } = require('./simulator.js');
const { KIND } = require(path.join(HOSTING, 'frames.js'));

/** A frame of a host in words. */
function decoded({ kind, body }, host) {
	if (kind === KIND.ENDING) return { frame: 'ENDING', ...JSON.parse(body.subarray(8, 8 + body.readUInt32LE(0))) };
	if (kind !== KIND.ARRIVALS) return { frame: kind === KIND.HELLO ? 'HELLO' : 'ERROR', ...JSON.parse(body) };
	const n = body.readUInt32LE(0);
	const up = offset => (offset + 7) & ~7;
	const matchAt = up(8 + 4 * n);
	const legalAt = up(up(up(matchAt + 4 * n) + 4 * n) + n);
	const { maskBytes } = host.setup.actionSet;
	const rows = Array.from({ length: n }, (_, i) => {
		const legal = [];
		for (let action = 0; action < 8 * maskBytes; action++) {
			if (body[legalAt + i * maskBytes + (action >> 3)] & (1 << (action & 7))) legal.push(action);
		}
		return { row: body.readInt32LE(8 + 4 * i), match: body.readUInt32LE(matchAt + 4 * i), legal };
	});
	return { frame: 'ARRIVALS', done: body[4] === 1, rows };
}

/** The body of an ACTIONS frame: each row's choice is `pick(its legal actions)`. */
function actionsOf(rows, pick) {
	const n = rows.length;
	const body = Buffer.alloc(((8 + 4 * n + 7) & ~7) + 4 * n);
	body.writeUInt32LE(n, 0);
	for (const [i, { row, legal }] of rows.entries()) {
		body.writeInt32LE(row, 8 + 4 * i);
		body.writeInt32LE(pick(legal), ((8 + 4 * n + 7) & ~7) + 4 * i);
	}
	return body;
}

module.exports = { actionsOf, decoded };
