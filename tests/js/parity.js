'use strict';
/**
 * Proves that both Showdown hosts see one world: battles of the embedded host are told, message by message as a server
 * would, to the server host's matches. At every decision the rows of both must be equal: observation, mask, reward and
 * `opens`; at the end score, rewards, facts and the last observations.
 *
 * A server takes the simulator's own messages: `update` goes to each player through the simulator's channel split,
 * `sideupdate` to one player, requests with an `rqid`. With LOSE=text, lines that begin with it are told to nobody, and
 * the difference must be found.
 *
 * usage: node parity.js SIMULATOR FORMAT[:TEAM_FOLDER] BATTLES [SEED] [MAX_TURNS]; prints one JSON object.
 */

const path = require('node:path');
const {randomFrom} = require('./battles');

const HOST = path.join(__dirname, '..', '..', 'src', 'ludus', 'games', 'showdown', 'host');
const SDK = path.join(__dirname, '..', '..', 'src', 'ludus', 'sdk', 'javascript');
const {ArrivalBuffer} = require(path.join(SDK, 'frames.js'));
const {Match} = require(path.join(HOST, 'matches.js'));
const {setUp} = require(path.join(HOST, 'setup.js'));
const {ServerMatch} = require(path.join(HOST, 'server', 'match.js'));

const SEATS = [0, 1];

class Parity {
	constructor(root, format, teams, maxTurns) {
		this.setup = setUp(root, {format, teams, max_turns: maxTurns}, true);
		const {extractChannelMessages} = require(path.join(root, 'dist', 'sim', 'battle.js'));
		this.server = new Server(extractChannelMessages);
		const {server} = this;
		// What the simulator's stream does around a battle: it sends updates after every input.
		this.setup.Battle = class extends this.setup.Battle {
			constructor(options) {
				super({...options, send: (type, data) => server.send(type, data)});
			}

			setPlayer(...given) {
				super.setPlayer(...given);
				this.sendUpdates();
			}

			choose(...given) {
				const taken = super.choose(...given);
				this.sendUpdates();
				return taken;
			}
		};
		const arrivals = () => new ArrivalBuffer(2, this.setup.actionSet.maskBytes, this.setup.observer.nbytes);
		this.buffers = [arrivals(), arrivals()]; // embedded, served
		this.decisions = 0;
		this.refused = 0;
		this.differences = {};
		this.first = null;
	}

	play(number, seed) {
		const [own, told] = this.buffers;
		own.count = told.count = 0;
		const random = randomFrom(seed);
		const embedded = new Match(this.setup, 0, number, seed);
		const served = new ServerMatch(this.setup, 0, number, seed, 0);
		this.server.begin((seat, lines) => served.hear(seat, lines, told, 0));
		for (const seat of SEATS) served.join(seat, 'battle-parity-1', `Player ${seat + 1}`);
		embedded.open(own);
		while (!embedded.ending) {
			if (served.fault) throw served.fault;
			this.#compareRows(embedded);
			if (this.first) return;
			const chosen = Array.from({length: own.count}, (_, i) => [own.row[i], this.#pick(own.masks[i], random)]);
			own.count = told.count = 0;
			for (const [seat, action] of chosen) {
				const text = served.act(seat, action, told, 0);
				if (text !== this.#said(embedded, served, seat, action)) this.#note('choice', embedded, text);
			}
			for (const [seat, action] of chosen) embedded.act(seat, action, own);
		}
		if (served.fault) throw served.fault;
		this.#compareEndings(embedded, served);
		this.refused += embedded.refused;
	}

	#said(embedded, served, seat, action) {
		const choice = this.setup.actionSet.choice(embedded.requestOf(seat), action);
		return `/choose ${choice}|${served.requestOf(seat).rqid}`;
	}

	/** Half the time a move, so that battles get somewhere. */
	#pick(mask, random) {
		const legal = [];
		for (let i = 0; i < this.setup.actionSet.size; i++) if (mask[i >> 3] >> (i & 7) & 1) legal.push(i);
		const moves = legal.filter(action => action < this.setup.actionSet.moveActions);
		const among = moves.length && random() < 0.5 ? moves : legal;
		return among[Math.floor(random() * among.length)];
	}

	#compareRows(match) {
		const [own, told] = this.buffers;
		const {nbytes} = this.setup.observer;
		if (own.count !== told.count) {
			this.#note('asked', match, `${own.count} rows here, ${told.count} there`);
			return;
		}
		for (let i = 0; i < own.count; i++) {
			this.decisions++;
			for (const name of ['row', 'match', 'reward', 'opens']) {
				if (own[name][i] !== told[name][i]) this.#note(name, match, `${own[name][i]} here, ${told[name][i]} there`);
			}
			if (Buffer.compare(own.masks[i], told.masks[i]) !== 0) this.#note('mask', match, '');
			this.#compareBytes(match, ...[own, told].map(({obs}) => obs.subarray(i * nbytes, (i + 1) * nbytes)));
		}
	}

