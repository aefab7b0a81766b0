'use strict';
// Memory that a host shares with the fleet, so that observations need not go through the pipe.

const fs = require('node:fs');

const PAGE = 4096; // rooms begin at multiples of it

/** Writes rows to the file behind `descriptor`. It consists of rooms, numbered from 1, each with space for all rows. */
class RowMemory {
	constructor(descriptor, rows, rowBytes) {
		this.descriptor = descriptor;
		this.roomBytes = Math.ceil(rows * rowBytes / PAGE) * PAGE;
		this.at = -1; // offset of the next rows; negative: there is no room
	}

	/** Write the rows of the next answer to this room; 0 means none. */
	enter(room) {
		this.at = (room - 1) * this.roomBytes;
	}

	/** Write these bytes after the previous ones. Returns false if there is no room. */
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
