'use strict';
// The agent's own account: the name it was given and no other, with a password where the server wants one.

const { Connection } = require('../server/connection.js');
const { whyUnlisted } = require('../server/formats.js');
const { assertion } = require('./login.js');

class Account extends Connection {
	/** `wanted`: {format (an object), password or null, loginServer}. */
	constructor(url, handlers, wanted) {
		super(url, handlers);
		this.wanted = wanted;
	}

	async open(wish, deadlineMs) {
		try {
			await super.open(wish, deadlineMs);
		} catch (error) {
			error.message = error.message
				.replace('correct the option servers', 'correct --server')
				.replace(/nobody could log in/, 'it did not let anybody log in as a Showdown server does');
			throw error;
		}
	}

	introduce(wish, challstr, refuse) {
		const { password, loginServer } = this.wanted;
		if (password === null) {
			this.takeName(wish);
			return;
		}
		assertion(loginServer, { name: wish, password, challstr })
			.then(signed => this.takeName(wish, signed), error => refuse(error.message));
	}

	/** Somebody else has the name, or it needs a password. */
	yieldName(wish, why, refuse) {
		const said = why.replace('the name :', `the name ${wish}:`); // some refusals do not name it
		const needsPassword = /authentication|registered/i.test(why);
		refuse(needsPassword ? `${said.replace(/\.$/, '')}; give its password with --password-file` : said);
	}

	/** A server lists its formats before anybody logs in. */
	overhear(kind, line, refuse) {
		if (kind !== 'formats') return;
		const why = whyUnlisted(this.wanted.format, line);
		if (why !== null) refuse(why);
	}

	/** Ask for a sign of life; an answer of any kind will do. */
	ping() {
		this.send('', `/cmd userdetails ${this.id}`);
	}
}

module.exports = { Account };
