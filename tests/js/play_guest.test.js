'use strict';
// One account among strangers, without a server: what it says is made up, lost connections included.

const assert = require('node:assert/strict');
const path = require('node:path');
const { mock, test } = require('node:test');
const { HOST } = require('./simulator.js');
const { FORMAT, newArrivals, openingLines, request, serverSetup } = require('./fake_server.js');
const { Guest } = require(path.join(HOST, 'play', 'guest.js'));
const { GuestMatch } = require(path.join(HOST, 'play', 'match.js'));

const ROOM = `battle-${FORMAT}-1`;
const setup = serverSetup(true);
const OPENING = openingLines('Stranger|1|1042', 'Agent|1|', ['|title|x', '|j|x']);

const aMatch = number => new GuestMatch(setup, 0, number, number, 0);

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
		const arrivals = newArrivals(setup);
		const wish = { name: 'Agent', mode, opponent, format: FORMAT, startDeadlineMs: 60_000, reconnectDeadlineMs: 600_000 };
		const guest = new Guest(wish, {
			hear: (match, lines) => match.hear(lines, arrivals, Date.now()),
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
		await act({ guest, account, told, tick, say, challenge, waiting, arrivals });
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
function inBattle({ account, challenge, waiting, arrivals }) {
	challenge('Stranger');
	account.hear({ room: ROOM, lines: OPENING });
	account.hear({ room: ROOM, lines: [request(1, 2)] });
	assert.equal(arrivals.count, 1);
	arrivals.count = 0;
	account.take();
	return waiting[0];
}

test('a choice that a lost connection swallowed is made again in its battle', () => withGuest({}, async given => {
	const { account, arrivals, tick, told } = given;
	const match = inBattle(given);
	account.drop('cut');
	match.act(0, 1, arrivals, 0);
	account.refusing = true;
	await tick(250);
	account.refusing = false;
	await tick(500);
	assert.deepEqual([account.opened, account.take()], [3, [`|/join ${ROOM}`]]);
	account.hear({ room: ROOM, lines: OPENING });
	account.hear({ room: ROOM, lines: [request(1, 2)] });
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
	const { account, arrivals, tick } = given;
	const match = inBattle(given);
	match.act(0, 1, arrivals, 0);
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