	#compareBytes(match, one, other) {
		const at = one.findIndex((byte, i) => byte !== other[i]);
		if (at < 0) return;
		const {offsets} = this.setup.observer;
		const leaf = Object.keys(offsets).findLast(name => offsets[name] <= at);
		this.#note('observation', match, `${leaf}, byte ${at - offsets[leaf]}`);
	}

	#compareEndings(embedded, served) {
		const plain = ({log, ...ending}) => JSON.stringify(ending);
		if (!served.ending) this.#note('ending', embedded, 'it goes on there');
		else if (plain(embedded.ending) !== plain(served.ending)) {
			this.#note('ending', embedded, `${plain(embedded.ending)} here, ${plain(served.ending)} there`);
		} else if (embedded.finalObs) this.#compareBytes(embedded, embedded.finalObs, served.finalObs);
	}

	#note(kind, match, what) {
		this.differences[kind] = (this.differences[kind] ?? 0) + 1;
		this.first ??= {kind, what, seed: match.seed, turn: match.battle.turn, recent: match.battle.log.slice(-12)};
	}
}

/** Passes on what the simulator sends, as a server's battle room does. */
class Server {
	constructor(extractChannelMessages) {
		this.extract = extractChannelMessages;
		this.lost = process.env.LOSE ?? null;
	}

	/** `tell(seat, lines)` gets each message. */
	begin(tell) {
		this.tell = tell;
		this.rqid = 1;
		this.isOpen = false;
	}

	send(type, data) {
		if (type === 'update') this.#update(data);
		else if (type === 'sideupdate') this.#sideUpdate(data);
	}

	#update(lines) {
		const channels = this.extract((Array.isArray(lines) ? lines : [lines]).join('\n'), [1, 2]);
		for (const seat of SEATS) {
			const told = channels[seat + 1].filter(line => this.lost === null || !line.startsWith(this.lost));
			this.tell(seat, this.isOpen ? told : ['|init|battle', '|title|Player 1 vs. Player 2', '|j|☆Player 1', ...told]);
		}
		this.isOpen = true;
	}

	#sideUpdate(text) {
		const [side, line] = text.split('\n');
		const seat = side.charCodeAt(1) - 49;
		if (!line.startsWith('|request|')) {
			this.tell(seat, [line]);
			return;
		}
		const request = {...JSON.parse(line.slice('|request|'.length)), rqid: ++this.rqid};
		this.tell(seat, [`|request|${JSON.stringify(request)}`]);
	}
}

function main([root, spec, battles, seed = '1', maxTurns = '300']) {
	const [format, teams = null] = spec.split(':');
	const parity = new Parity(root, format, teams, +maxTurns);
	let played = 0;
	for (; played < +battles && !parity.first; played++) parity.play(played, +seed + played);
	const {decisions, refused, differences, first} = parity;
	console.log(JSON.stringify({format, battles: played, decisions, refused, differences, first}));
}

main(process.argv.slice(2));
