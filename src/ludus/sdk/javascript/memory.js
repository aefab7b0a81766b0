'use strict';
// Memory that a host shares with the fleet: rows that are left there need not go through the pipe.

const fs = require('node:fs');

const PAGE = 4096; // rooms begin at multiples of it

/** The file behind `descriptor`, in rooms that are numbered from 1, each for as many rows as the host has. */
class RowMemory {
	constructor(descriptor, rows, rowBytes) {
		this.descriptor = descriptor;
		this.roomBytes = Math.ceil(rows * rowBytes / PAGE) * PAGE;
		this.at = -1; // where the next rows go; -1: nowhere
	}

	/** Rows of the answer that begins go into this room; 0: there is none. */
	enter(room) {
		this.at = (room - 1) * this.roomBytes;
	}

	/** Says whether there was room. */
	leave(bytes) {
		if (this.at < 0) return false;
		for (let done = 0; done < bytes.length;) {
			done += fs.writeSync(this.descriptor, bytes, done, bytes.length - done, this.at + done);
		}
		this.at += bytes.length;
		return true;
	}
}

module.exports = { RowMemory };
