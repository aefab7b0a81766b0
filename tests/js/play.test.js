'use strict';
// The parts of the host that plays strangers, without a server: what is said to them is made up, faults included.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { mock, test } = require('node:test');
const { HOST, HOSTING } = require('./simulator.js');
const { ArrivalStage, HostError } = require(path.join(HOSTING, 'frames.js'));
const { errorText, messageOf } = require(path.join(HOSTING, 'words.js'));
const { setUp } = require(path.join(HOST, 'setup.js'));
const { Connection, userId } = require(path.join(HOST, 'server', 'connection.js'));
const { Account } = require(path.join(HOST, 'play', 'account.js'));
const { Guest } = require(path.join(HOST, 'play', 'guest.js'));
const { EventLimit } = require(path.join(HOST, 'play', 'events.js'));
const { assertion, readPassword } = require(path.join(HOST, 'play', 'login.js'));
const { GuestMatch } = require(path.join(HOST, 'play', 'match.js'));

const FORMAT = 'gen1randombattle';
const ROOM = `battle-${FORMAT}-1`;
const LIMITS = { start_deadline_s: 60, silence_deadline_s: 600 };
const setup = setUp(process.env.LUDUS_TEST_SIMULATOR, { feature_set: 'raw', format: FORMAT }, true, {
	engine: 'server', options: {},
});
const OPENING = [
	'|init|battle', '|title|x', '|j|x', '|t:|1', '|gametype|singles', '|player|p1|Stranger|1|1042', '|player|p2|Agent|1|',
	'|teamsize|p1|1', '|teamsize|p2|1', '|gen|1', '|tier|[Gen 1] Random Battle', '|start',
	'|switch|p1a: Mew|Mew, L80|100/100',
	'|switch|p2a: Mew|Mew, L80|100/100', '|turn|1',
];

function request(rqid, more = {}) {
	const mon = {
		ident: 'p2: Mew', details: 'Mew, L80', condition: '300/300', active: true, moves: ['tackle', 'surf'],
		stats: { atk: 1, def: 1, spa: 1, spd: 1, spe: 1 }, baseAbility: 'noability', item: '', pokeball: 'pokeball',
	};
	const move = (name, id) => ({ move: name, id, pp: 20, maxpp: 20, target: 'normal', disabled: false });
	const active = [{ moves: [move('Tackle', 'tackle'), move('Surf', 'surf')] }];
	return `|request|${JSON.stringify({ active, side: { name: 'Agent', id: 'p2', pokemon: [mon] }, rqid, ...more })}`;
}

const newStage = () => new ArrivalStage(2, setup.actionSet.maskBytes, setup.observer.nbytes);
const aMatch = number => new GuestMatch(setup, 0, number, number, 0);

// -- one battle

function startedMatch(opening = OPENING) {
	const stage = newStage();
	const match = aMatch(7);
	match.join(ROOM, 'agent', 0);
	match.hear(opening, stage, 0);
	match.hear([request(2)], stage, 0);
	assert.deepEqual([stage.count, stage.row[0]], [1, 0]);
	stage.count = 0;
	return { match, stage };
}

test('the agent sits in seat 0, whichever player it is', () => {
	const { match, stage } = startedMatch();
	assert.equal(match.opponent, 'Stranger');
	assert.equal(match.act(0, 1, stage, 0), '/choose move 2|2');
	match.hear(['|t:|2', '|win|Agent'], stage, 0);
	assert.deepEqual(match.ending.score, [1, 0]);
	assert.equal(match.ending.facts.decisions_0, 1);
});

test('ties, forfeits and lost battles are told apart', () => {
	const scores = [
		['|tie'], ['|-message|Agent forfeited.', '|win|Stranger'],
		['|-message|Stranger lost due to inactivity.', '|win|Agent'],
	];
	assert.deepEqual(scores.map(lines => {
		const { match, stage } = startedMatch();
		match.act(0, 0, stage, 0);
		match.hear(lines, stage, 0);
		return match.ending.score;
	}), [[0.5, 0.5], [0, 1], [1, 0]]);
});

test('a flood of chat is neither kept nor taken for a sign of life', () => {
	const { match, stage } = startedMatch();
	match.act(0, 0, stage, 1000);
	const kept = match.battle.log.length;
	const kinds = ['|c|x|spam', '|c:|1|x|spam', 'plain', '||x', '|j|y', '|raw|<b>'];
	const flood = Array.from({ length: 10_000 }, (_, i) => kinds[i % kinds.length]);
	match.hear(flood, stage, 500_000);
	assert.equal(match.battle.log.length, kept);
	assert.equal(match.sinceMs, 1000);
	assert.equal(stage.count, 0);
});

