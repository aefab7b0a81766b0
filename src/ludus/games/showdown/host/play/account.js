'use strict';
// The agent's own account: the name it was given and no other, with a password where the server wants one.

const { Connection } = require('../server/connection.js');

class Account extends Connection {
	/** Somebody else has the name, or it needs a password. */
	introduce(wish) {
		this.takeName(wish);
	}

	yieldName(wish, why, refuse) {
		refuse(why);
	}

	/** Ask for a sign of life; an answer of any kind will do. */
	ping() {
		this.send('', `/cmd userdetails ${this.id}`);
	}

	/** Give a connection up that says nothing any more, as if it had been lost. */
	drop(why) {
		this.close();
		this.lost(`${this.url}: ${why}`);
	}
}

module.exports = { Account };
