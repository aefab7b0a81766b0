'use strict';
// Two accounts that play each other on a server, without a server: what it says is made up, lost connections included.

const assert = require('node:assert/strict');
const path = require('node:path');
const { mock, test } = require('node:test');
const { HOST } = require('./simulator.js');
const { newArrivals, openingLines, request, serverSetup } = require('./fake_server.js');
const { userId } = require(path.join(HOST, 'server', 'connection.js'));
const { ServerMatch } = require(path.join(HOST, 'server', 'match.js'));
const { Pair } = require(path.join(HOST, 'server', 'pair.js'));

const setup = serverSetup(false);
const OPENING = openingLines('One|1|', 'Two|1|');

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
	const arrivals = newArrivals(setup);
	pair.events.hear = (match, seat, lines) => match.hear(seat, lines, arrivals, 0);
	const match = aMatch(1);
	pair.start(match);
	const say = (seat, ...lines) => pair.accounts[seat].hear({ room: 'battle-1', lines });
	for (const seat of [0, 1]) say(seat, ...OPENING);
	for (const seat of [0, 1]) say(seat, request(seat, 2 + seat));
	assert.equal(arrivals.count, 2);
	arrivals.count = 0;
	pair.accounts[0].lose();
	return { pair, told, match, arrivals, say };
}

test('a choice that a lost connection swallowed is made again in the battle that the server brings back', async () => {
	mock.timers.enable({ apis: ['setTimeout'] });
	try {
		const { pair, match, arrivals, say } = await cutPair();
		for (const seat of [0, 1]) match.act(seat, 1, arrivals, 0);
		mock.timers.tick(250);
		await settled();
		say(0, ...OPENING);
		const before = pair.accounts[0].said.length;
		say(0, request(0, 2));
		assert.deepEqual(pair.accounts[0].said.slice(before), ['battle-1|/choose move 2|2']);
		for (const seat of [0, 1]) say(seat, '|t:|2', '|turn|2');
		for (const seat of [0, 1]) say(seat, request(seat, 4 + seat));
		assert.equal(arrivals.count, 2);
		assert.deepEqual([match.turn, match.decisions, match.fault], [2, [1, 1], null]);
	} finally {
		mock.timers.reset();
	}
});

test('nothing is said in the room of a battle that the server does not bring back', async () => {
	mock.timers.enable({ apis: ['setTimeout'] });
	try {
		const { pair, told, match, arrivals } = await cutPair();
		pair.accounts[1].lose();
		mock.timers.tick(500);
		await settled();
		const before = pair.accounts.map(account => account.said.length);
		for (const seat of [0, 1]) pair.say(match, seat, match.act(seat, 1, arrivals, 0));
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
		const { pair, match, arrivals, say } = await cutPair();
		match.act(1, 0, arrivals, 0);
		mock.timers.tick(250);
		await settled();
		const before = pair.accounts[0].said.length;
		say(0, ...OPENING);
		say(0, request(0, 2), '|sentchoice|move 1');
		assert.equal(arrivals.count, 0);
		assert.equal(match.act(0, 0, arrivals, 0), '/choose move 1|2');
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
			const arrivals = newArrivals(setup);
			pair.events.hear = (match, seat, lines) => match.hear(seat, lines, arrivals, 0);
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
			assert.equal(arrivals.count, 2);
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