test('a choice that the server calls invalid is counted, and the server chooses', () => {
	const { match, stage } = startedMatch();
	match.act(0, 0, stage, 0);
	const refusal = '|error|[Invalid choice] Can\'t move: Mew has no such move';
	assert.deepEqual(match.hear([refusal], stage, 0), ['/choose default|2']);
	match.hear(['|t:|2', '|win|Agent'], stage, 0);
	assert.deepEqual([match.ending.facts.invalid, match.ending.facts.decisions_0], [1, 0]);
});

test('a choice that came too late is not an invalid one', () => {
	const { match, stage } = startedMatch();
	match.act(0, 0, stage, 0);
	const tooLate = 'Sorry, too late to make a different move; the next turn has already started';
	for (const why of ['There\'s nothing to choose', tooLate]) {
		assert.deepEqual(match.hear([`|error|[Invalid choice] ${why}`], stage, 0), []);
	}
	assert.equal(match.invalid, 0);
});

test('a clock that chose for a slow agent leads to the next question', () => {
	const { match, stage } = startedMatch();
	match.hear(['|inactive|Agent was slow', '|t:|2', '|turn|2'], stage, 0);
	match.hear([request(4)], stage, 0);
	assert.equal(stage.count, 0); // the answer to the first question is still to come
	assert.equal(match.act(0, 0, stage, 0), null);
	assert.equal(stage.count, 1);
	assert.equal(match.act(0, 1, stage, 0), '/choose move 2|4');
});

test('open team sheets are declined, and those that are forced change nothing', () => {
	const match = aMatch(1);
	match.join(ROOM, 'agent', 0);
	const asked = ['|uhtml|otsrequest|<button>', '|uhtmlchange|otsrequest|'];
	assert.deepEqual(match.hear(asked, newStage(), 0), ['/rejectopenteamsheets']);
	const { match: forced, stage } = startedMatch([...OPENING, '|showteam|p1|Mew||||surf||||||', '|unheardof|1']);
	assert.equal(forced.act(0, 1, stage, 0), '/choose move 2|2');
	assert.equal(forced.fault, null);
});

test('a battle that never begins, one in which nothing happens and one that the server closes are given up', () => {
	const match = aMatch(1);
	assert.equal(match.overdue(10 ** 9, LIMITS), null); // nobody has come yet, and nobody has to
	match.join(ROOM, 'agent', 0);
	match.hear(OPENING, newStage(), 0);
	assert.match(match.overdue(61_000, LIMITS).message, /no battle began within 60 s/);
	const { match: running, stage } = startedMatch();
	assert.equal(running.overdue(10 ** 9, LIMITS), null); // the policy thinks
	running.act(0, 0, stage, 0);
	assert.equal(running.isIdle(80_000, 90), false);
	assert.equal(running.isIdle(91_000, 90), true);
	assert.match(running.overdue(601_000, LIMITS).message, /nothing happened for 600 s/);
	running.hear(['|deinit'], stage, 0);
	assert.match(running.fault.message, /the server closed the battle before it was over/);
});

test('a rated battle ends with its rating, or soon without', () => {
	const rated = ['|rated|', ...OPENING.slice(1)];
	const { match, stage } = startedMatch(rated);
	match.act(0, 0, stage, 0);
	match.hear(['|win|Agent'], stage, 0);
	assert.equal(match.ending, null);
	match.hear(['|raw|Stranger\'s rating: 1042 &rarr; <strong>1020</strong><br />(x)'], stage, 0);
	match.hear(['|raw|Agent\'s rating: 1000 &rarr; <strong>1031</strong><br />(x)'], stage, 0);
	assert.equal(match.ending.facts.rating, 1031);
	const { match: untold, stage: other } = startedMatch(rated);
	untold.act(0, 0, other, 0);
	untold.hear(['|win|Agent'], other, 0);
	assert.equal(untold.overdue(4000, LIMITS), null);
	assert.deepEqual(untold.ending.score, [1, 0]);
});

// -- one account among strangers

class FakeAccount {
	constructor(handlers) {
		const state = { said: [], name: 'Agent', id: 'agent', isOpen: false, opened: 0, refusing: false, pings: 0 };
		Object.assign(this, handlers, state);
	}

	async open() {
		this.opened++;
		if (this.refusing) throw new Error('no Showdown server answers there');
		this.isOpen = true;
	}

