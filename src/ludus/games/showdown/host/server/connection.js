'use strict';
// One account on one Showdown server, over one WebSocket.

const { HostError } = require('../../../../sdk/javascript/frames.js');
const { WebSocketClient } = require('../websocket/client.js');
const { whatAnswers } = require('./reach.js');

const LONGEST_NAME = 18;
const NAMES_TRIED = 5;
const LARGEST_EARLY = 1 << 26; // characters that a server may say before somebody is logged in

/** What a server knows a name by. */
function userId(name) {
	return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** An error that may be gone when the same is tried again. */
function passing(kind, message) {
	return Object.assign(new HostError(kind, message), { isPassing: true });
}

/** A message as {room, lines}; the room is '' for what belongs to none. */
function parseMessage(text) {
	if (!text.startsWith('>')) return { room: '', lines: text.split('\n') };
	const end = text.indexOf('\n');
	if (end < 0) return { room: text.slice(1), lines: [] };
	return { room: text.slice(1, end), lines: text.slice(end + 1).split('\n') };
}

/** A name that nobody else should have: the wish, cut, and random letters. */
function inventName(wish) {
	const letters = Math.random().toString(36).slice(2, 8);
	return `${wish.slice(0, LONGEST_NAME - letters.length - 1)} ${letters}`;
}

class Connection {
	static Socket = WebSocketClient;

	/** `hear({room, lines})` gets every message; `lost(why)` is called once, when an open connection has gone. */
	constructor(url, { hear, lost }, explain = whatAnswers) {
		this.url = url;
		this.explain = explain;
		this.hear = hear;
		this.lost = lost;
		this.socket = null;
		this.name = '';
		this.id = '';
		this.isOpen = false; // logged in
		this.isNamed = false; // the server has let it log in
		this.early = []; // messages for `hear` that came before it could be called
	}

	/**
	 * Connect and take the name it had, or one like `wish`; throws HostError when that has not succeeded in time, with
	 * `isPassing` when the server may only be away.
	 */
	async open(wish, deadlineMs) {
		const socket = new this.constructor.Socket(this.url);
		this.socket = socket;
		this.isNamed = false;
		this.earlySize = 0;
		let timer;
		try {
			await new Promise((resolve, reject) => {
				const refuse = why => reject(new HostError('configuration', `${this.url}: ${why}`));
				const wait = why => reject(passing('configuration', `${this.url}: ${why}`));
				timer = setTimeout(() => wait(`nobody could log in within ${deadlineMs / 1000} s`), deadlineMs);
				socket.onerror = () => {
					socket.onclose = null;
					clearTimeout(timer);
					this.explain(this.url).then(seen => wait(
						`no Showdown server answers there (${seen}); start one, or correct the option servers`));
				};
				socket.onclose = () => wait('the server closed the connection before anybody could log in');
				socket.onmessage = event => this.#logIn(event.data, wish, resolve, refuse);
			});
		} catch (error) {
			this.close();
			throw error;
		} finally {
			clearTimeout(timer);
		}
		socket.onmessage = ({ data }) => {
			if (typeof data === 'string') this.#pass(parseMessage(data));
		};
		socket.onerror = null;
		this.isOpen = true;
		socket.onclose = event => {
			this.socket = null;
			this.isOpen = false;
			const why = `${event.code} ${event.reason || 'no reason given'}`;
			this.lost(`${this.url}: the connection of ${this.name} was lost (${why})`);
		};
		for (const message of this.early.splice(0)) this.#pass(message);
	}

	/** A message that cannot be dealt with costs the connection, not the host. */
	#pass(message) {
		try {
			this.hear(message);
		} catch (error) {
			if (this.isOpen) this.drop(`the server sent a message that cannot be dealt with (${error.message})`);
		}
	}

	/** Give a connection up as if it had been lost. */
	drop(why) {
		this.close();
		this.lost(`${this.url}: ${why}`);
	}

	#logIn(data, wish, resolve, refuse) {
		if (typeof data !== 'string' || !/^[|>]/.test(data)) {
			refuse('it does not speak the Showdown protocol');
			return;
		}
		this.earlySize += data.length;
		if (this.earlySize > LARGEST_EARLY) {
			refuse('it says too much before anybody is logged in');
			return;
		}
		const { room, lines } = parseMessage(data);
		if (room !== '' || this.isNamed) this.early.push({ room, lines });
		else this.#readGlobal(lines, wish, resolve, refuse);
	}

	#readGlobal(lines, wish, resolve, refuse) {
		for (const [i, line] of lines.entries()) {
			const [, kind, first = '', second = ''] = line.split('|');
			if (kind === 'challstr') {
				this.tries = 0;
				this.introduce(wish, line.slice('|challstr|'.length), refuse);
			} else if (kind === 'nametaken') {
				this.yieldName(wish, `the server refused the name ${first}: ${second}`, refuse);
			} else if (kind === 'updateuser' && this.id !== '' && userId(first) === this.id) {
				this.isNamed = true;
				if (i + 1 < lines.length) this.early.push({ room: '', lines: lines.slice(i + 1) });
				resolve();
				return;
			} else {
				this.overhear(kind, line, refuse);
			}
		}
	}

	/** The server has said hello with words that a login server would sign; subclasses may have it do so. */
	introduce(wish) {
		this.takeName(this.name || inventName(wish));
	}

	/** A name was refused: another one, or give up. */
	yieldName(wish, why, refuse) {
		if (++this.tries < NAMES_TRIED) this.takeName(inventName(wish));
		else refuse(why);
	}

	/** Other things that a server says before somebody is logged in. */
	overhear() {}

	takeName(name, assertion = '') {
		this.name = name;
		this.id = userId(this.name);
		this.send('', `/trn ${this.name},0,${assertion}`);
	}

	/** Say something in a room; quietly dropped when the connection is gone, `lost` tells of that. */
	send(room, text) {
		this.socket?.send(`${room}|${text}`);
	}

	close() {
		this.isOpen = false;
		this.early = [];
		if (this.socket === null) return;
		this.socket.close();
		this.socket = null;
	}
}

module.exports = { Connection, inventName, parseMessage, passing, userId };
