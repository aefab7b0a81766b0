'use strict';
// An account that plays another one of this host in one format.

const { Connection } = require('./connection.js');
const { whyUnlisted } = require('./formats.js');

class PairedAccount extends Connection {
	constructor(url, handlers, format) {
		super(url, handlers);
		this.format = format;
	}

	/** A server lists its formats before anybody logs in. */
	overhear(kind, line, refuse) {
		const why = kind === 'formats' ? whyUnlisted(this.format, line) : null;
		if (why !== null) refuse(why);
	}
}

module.exports = { PairedAccount };