	send(room, text) {
		this.said.push(`${room}|${text}`);
	}

	take() {
		return this.said.splice(0);
	}

	ping() {
		this.pings++;
	}

	drop(why) {
		this.isOpen = false;
		this.lost(why);
	}

	close() {}
}

/** A guest with `matches` waiting, with a clock of its own; `act` gets {guest, account, told, tick}. */
async function withGuest({ mode = 'accept', opponent = '', matches = 1, before = [] }, act) {
	mock.timers.enable({ apis: ['setTimeout', 'Date'] });
	try {
		const told = { events: [], failed: [], fatal: [] };
		const stage = newStage();
		const wish = { name: 'Agent', mode, opponent, format: FORMAT, startDeadlineMs: 60_000, reconnectDeadlineMs: 600_000 };
		const guest = new Guest(wish, {
			hear: (match, lines) => match.hear(lines, stage, Date.now()),
			fail: (match, error) => told.failed.push([match.number, error.message]),
			fatal: error => told.fatal.push(error.message),
			tell: event => told.events.push(event),
		}, handlers => new FakeAccount(handlers));
		await guest.connect();
		const waiting = Array.from({ length: matches }, (_, i) => aMatch(i));
		for (const match of waiting) guest.start(match);
		for (const message of before) guest.account.hear(message);
		guest.takeUp();
		const tick = async ms => {
			mock.timers.tick(ms);
			await new Promise(resolve => setImmediate(resolve));
		};
		const { account } = guest;
		const say = (...lines) => account.hear({ room: '', lines });
		const challenge = (name, format = FORMAT) => say(`|pm| ${name}| Agent|/challenge ${format}|${format}|||`);
		await act({ guest, account, told, tick, say, challenge, waiting, stage });
	} finally {
		mock.timers.reset();
	}
}

test('challenges are accepted one after the other, and no more than matches', () => withGuest({ matches: 2 }, given => {
	const { account, challenge } = given;
	for (const name of ['One', 'Two', 'Three']) challenge(name);
	assert.deepEqual(account.take(), ['|/utm null', '|/accept one']);
	account.hear({ room: ROOM, lines: OPENING });
	assert.deepEqual(account.take(), ['|/utm null', '|/accept two']);
	account.hear({ room: `battle-${FORMAT}-2`, lines: OPENING });
	assert.deepEqual(account.take(), []); // the third waits for a free match
}));

test('other formats are declined, challenges that were taken back forgotten', () => withGuest({ matches: 2 }, given => {
	const { account, challenge, say, told } = given;
	challenge('One', 'gen9ou');
	challenge('Custom', `${FORMAT}@@@!Sleep Clause Mod`);
	assert.deepEqual(account.take(), ['|/reject one', '|/reject custom']);
	assert.deepEqual(told.events.map(event => event.event), ['declined', 'declined']);
	challenge('Two');
	challenge('Three');
	say('|pm| Three| Agent|/challenge');
	account.take();
	account.hear({ room: ROOM, lines: OPENING });
	assert.deepEqual(account.take(), []);
}));

test('an accepted challenge of which nothing comes is told, its match waits', () => withGuest({}, async given => {
	const { account, challenge, guest, tick, told } = given;
	challenge('One');
	account.take();
	mock.timers.tick(61_000);
	guest.heardMs = Date.now();
	guest.watch(Date.now());
	assert.deepEqual(told.events, [{ event: 'unplayed', who: 'One', why: 'no battle began within 60 s' }]);
	challenge('Two');
	await tick(300);
	assert.deepEqual(account.take(), ['|/utm null', '|/accept two']);
	assert.deepEqual(told.fatal, []);
}));

const CHALLENGING = { mode: 'challenge', opponent: 'One' };

test('a challenge is made again while its refusal passes', () => withGuest(CHALLENGING, async given => {
	const { account, say, tick, told } = given;
	assert.deepEqual(account.take(), ['|/utm null', `|/challenge one, ${FORMAT}`]);
	const refusals = [
		['This user already has 3 pending challenges.||You must be autoconfirmed to challenge them.', 250],
		['The server is restarting. Battles will be available again in a few minutes.', 500],
		['The user \'one\' was not found.', 1000],
	];
	for (const [why, ms] of refusals) {
		say(`|popup|${why}`);
		await tick(ms - 1);
		assert.deepEqual(account.take(), []);
		await tick(1);
		assert.deepEqual(account.take(), ['|/utm null', `|/challenge one, ${FORMAT}`]);
	}
	assert.deepEqual(told.fatal, []);
}));

