'use strict';
// The server host's parts without a server: what is said to them is made up, faults included.

const assert = require('node:assert/strict');
const path = require('node:path');
const { mock, test } = require('node:test');
const { HOST, HOSTING } = require('./simulator.js');
const { ArrivalStage, HostError } = require(path.join(HOSTING, 'frames.js'));
const { SlotHost } = require(path.join(HOSTING, 'slots.js'));
const { setUp } = require(path.join(HOST, 'setup.js'));
const { ServedBattle } = require(path.join(HOST, 'server', 'battle.js'));
const { Connection, inventName, parseMessage, userId } = require(path.join(HOST, 'server', 'connection.js'));
const { listedFormats, whyUnlisted } = require(path.join(HOST, 'server', 'formats.js'));
const { ServerMatch } = require(path.join(HOST, 'server', 'match.js'));
const { Pair } = require(path.join(HOST, 'server', 'pair.js'));
const { RequestReader } = require(path.join(HOST, 'server', 'requests.js'));

const setup = setUp(process.env.LUDUS_TEST_SIMULATOR, { feature_set: 'raw', format: 'gen1randombattle' }, false, {
	engine: 'server', options: {},
});
const OPENING = [
	'|init|battle', '|t:|1', '|gametype|singles', '|player|p1|One|1|', '|player|p2|Two|1|',
	'|teamsize|p1|1', '|teamsize|p2|1',
	'|gen|1', '|start', '|switch|p1a: Mew|Mew, L80|100/100', '|switch|p2a: Mew|Mew, L80|100/100', '|turn|1',
];

function request(seat, rqid, more = {}) {
	const mon = {
		ident: `p${seat + 1}: Mew`, details: 'Mew, L80', condition: '300/300', active: true, moves: ['tackle', 'surf'],
		stats: { atk: 1, def: 1, spa: 1, spd: 1, spe: 1 }, baseAbility: 'noability', item: '', pokeball: 'pokeball',
	};
	const move = (name, id) => ({ move: name, id, pp: 20, maxpp: 20, target: 'normal', disabled: false });
	const active = [{ moves: [move('Tackle', 'tackle'), move('Surf', 'surf')] }];
	const said = { active, side: { name: 'x', id: `p${seat + 1}`, pokemon: [mon] } };
	return `|request|${JSON.stringify({ ...said, rqid, ...more })}`;
}

function waitRequest(seat, rqid) {
	const { side } = JSON.parse(request(seat, rqid).slice('|request|'.length));
	return `|request|${JSON.stringify({ wait: true, side, rqid })}`;
}

// -- messages and names

test('a message is its room and its lines', () => {
	assert.deepEqual(parseMessage('|challstr|4|abc'), { room: '', lines: ['|challstr|4|abc'] });
	const lines = ['|init|battle', '|j|x'];
	assert.deepEqual(parseMessage('>battle-gen1-1\n|init|battle\n|j|x'), { room: 'battle-gen1-1', lines });
	assert.deepEqual(parseMessage('>battle-gen1-1'), { room: 'battle-gen1-1', lines: [] });
});

test('invented names differ and fit a server', () => {
	const names = Array.from({ length: 50 }, () => inventName('a long wish'));
	assert.equal(new Set(names.map(userId)).size, 50);
	for (const name of names) assert.ok(name.length <= 18);
});

// -- logging in

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

/** What `act(socket)` does to somebody who logs in: the connection, its socket and how it ended. */
async function logIn(act, handlers = {}) {
	const original = Connection.Socket;
	Connection.Socket = FakeSocket;
	mock.timers.enable({ apis: ['setTimeout'] });
	try {
		const connection = new Connection('ws://x', { hear() {}, lost() {}, ...handlers }, async () => 'ECONNREFUSED');
		const opened = connection.open('wish', 1000).then(() => 'in', error => error.message);
		act(FakeSocket.last);
		return { connection, socket: FakeSocket.last, outcome: await opened };
	} finally {
		mock.timers.reset();
		Connection.Socket = original;
	}
}

