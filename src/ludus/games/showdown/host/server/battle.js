'use strict';
// One battle as one player sees it: the lines and requests that a server sends to that player, and nothing else.

const { HostError } = require('../../../../sdk/javascript/frames.js');
const { mayBeMeant } = require('./lines.js');
const { RequestReader } = require('./requests.js');

const LARGEST = 1 << 24; // characters of one battle; its log must fit into a frame
const LATE = /nothing to choose|too late/; // the battle went on before the choice came

/**
 * Servers send a turn's lines and then the request that follows them; older ones the other way round. Every stop of the
 * simulator begins with a |t:| line, so a request is complete when one has come since the request before it.
 */
class ServedBattle {
	/** `setup`: {View, observer, actionSet}. With `before`, the same battle until the player lost its connection. */
	constructor({ View, observer, actionSet }, before = null) {
		this.actionSet = actionSet;
		this.log = [];
		this.view = new View(observer, this);
		this.requests = new RequestReader();
		this.turn = 0;
		this.size = 0; // characters of the log
		this.request = before ? before.request : null;
		this.refusals = before ? before.refusals : 0;
		this.isRejoined = before !== null;
		this.isSent = before === null; // the server has the choice, if one was made
		this.ended = false;
		this.winner = ''; // a name, '' for a tie
		this.told = false; // lines have come that no request has followed
		this.following = before !== null && before.following; // a request has come that nobody has looked at
	}

	/** A request is there with all the lines that belong to it. A corrected one has no lines of its own. */
	get isAsked() {
		return this.following && !this.ended && (this.told || this.isCorrected);
	}

	/** The last choice was refused for a reason that the request did not show. */
	get isCorrected() {
		return this.request !== null && !!this.request.update;
	}

	/** 0 for p1, 1 for p2; -1 before the first request. */
	get seat() {
		return this.request === null ? -1 : this.request.side.id.charCodeAt(1) - 49;
	}

	/** Take the lines of one message; throws HostError when the server says that a choice was wrong. */
	take(lines) {
		for (const line of lines) {
			this.size += line.length;
			if (!mayBeMeant(line)) this.log.push(line);
			else if (line.startsWith('|request|')) this.#ask(line.slice('|request|'.length));
			else if (line.startsWith('|error|')) this.#refuse(line.slice('|error|'.length));
			else this.#tell(line);
		}
		if (this.size > LARGEST) throw new HostError('match', `the server said over ${LARGEST} characters in one battle`);
		this.view.read();
	}

	#ask(text) {
		if (text === '' || text === 'null') return;
		const request = this.requests.read(text);
		if (this.request !== null && request.rqid <= this.request.rqid) { // said again to somebody who joined
			if (!this.following) this.told = false;
			return;
		}
		this.request = request;
		this.following = true;
		this.isSent = true;
	}

	#refuse(why) {
		if (why.startsWith('[Unavailable choice]')) {
			this.refusals++;
			return; // the corrected request is on its way
		}
		if (this.isRejoined && LATE.test(why)) {
			this.isSent = true;
			return; // it was said again, and had come before the connection was lost
		}
		if (why.startsWith('[Invalid choice]')) {
			throw new HostError('match', `the server refused a legal choice: ${why}`, JSON.stringify(this.request));
		}
	}

	#tell(line) {
		this.log.push(line);
		if (line.startsWith('|t:|')) this.told = true;
		else if (line.startsWith('|sentchoice|')) this.isSent = true;
		else if (line.startsWith('|turn|')) this.#count(line.slice('|turn|'.length));
		else if (line.startsWith('|win|')) this.#end(line.slice('|win|'.length));
		else if (line === '|tie' || line.startsWith('|tie|')) this.#end('');
	}

	#count(text) {
		const turn = Number(text);
		if (!Number.isSafeInteger(turn)) throw new HostError('match', 'the server counts turns in no numbers', text);
		this.turn = turn;
	}

	#end(winner) {
		this.ended = true;
		this.winner = winner;
	}

	/** The request was looked at: the next one needs lines of its own. */
	look() {
		this.told = false;
		this.following = false;
	}

	encode(out, offset) {
		return this.view.encode(this.seat, this.request, out, offset);
	}

	/** What to say in the battle's room to choose that action. */
	command(action) {
		return `/choose ${this.actionSet.choice(this.request, action)}|${this.request.rqid}`;
	}
}

module.exports = { LATE, ServedBattle };