test('a user who accepts no challenge is given up', () => withGuest(CHALLENGING, async given => {
	const { account, guest, tick, told } = given;
	for (let i = 0; i < 3; i++) {
		await tick(61_000);
		guest.heardMs = Date.now();
		guest.watch(Date.now());
		await tick(5000);
	}
	assert.equal(account.take().filter(said => said === '|/cancelchallenge one').length, 3);
	assert.match(told.fatal[0], /3 challenges of One in a row came to nothing, the last one: no battle began within 60 s/);
}));

test('a rejected team ends it with the server\'s words', () => withGuest({ mode: 'ladder' }, given => {
	const { account, say, told } = given;
	assert.deepEqual(account.take(), ['|/utm null', `|/search ${FORMAT}`]);
	say('|popup|Your team was rejected for the following reasons:||||- Mew is banned.');
	assert.deepEqual(told.fatal, ['the server says: Your team was rejected for the following reasons: - Mew is banned.']);
}));

test('a message of an unknown kind is told once', () => withGuest({}, ({ account, say, told }) => {
	for (let i = 0; i < 3; i++) say('|novelty|1|2', '|usercount|3');
	account.hear({ room: ROOM, lines: [...OPENING, '|-newminor|x', '|-newminor|y'] });
	assert.deepEqual(told.events, [{ event: 'unknown', kind: 'novelty' }, { event: 'unknown', kind: '-newminor' }]);
}));

/** A guest in one battle, asked for its first choice. */
function inBattle({ account, challenge, waiting, stage }) {
	challenge('Stranger');
	account.hear({ room: ROOM, lines: OPENING });
	account.hear({ room: ROOM, lines: [request(2)] });
	assert.equal(stage.count, 1);
	stage.count = 0;
	account.take();
	return waiting[0];
}

test('a choice that a lost connection swallowed is made again in its battle', () => withGuest({}, async given => {
	const { account, stage, tick, told } = given;
	const match = inBattle(given);
	account.drop('cut');
	match.act(0, 1, stage, 0);
	account.refusing = true;
	await tick(250);
	account.refusing = false;
	await tick(500);
	assert.deepEqual([account.opened, account.take()], [3, [`|/join ${ROOM}`]]);
	account.hear({ room: ROOM, lines: OPENING });
	account.hear({ room: ROOM, lines: [request(2)] });
	assert.deepEqual(account.take(), [`${ROOM}|/choose move 2|2`]);
	await tick(6000);
	assert.deepEqual(told.failed, []);
	account.hear({ room: ROOM, lines: ['|t:|2', '|win|Agent'] });
	assert.deepEqual(match.ending.score, [1, 0]);
	assert.deepEqual(told.events.map(event => event.event), ['lost', 'back']);
}));

test('a battle that the account is in when it logs in is taken up, where a match waits for one', () => {
	const before = [1, 2].map(number => ({ room: `battle-${FORMAT}-${number}`, lines: OPENING }));
	return withGuest({ mode: 'challenge', opponent: 'One', before }, ({ account, waiting }) => {
		assert.equal(waiting[0].room, ROOM);
		assert.deepEqual(account.take(), [`battle-${FORMAT}-2|/forfeit`, `|/leave battle-${FORMAT}-2`]);
	});
});

test('a battle that a restarted server does not bring back is lost', () => withGuest({}, async given => {
	inBattle(given);
	given.account.drop('cut');
	await given.tick(250);
	await given.tick(5000);
	assert.deepEqual(given.told.failed, [[0, 'the connection to the server was lost']]);
}));

test('a server that stays away is given up', () => withGuest({}, async ({ account, tick, told }) => {
	account.refusing = true;
	account.drop('cut');
	for (let i = 0; i < 200 && told.fatal.length === 0; i++) await tick(5000);
	assert.deepEqual(told.fatal, ['no Showdown server answers there; given up after 600 s']);
	assert.ok(account.opened < 200);
}));

test('a silent server is asked for a sign of life, and left when it gives none', () => withGuest({}, given => {
	const { account, guest, told } = given;
	const began = Date.now();
	guest.watch(began + 59_000);
	assert.equal(account.pings, 0);
	guest.watch(began + 61_000);
	assert.equal(account.pings, 1);
	guest.watch(began + 91_000);
	assert.deepEqual(told.events.map(event => event.event), ['lost']);
}));