const lastName = socket => /^\|\/trn (.*),0,$/.exec(socket.sent.at(-1))[1];

test('a name that is taken is replaced by another', async () => {
	const { connection, socket, outcome } = await logIn(socket => {
		socket.say('|updateuser| Guest 1|0|1|{}');
		socket.say('|challstr|4|abc');
		socket.say(`|nametaken|${lastName(socket)}|Someone is already using it.`);
		socket.say(`|updateuser| ${lastName(socket)}|1|1|{}\n|formats|x`);
	});
	assert.equal(outcome, 'in');
	assert.equal(new Set(socket.sent).size, 2);
	assert.equal(connection.id, userId(lastName(socket)));
});

test('who cannot log in is told why', async () => {
	const outcomeOf = async act => (await logIn(act)).outcome;
	const nobody = await outcomeOf(socket => socket.onerror({}));
	assert.match(nobody, /ws:\/\/x: no Showdown server answers there \(ECONNREFUSED\)/);
	assert.match(await outcomeOf(socket => socket.onclose({})), /closed the connection before/);
	assert.match(await outcomeOf(socket => socket.say(new ArrayBuffer(4))), /does not speak the Showdown protocol/);
	assert.match(await outcomeOf(() => mock.timers.tick(1000)), /nobody could log in within 1 s/);
	assert.match(await outcomeOf(socket => {
		socket.say('|challstr|4|abc');
		for (let i = 0; i < 5; i++) socket.say('|nametaken|wish|Names are locked.');
	}), /the server refused the name wish: Names are locked/);
});

test('an open connection passes on text and tells when it is lost', async () => {
	const told = [];
	const { socket } = await logIn(socket => {
		socket.say('|challstr|4|abc');
		socket.say(`|updateuser| ${lastName(socket)}|1|1|{}`);
	}, { hear: message => told.push(message.room), lost: why => told.push(why) });
	socket.say('>battle-1\n|turn|1');
	socket.say(new ArrayBuffer(4));
	socket.onclose({ code: 1006, reason: '' });
	assert.equal(told[0], 'battle-1');
	assert.match(told[1], /the connection of wish \w+ was lost \(1006 no reason given\)/);
	assert.equal(told.length, 2);
});

// -- formats

const LISTED = '|formats|,1|S/V Singles|[Gen 9] Random Battle,f|[Gen 9] OU,e' +
	'|,2|Past|[Gen 1] Random Battle, Blitz,f|[Gen 1] OU,e';

test('the formats of a server are its list without the headings', () => {
	assert.deepEqual(listedFormats(LISTED), ['gen9randombattle', 'gen9ou', 'gen1randombattleblitz', 'gen1ou']);
});

test('a format that is not in the list is refused with the nearest, unless it is one that servers hide', () => {
	const shown = { id: 'gen1randombattle', searchShow: true };
	assert.equal(whyUnlisted(shown, LISTED),
		'the server does not know the format gen1randombattle, ' +
		'did you mean gen9randombattle, gen1randombattleblitz or gen1ou?');
	assert.equal(whyUnlisted({ ...shown, id: 'gen9ou' }, LISTED), null);
	assert.equal(whyUnlisted({ id: 'gen1hidden', searchShow: false }, LISTED), null);
	assert.equal(whyUnlisted(shown, '|formats'), null);
});

// -- requests