test('a choice that a server was too busy to listen to is said again', () => withGuest({}, async given => {
	const { account, stage, tick } = given;
	const match = inBattle(given);
	match.act(0, 1, stage, 0);
	const throttled = '|raw|<strong class="message-throttle-notice">Your message was not sent.</strong>';
	account.hear({ room: ROOM, lines: [throttled] });
	await tick(1500);
	assert.deepEqual(account.take(), [`${ROOM}|/choose move 2|2`]);
}));

test('who leaves begins nothing more, and forfeits only in the end', () => withGuest({ matches: 2 }, given => {
	const { account, challenge, guest } = given;
	inBattle(given);
	guest.drain();
	challenge('Late');
	assert.deepEqual(account.take(), ['|/reject late']);
	account.hear({ room: `battle-${FORMAT}-2`, lines: OPENING });
	assert.deepEqual(account.take(), [`battle-${FORMAT}-2|/forfeit`, `|/leave battle-${FORMAT}-2`]);
	guest.forfeit();
	assert.deepEqual(account.take(), [`${ROOM}|/forfeit`, `|/leave ${ROOM}`]);
}));

test('who leaves comes back to a battle that runs', () => withGuest({ matches: 2 }, async given => {
	const { account, challenge, guest, tick, told } = given;
	inBattle(given);
	guest.drain();
	account.drop('cut');
	await tick(250);
	assert.deepEqual(told.events.map(({ event }) => event), ['lost', 'back']);
	assert.deepEqual(account.take(), [`|/join ${ROOM}`]);
	account.hear({ room: ROOM, lines: OPENING });
	challenge('Late');
	assert.deepEqual(account.take(), ['|/reject late']);
	guest.close();
	account.drop('cut');
	await tick(60_000);
	assert.equal(account.isOpen, false);
}));

// -- what it reports

test('an event is short, and a second holds few of one kind', () => {
	let nowMs = 0;
	const limit = new EventLimit(() => nowMs);
	const popup = { event: 'popup', why: 'x'.repeat(10_000) };
	const admitted = Array.from({ length: 1000 }, () => limit.admit(popup)).filter(event => event !== null);
	assert.equal(admitted.length, 20);
	assert.ok(admitted.every(event => event.event === 'popup' && event.why.length < 400));
	assert.deepEqual(limit.admit({ event: 'back', afterS: 2 }), { event: 'back', afterS: 2 });
	nowMs = 1000;
	assert.deepEqual(limit.admit({ event: 'popup', why: '' }), { event: 'popup', why: '', left_out: 980 });
});

test('words of others are indented in a log, without what a terminal obeys', () => {
	const said = '@{"event":"back"}\n@{"event":"back"}\r\u001b[2J';
	const lines = errorText(new HostError('match', said, said)).split('\n');
	assert.match(lines[0], /^Error: @/);
	assert.ok(lines.slice(1).every(line => line === '' || line.startsWith('    ')), lines.join('\n'));
	assert.ok(lines.includes('    @{"event":"back"}\\u000d\\u001b[2J'));
	assert.ok(errorText(new HostError('match', 'x'.repeat(10 ** 6), 'y'.repeat(10 ** 6))).length < 50_000);
	assert.ok(messageOf(new Error('x'.repeat(10 ** 6))).length < 1000);
});

// -- logging in

test('what a server says together with the name is heard', async () => {
	const original = Connection.Socket;
	Connection.Socket = FakeSocket;
	try {
		const heard = [];
		const options = { format: setup.format, password: null, loginServer: '' };
		const account = new Account('ws://x', { hear: message => heard.push(message), lost() {} }, options);
		const opened = account.open('Agent', 1000);
		for (const data of ['|challstr|4|abc', '|updateuser| Agent|1|1|{}\n|popup|hello', '|pm| One| Agent|/challenge x']) {
			FakeSocket.last.onmessage({ data });
		}
		await opened;
		assert.deepEqual(heard, [
			{ room: '', lines: ['|popup|hello'] }, { room: '', lines: ['|pm| One| Agent|/challenge x'] },
		]);
	} finally {
		Connection.Socket = original;
	}
});

class FakeSocket {
	constructor() {
		Object.assign(this, { sent: [] });
		FakeSocket.last = this;
	}

	send(text) {
		this.sent.push(text);
	}

	close() {}
}