test('Pokemon that are as they were are the same objects again, also when they have changed places', () => {
	const mon = (name, condition) => ({ ident: `p1: ${name}`, condition, stats: { atk: 1 }, moves: ['surf'] });
	const asked = (rqid, pokemon) => JSON.stringify({ active: [{}], side: { name: 'x', id: 'p1', pokemon }, rqid });
	const reader = new RequestReader();
	const first = reader.read(asked(2, [mon('Mew', '10/10'), mon('Muk', '20/20'), mon('Onix', '30/30')]));
	const text = asked(4, [mon('Onix', '30/30'), mon('Muk', '11/20'), mon('Mew', '10/10')]);
	const second = reader.read(text);
	assert.deepEqual(second, JSON.parse(text));
	const [mew, muk, onix] = first.side.pokemon;
	assert.equal(second.side.pokemon[0], onix);
	assert.notEqual(second.side.pokemon[1], muk);
	assert.equal(second.side.pokemon[2], mew);
	assert.equal(reader.read(asked(6, [])).side.pokemon.length, 0);
});

test('requests are read whatever names are in them and however they are written', () => {
	const names = ['a}]b', 'a}]}b', '},{"ident":', '"pokemon":[{"ident":', '\\', 'é☆', ']', ','];
	const reader = new RequestReader();
	for (const name of [...names, ...names]) {
		const pokemon = [name, 'Mew', name].map(each => ({ ident: `p2: ${each}`, condition: '1/1', moves: [] }));
		const request = { wait: true, side: { id: 'p2', name, pokemon }, rqid: 3 };
		const turned = { rqid: 3, side: { pokemon, id: 'p2' }, noCancel: true };
		for (const said of [request, turned]) {
			for (const text of [JSON.stringify(said), JSON.stringify(said, null, 1)]) assert.deepEqual(reader.read(text), said);
		}
	}
	const ally = { side: { id: 'p1', pokemon: [{ ident: 'p1: x' }] }, ally: { pokemon: [{ ident: 'p3: y' }] }, rqid: 1 };
	assert.deepEqual(reader.read(JSON.stringify(ally)), ally);
});

// -- one battle, one player

test('a request counts when the lines before it have come, in whichever order they are sent', () => {
	for (const messages of [[OPENING, [request(0, 2)]], [[request(0, 2)], OPENING]]) {
		const battle = new ServedBattle(setup);
		battle.take(messages[0]);
		assert.equal(battle.isAsked, false);
		battle.take(messages[1]);
		assert.equal(battle.isAsked, true);
		assert.equal(battle.seat, 0);
		assert.equal(battle.command(1), '/choose move 2|2');
		battle.look();
		battle.take([request(0, 2)]); // said again
		assert.equal(battle.isAsked, false);
	}
});

test('empty requests, chat and unknown messages are passed over', () => {
	const battle = new ServedBattle(setup);
	battle.take(['|request|', '|request|null', '|c| x|hello', '', 'plain', '|unheardof|1|2', '|error|You are muted']);
	assert.equal(battle.request, null);
	assert.equal(battle.ended, false);
});

test('a choice that comes too late is the host\'s mistake, unless it was said again after a lost connection', () => {
	const battle = new ServedBattle(setup);
	const late = "|error|[Invalid choice] There's nothing to choose";
	assert.throws(() => battle.take([late]), /the server refused a legal choice/);
	const rejoined = new ServedBattle(setup, battle);
	rejoined.take([late]);
	assert.equal(rejoined.isSent, true);
	assert.throws(() => rejoined.take(["|error|[Invalid choice] Can't move: no such move"]), /refused a legal choice/);
});

// -- one match, two players

function startedMatch() {
	const stage = new ArrivalStage(2, setup.actionSet.maskBytes, setup.observer.nbytes);
	const match = new ServerMatch(setup, 0, 7, 1, 0);
	for (const seat of [0, 1]) match.join(seat, 'battle-x-1', seat === 0 ? 'One' : 'Two');
	for (const seat of [0, 1]) match.hear(seat, OPENING, stage, 0);
	match.hear(0, [request(0, 2)], stage, 0);
	assert.equal(stage.count, 0);
	match.hear(1, [request(1, 3)], stage, 0);
	assert.equal(stage.count, 2);
	stage.count = 0;
	return { match, stage };
}