/** How logging in ends when the server says these things. */
async function logIn(messages, wanted = {}) {
	const original = Connection.Socket;
	Connection.Socket = FakeSocket;
	try {
		const options = { format: setup.format, password: null, loginServer: '', ...wanted };
		const account = new Account('ws://x', { hear() {}, lost() {} }, options);
		const opened = account.open('My Agent', 10_000).then(() => 'in', error => error.message);
		const socket = FakeSocket.last;
		for (const message of messages) socket.onmessage({ data: message });
		return { outcome: await opened, sent: socket.sent };
	} finally {
		Connection.Socket = original;
	}
}

const FORMATS = '|formats|,1|S/V Singles|[Gen 9] OU,e|,2|RBY|[Gen 1] Random Battle,f';

test('the agent takes the name it was given and no other', async () => {
	const greeting = `|updateuser| Guest 1|0|1|{}\n${FORMATS}`;
	const { outcome, sent } = await logIn([greeting, '|challstr|4|abc', '|updateuser| My Agent|1|1|{}']);
	assert.deepEqual([outcome, sent], ['in', ['|/trn My Agent,0,']]);
});

test('who cannot log in is told why in one line', async () => {
	const outcomeOf = async (...messages) => (await logIn(messages)).outcome;
	assert.match(await outcomeOf('|challstr|4|a', '|nametaken|My Agent|Someone is already using the name "My Agent".'),
		/the server refused the name My Agent: Someone is already using the name "My Agent"\.$/);
	const taken = await outcomeOf('|challstr|4|a', '|nametaken|My Agent|Your authentication token was invalid.');
	assert.match(taken, /--password-file/);
	const unknown = await outcomeOf('|formats|,1|S/V Singles|[Gen 9] OU,e');
	assert.match(unknown, /the server does not know the format gen1randombattle/);
	assert.match(await outcomeOf('{"hello": "world"}'), /it does not speak the Showdown protocol/);
});

/** A login server that answers as told, on loopback; `act` gets its address and what it was sent. */
async function withLoginServer(answer, act) {
	const seen = [];
	const server = http.createServer((incoming, outgoing) => {
		let body = '';
		incoming.on('data', chunk => { body += chunk; });
		incoming.on('end', () => {
			seen.push(new URLSearchParams(body));
			outgoing.writeHead(answer.status ?? 200);
			outgoing.end(answer.text);
		});
	});
	await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
	try {
		await act(`http://127.0.0.1:${server.address().port}/action.php`, seen);
	} finally {
		server.closeAllConnections();
		await new Promise(resolve => server.close(resolve));
	}
}

const ASSERTED = ']{"actionsuccess":true,"assertion":"a,b;c"}';

test('a password becomes an assertion', () => withLoginServer({ text: ASSERTED }, async (url, seen) => {
	const signed = await assertion(url, { name: 'My Agent', password: 'hunter & 2', challstr: '4|abc' });
	assert.equal(signed, 'a,b;c');
	const form = { act: 'login', name: 'My Agent', pass: 'hunter & 2', challstr: '4|abc' };
	assert.deepEqual(Object.fromEntries(seen[0]), form);
}));

test('what a login server refuses is told without the password', async () => {
	const answers = [
		[{ text: ']{"actionsuccess":false,"assertion":";"}' }, /the name or the password is wrong/],
		[{ text: ']{"actionsuccess":false,"assertion":";;Your account is locked."}' }, /Your account is locked/],
		[{ text: '<html>' }, /its answer is none that a login server gives/],
		[{ text: 'x', status: 500 }, /it answered with status 500/],
	];
	for (const [answer, expected] of answers) {
		await withLoginServer(answer, async url => {
			const account = { name: 'My Agent', password: 'hunter2', challstr: '4|abc' };
			const error = await assertion(url, account).catch(caught => caught);
			assert.match(error.message, expected);
			assert.ok(!error.message.includes('hunter2'));
		});
	}
	const account = { name: 'x', password: 'hunter2', challstr: '' };
	await assert.rejects(assertion('http://127.0.0.1:9/', account), /ECONNREFUSED|bad port/);
});

test('a password is the first line of its file', () => {
	const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ludus-password-'));
	try {
		const file = path.join(folder, 'password');
		fs.writeFileSync(file, 'hunter 2\r\nmore\n');
		assert.equal(readPassword(file), 'hunter 2');
		fs.writeFileSync(file, '\n');
		assert.throws(() => readPassword(file), /has no password in its first line/);
		assert.throws(() => readPassword(path.join(folder, 'none')), /cannot be read \(ENOENT\)/);
	} finally {
		fs.rmSync(folder, { recursive: true });
	}
	assert.equal(userId('My Agent'), 'myagent');
});