test('both seats are asked together, and the choices carry the numbers of their requests', () => {
	const { match, stage } = startedMatch();
	assert.equal(match.act(1, 0, stage, 0), '/choose move 1|3');
	assert.equal(match.act(0, 1, stage, 0), '/choose move 2|2');
	assert.equal(match.owed, false);
});

test('an unavailable choice is asked again with the corrected request, and counted', () => {
	const { match, stage } = startedMatch();
	match.act(0, 0, stage, 0);
	match.act(1, 0, stage, 0);
	match.hear(0, ['|error|[Unavailable choice] Can\'t switch: trapped'], stage, 0);
	assert.equal(stage.count, 0);
	match.hear(0, [request(0, 4, { update: true })], stage, 0);
	assert.deepEqual([stage.count, stage.row[0]], [1, 0]);
	assert.equal(match.act(0, 1, stage, 0), '/choose move 2|4');
	for (const seat of [0, 1]) match.hear(seat, ['|t:|2', '|win|Two'], stage, 0);
	assert.deepEqual(match.ending.score, [0, 1]);
	const { refused, decisions_0: first, decisions_1: second } = match.ending.facts;
	assert.deepEqual([refused, first, second], [1, 1, 1]);
});

test('an invalid choice is a fault with the server\'s words', () => {
	const { match, stage } = startedMatch();
	match.act(0, 0, stage, 0);
	match.act(1, 0, stage, 0);
	match.hear(1, ['|error|[Invalid choice] Can\'t move: no'], stage, 0);
	assert.match(match.fault.message, /refused a legal choice: \[Invalid choice\] Can't move: no/);
});

test('a request that cannot be read is a fault, not the end of the host', () => {
	const { match, stage } = startedMatch();
	match.hear(1, ['|request|{"active":'], stage, 0);
	assert.equal(match.fault.message, 'the server asked in a way that is not understood');
	assert.equal(match.fault.detail, '{"active":');
});

test('a battle without an end is a fault before it fills the memory', () => {
	const { match, stage } = startedMatch();
	for (let i = 0; i < 20 && !match.fault; i++) match.hear(0, ['|-message|x', `|-hint|${'x'.repeat(10 ** 6)}`], stage, 0);
	assert.match(match.fault.message, /the server said over \d+ characters in one battle/);
});

test('a flood before the login and endless lists of formats are cut short', async () => {
	const { outcome } = await logIn(socket => {
		for (let i = 0; i < 8; i++) socket.say(`>lobby\n${'x'.repeat(10 ** 7)}`);
	});
	assert.match(outcome, /it says too much before anybody is logged in/);
	const endless = `|formats|,1|S/V|${'x'.repeat(10 ** 7)},e|${'[Gen 1] OU,e|'.repeat(10 ** 5)}`;
	assert.equal(listedFormats(endless).length, 10_000);
});

test('a request of another version of the protocol is a fault with what was said', () => {
	const badSide = '{"side":{"id":"player-1","pokemon":[]},"rqid":4}';
	for (const said of ['{"active":[]}', badSide, '{"side":{"id":"p1","pokemon":[]}}', '7']) {
		const { match, stage } = startedMatch();
		match.hear(0, [`|request|${said}`], stage, 0);
		assert.match(match.fault.message, /not understood$/);
		assert.equal(match.fault.detail, said);
	}
});

test('a flood of chat is neither kept nor taken for a sign of life', () => {
	const { match, stage } = startedMatch();
	for (const seat of [0, 1]) match.act(seat, 0, stage, 0);
	const kept = match.battles[0].log.length;
	const flood = Array.from({ length: 1000 }, (_, i) => `|c|~x|hello ${i}|turn|9`);
	const lines = [...flood, '|raw|<b>x</b>', '|j|~x', '|c:|1|~x|[Invalid choice]'];
	for (let i = 0; i < 100; i++) match.hear(0, lines, stage, 20_000);
	assert.equal(match.battles[0].log.length, kept);
	assert.deepEqual([match.turn, match.fault], [1, null]);
	assert.match(match.overdue(21_000, { start_deadline_s: 15, silence_deadline_s: 20 }).message, /said nothing for 20 s/);
});

test('a match that ends while a seat is waited for ends with its answer', () => {
	const { match, stage } = startedMatch();
	match.act(0, 0, stage, 0);
	for (const seat of [0, 1]) match.hear(seat, ['|-message|Two forfeited.', '|win|One'], stage, 0);
	assert.equal(match.ending, null);
	assert.equal(match.act(1, 0, stage, 0), null);
	assert.deepEqual(match.ending.score, [1, 0]);
});

test('a tie is half a point each', () => {
	const { match, stage } = startedMatch();
	for (const seat of [0, 1]) match.act(seat, 0, stage, 0);
	for (const seat of [0, 1]) match.hear(seat, ['|t:|2', '|', '|tie'], stage, 0);
	assert.deepEqual(match.ending.score, [0.5, 0.5]);
});

test('who waits for the other is not asked', () => {
	const { match, stage } = startedMatch();
	for (const seat of [0, 1]) match.act(seat, 0, stage, 0);
	for (const seat of [0, 1]) match.hear(seat, ['|t:|2', '|faint|p2a: Mew'], stage, 0);
	match.hear(0, [waitRequest(0, 4)], stage, 0);
	match.hear(1, [request(1, 5)], stage, 0);
	assert.deepEqual([stage.count, stage.row[0]], [1, 1]);
});

test('a silent server is overdue, a slow policy is not', () => {
	const limits = { start_deadline_s: 15, silence_deadline_s: 20 };
	const queued = new ServerMatch(setup, 0, 7, 1, 0);
	assert.equal(queued.overdue(14_000, limits), null);
	assert.match(queued.overdue(16_000, limits).message, /no battle began within 15 s/);
	const { match, stage } = startedMatch();
	assert.equal(match.overdue(900_000, limits), null);
	for (const seat of [0, 1]) match.act(seat, 0, stage, 900_000);
	assert.equal(match.overdue(919_000, limits), null);
	assert.match(match.overdue(921_000, limits).message, /the server said nothing for 20 s/);
});

// -- two accounts

class FakeAccount {
	constructor(url, { hear, lost }) {
		Object.assign(this, { hear, lost, said: [], id: '', name: '', isOpen: false });
	}

	async open() {
		FakeAccount.opened++;
		if (FakeAccount.refusing) throw Object.assign(new Error('no Showdown server answers there'), { isPassing: true });
		this.name ||= `Fake ${FakeAccount.opened}`;
		this.id = userId(this.name);
		this.isOpen = true;
	}

	lose() {
		this.isOpen = false;
		this.lost('the server is gone');
	}

	send(room, text) {
		this.said.push(`${room}|${text}`);
	}

	close() {}
}

async function connectedPair() {
	FakeAccount.opened = 0;
	FakeAccount.refusing = false;
	const told = { failed: [], heard: [], delayed: [], log: '' };
	const pair = new Pair('ws://x', 'fake', setup.format, {
		hear: (match, seat, lines) => told.heard.push([match, seat, lines.length]),
		fail: (match, error) => told.failed.push([match, error.message]),
		delay: match => told.delayed.push(match),
		refuse: error => { told.refused = error; },
		log: text => { told.log += text; },
	}, FakeAccount);
	await pair.connect();
	return { pair, told };
}

const settled = () => new Promise(resolve => setImmediate(resolve));
const aMatch = number => new ServerMatch(setup, 0, number, number, 0);
const global = (account, ...lines) => account.hear({ room: '', lines });

test('one challenges, the other accepts, and the next challenge waits for the battle', async () => {
	const { pair, told } = await connectedPair();
	const [one, two] = pair.accounts;
	const matches = [aMatch(1), aMatch(2)];
	for (const match of matches) pair.start(match);
	assert.deepEqual(one.said, ['|/utm null', `|/challenge ${two.id}, gen1randombattle`]);
	global(two, `|pm| ${one.name}| ${two.name}|/challenge gen1randombattle|gen1randombattle|||`);
	assert.deepEqual(two.said, ['|/utm null', `|/accept ${one.id}`]);
	one.hear({ room: 'battle-1', lines: ['|init|battle'] });
	assert.equal(one.said.length, 2);
	two.hear({ room: 'battle-1', lines: ['|init|battle', '|title|x'] });
	assert.equal(one.said.length, 4);
	assert.deepEqual(told.heard, [[matches[0], 0, 1], [matches[0], 1, 2]]);
	pair.leave(matches[0]);
	assert.deepEqual(one.said.slice(4), ['battle-1|/forfeit', '|/leave battle-1']);
});

test('a throttled challenge is made again, a rejected team voids the match', async () => {
	mock.timers.enable({ apis: ['setTimeout'] });
	try {
		const { pair, told } = await connectedPair();
		const [one] = pair.accounts;
		const match = aMatch(1);
		pair.start(match);
		const words = 'You challenged less than 10 seconds after your last challenge!';
		global(one, `|popup|${words} It's cancelled in case it's a misclick.`);
		assert.equal(one.said.length, 2);
		mock.timers.tick(300);
		assert.equal(one.said.length, 4);
		global(one, '|popup|Your team was rejected for the following reasons:||||- Mew is banned.');
		assert.deepEqual(told.failed, [
			[match, 'the server refused the challenge: Your team was rejected for the following reasons:  - Mew is banned.'],
		]);
		assert.equal(pair.matches.size, 0);
	} finally {
		mock.timers.reset();
	}
});

test('a server that restarts delays what it has not begun, and is asked again', async () => {
	mock.timers.enable({ apis: ['setTimeout'] });
	try {
		const { pair, told } = await connectedPair();
		const [first, second] = [aMatch(1), aMatch(2)];
		pair.start(first);
		pair.start(second);
		global(pair.accounts[0], '|popup|The server is restarting. Battles will be available again in a few minutes.');
		assert.equal(pair.isRestarting, true);
		assert.deepEqual(told.delayed, [second, first]);
		mock.timers.tick(250);
		assert.equal(pair.accounts[0].said.length, 4);
		for (const seat of [0, 1]) pair.accounts[seat].hear({ room: 'battle-1', lines: ['|init|battle'] });
		assert.equal(pair.isRestarting, false);
		assert.deepEqual(told.failed, []);
	} finally {
		mock.timers.reset();
	}
});

test('private messages of any shape are passed over while a challenge is out', async () => {
	const { pair, told } = await connectedPair();
	const match = aMatch(1);
	pair.start(match);
	const whispers = ['|pm|', '|pm|x', '|pm| x| y', '|pm| x| y|/challenge gen1randombattle', '|pm| x| y|/error no'];
	global(pair.accounts[1], ...whispers, '|', '', 'plain');
	assert.deepEqual(told.failed, []);
	assert.deepEqual(pair.accounts[1].said, []);
});

test('a challenge goes on when the server says that the room of an earlier battle is gone', async () => {
	const { pair, told } = await connectedPair();
	const match = aMatch(1);
	pair.start(match);
	const [{ name }] = pair.accounts;
	global(pair.accounts[0], `|pm| ${name}| ${name}|/error The room 'battle-gen1randombattle-7' does not exist.`);
	assert.deepEqual(told.failed, []);
	assert.equal(pair.starting, match);
});

test('a format that the server turns down ends the host, for no match could begin', async () => {
	const { pair, told } = await connectedPair();
	pair.start(aMatch(1));
	global(pair.accounts[0], '|popup|Your selected format is invalid:||||- gen1randombattle is not a format');
	assert.match(told.refused.message, /^ws:\/\/x: format gen1randombattle: Your selected format is invalid:/);
	assert.equal(told.refused.kind, 'configuration');
});

test('a server that is away when a host starts is waited for with patience alone', async () => {
	FakeAccount.opened = 0;
	FakeAccount.refusing = true;
	const events = { hear() {}, fail() {}, delay() {}, log() {} };
	const pair = new Pair('ws://x', 'fake', setup.format, events, FakeAccount);
	await assert.rejects(pair.connect(), /no Showdown server answers there/);
	assert.equal(FakeAccount.opened, 2);
	const connected = pair.connect(30_000);
	await settled();
	assert.equal(pair.isUp, false);
	FakeAccount.refusing = false;
	await connected;
	assert.equal(pair.isUp, true);
});

test('a battle nobody waits for is forfeited and left', async () => {
	const { pair } = await connectedPair();
	pair.accounts[1].hear({ room: 'battle-9', lines: ['|init|battle'] });
	assert.deepEqual(pair.accounts[1].said, ['battle-9|/forfeit', '|/leave battle-9']);
});

test('an account that lost its connection comes back after longer and longer pauses; queued matches wait', async () => {
	mock.timers.enable({ apis: ['setTimeout'] });
	try {
		const { pair, told } = await connectedPair();
		const [, two] = pair.accounts;
		const match = aMatch(1);
		FakeAccount.refusing = true;
		pair.accounts[0].lose();
		pair.start(match);
		for (const ms of [250, 500, 1000]) {
			mock.timers.tick(ms);
			await settled();
		}
		assert.equal(FakeAccount.opened, 5);
		assert.deepEqual(pair.accounts[0].said, []);
		FakeAccount.refusing = false;
		mock.timers.tick(2000);
		await settled();
		assert.match(told.log, /the server is gone; connecting again/);
		assert.deepEqual(pair.accounts[0].said, ['|/utm null', `|/challenge ${two.id}, gen1randombattle`]);
		assert.deepEqual(told.failed, []);
	} finally {
		mock.timers.reset();
	}
});

/** A pair in one battle, its first account without a connection. */
async function cutPair() {
	const { pair, told } = await connectedPair();
	const stage = new ArrivalStage(2, setup.actionSet.maskBytes, setup.observer.nbytes);
	pair.events.hear = (match, seat, lines) => match.hear(seat, lines, stage, 0);
	const match = aMatch(1);
	pair.start(match);
	const say = (seat, ...lines) => pair.accounts[seat].hear({ room: 'battle-1', lines });
	for (const seat of [0, 1]) say(seat, ...OPENING);
	for (const seat of [0, 1]) say(seat, request(seat, 2 + seat));
	assert.equal(stage.count, 2);
	stage.count = 0;
	pair.accounts[0].lose();
	return { pair, told, match, stage, say };
}

test('a choice that a lost connection swallowed is made again in the battle that the server brings back', async () => {
	mock.timers.enable({ apis: ['setTimeout'] });
	try {
		const { pair, match, stage, say } = await cutPair();
		for (const seat of [0, 1]) match.act(seat, 1, stage, 0);
		mock.timers.tick(250);
		await settled();
		say(0, ...OPENING);
		const before = pair.accounts[0].said.length;
		say(0, request(0, 2));
		assert.deepEqual(pair.accounts[0].said.slice(before), ['battle-1|/choose move 2|2']);
		for (const seat of [0, 1]) say(seat, '|t:|2', '|turn|2');
		for (const seat of [0, 1]) say(seat, request(seat, 4 + seat));
		assert.equal(stage.count, 2);
		assert.deepEqual([match.turn, match.decisions, match.fault], [2, [1, 1], null]);
	} finally {
		mock.timers.reset();
	}
});

test('nothing is said in the room of a battle that the server does not bring back', async () => {
	mock.timers.enable({ apis: ['setTimeout'] });
	try {
		const { pair, told, match, stage } = await cutPair();
		pair.accounts[1].lose();
		mock.timers.tick(500);
		await settled();
		const before = pair.accounts.map(account => account.said.length);
		for (const seat of [0, 1]) pair.say(match, seat, match.act(seat, 1, stage, 0));
		mock.timers.tick(5000);
		assert.deepEqual(told.failed, [[match, 'the connection to the server was lost']]);
		assert.deepEqual(pair.accounts.map(account => account.said.length), before);
	} finally {
		mock.timers.reset();
	}
});

test('a choice that the server has is not made twice, and a seat that still thinks is not asked twice', async () => {
	mock.timers.enable({ apis: ['setTimeout'] });
	try {
		const { pair, match, stage, say } = await cutPair();
		match.act(1, 0, stage, 0);
		mock.timers.tick(250);
		await settled();
		const before = pair.accounts[0].said.length;
		say(0, ...OPENING);
		say(0, request(0, 2), '|sentchoice|move 1');
		assert.equal(stage.count, 0);
		assert.equal(match.act(0, 0, stage, 0), '/choose move 1|2');
		assert.equal(pair.accounts[0].said.length, before);
	} finally {
		mock.timers.reset();
	}
});

for (const lost of [0, 1]) {
	test(`a battle goes on whose first player was in its room when player ${lost + 1} lost the connection`, async () => {
		mock.timers.enable({ apis: ['setTimeout'] });
		try {
			const { pair, told } = await connectedPair();
			const stage = new ArrivalStage(2, setup.actionSet.maskBytes, setup.observer.nbytes);
			pair.events.hear = (match, seat, lines) => match.hear(seat, lines, stage, 0);
			const match = aMatch(1);
			const next = aMatch(2);
			for (const each of [match, next]) pair.start(each);
			const say = (seat, ...lines) => pair.accounts[seat].hear({ room: 'battle-1', lines });
			say(0, ...OPENING);
			pair.accounts[lost].lose();
			if (lost === 0) say(1, ...OPENING);
			mock.timers.tick(250);
			await settled();
			say(lost, ...OPENING);
			for (const seat of [0, 1]) say(seat, request(seat, 2 + seat));
			assert.equal(stage.count, 2);
			mock.timers.tick(5000);
			assert.deepEqual([told.failed, match.fault, pair.starting], [[], null, next]);
		} finally {
			mock.timers.reset();
		}
	});
}

test('a battle that the server does not bring back is lost', async () => {
	mock.timers.enable({ apis: ['setTimeout'] });
	try {
		const { told, match } = await cutPair();
		mock.timers.tick(250);
		await settled();
		mock.timers.tick(5000);
		assert.deepEqual(told.failed, [[match, 'the connection to the server was lost']]);
	} finally {
		mock.timers.reset();
	}
});

// -- scheduled matches

test('a scheduled match that was lost to something passing is opened again, three times', () => {
	const host = new SlotHost(() => {}, () => {});
	Object.assign(host, { schedule: [[5, 50], [6, 60]], begun: 2, faults: 0, seed: 1 });
	const said = [];
	host.writer.json = (kind, body) => said.push(body.again ?? false);
	const away = Object.assign(new HostError('match', 'the connection to the server was lost'), { isPassing: true });
	host.reportFault(0, { number: 6, seed: 60, fault: new HostError('match', 'the team was rejected') });
	assert.equal(host.nextMatch(), null);
	for (let i = 0; i < 4; i++) {
		host.reportFault(0, { number: 5, seed: 50, fault: away });
		assert.deepEqual(host.nextMatch(), i < 3 ? { number: 5, seed: 50 } : null);
	}
	assert.deepEqual(said, [false, true, true, true, false]);
});
