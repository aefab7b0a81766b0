'use strict';
// Battles on a server, without a server: what it says is made up, faults included.

const assert = require('node:assert/strict');
const path = require('node:path');
const { test } = require('node:test');
const { HOST, HOSTING } = require('./simulator.js');
const { newArrivals, openingLines, request, serverSetup } = require('./fake_server.js');
const { HostError } = require(path.join(HOSTING, 'frames.js'));
const { SlotHost } = require(path.join(HOSTING, 'slots.js'));
const { ServedBattle } = require(path.join(HOST, 'server', 'battle.js'));
const { ServerMatch } = require(path.join(HOST, 'server', 'match.js'));

const setup = serverSetup(false);
const OPENING = openingLines('One|1|', 'Two|1|');

function waitRequest(seat, rqid) {
	const { side } = JSON.parse(request(seat, rqid).slice('|request|'.length));
	return `|request|${JSON.stringify({ wait: true, side, rqid })}`;
}

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
	const arrivals = newArrivals(setup);
	const match = new ServerMatch(setup, 0, 7, 1, 0);
	for (const seat of [0, 1]) match.join(seat, 'battle-x-1', seat === 0 ? 'One' : 'Two');
	for (const seat of [0, 1]) match.hear(seat, OPENING, arrivals, 0);
	match.hear(0, [request(0, 2)], arrivals, 0);
	assert.equal(arrivals.count, 0);
	match.hear(1, [request(1, 3)], arrivals, 0);
	assert.equal(arrivals.count, 2);
	arrivals.count = 0;
	return { match, arrivals };
}

test('both seats are asked together, and the choices carry the numbers of their requests', () => {
	const { match, arrivals } = startedMatch();
	assert.equal(match.act(1, 0, arrivals, 0), '/choose move 1|3');
	assert.equal(match.act(0, 1, arrivals, 0), '/choose move 2|2');
	assert.equal(match.owed, false);
});

test('an unavailable choice is asked again with the corrected request, and counted', () => {
	const { match, arrivals } = startedMatch();
	match.act(0, 0, arrivals, 0);
	match.act(1, 0, arrivals, 0);
	match.hear(0, ['|error|[Unavailable choice] Can\'t switch: trapped'], arrivals, 0);
	assert.equal(arrivals.count, 0);
	match.hear(0, [request(0, 4, { update: true })], arrivals, 0);
	assert.deepEqual([arrivals.count, arrivals.row[0]], [1, 0]);
	assert.equal(match.act(0, 1, arrivals, 0), '/choose move 2|4');
	for (const seat of [0, 1]) match.hear(seat, ['|t:|2', '|win|Two'], arrivals, 0);
	assert.deepEqual(match.ending.score, [0, 1]);
	const { refused, decisions_0: first, decisions_1: second } = match.ending.facts;
	assert.deepEqual([refused, first, second], [1, 1, 1]);
});

test('an invalid choice is a fault with the server\'s words', () => {
	const { match, arrivals } = startedMatch();
	match.act(0, 0, arrivals, 0);
	match.act(1, 0, arrivals, 0);
	match.hear(1, ['|error|[Invalid choice] Can\'t move: no'], arrivals, 0);
	assert.match(match.fault.message, /refused a legal choice: \[Invalid choice\] Can't move: no/);
});

test('a request that cannot be read is a fault, not the end of the host', () => {
	const { match, arrivals } = startedMatch();
	match.hear(1, ['|request|{"active":'], arrivals, 0);
	assert.equal(match.fault.message, 'the server asked in a way that is not understood');
	assert.equal(match.fault.detail, '{"active":');
});

test('a battle without an end is a fault before it fills the memory', () => {
	const { match, arrivals } = startedMatch();
	const lines = ['|-message|x', `|-hint|${'x'.repeat(10 ** 6)}`];
	for (let i = 0; i < 20 && !match.fault; i++) match.hear(0, lines, arrivals, 0);
	assert.match(match.fault.message, /the server said over \d+ characters in one battle/);
});

test('a request of another version of the protocol is a fault with what was said', () => {
	const badSide = '{"side":{"id":"player-1","pokemon":[]},"rqid":4}';
	for (const said of ['{"active":[]}', badSide, '{"side":{"id":"p1","pokemon":[]}}', '7']) {
		const { match, arrivals } = startedMatch();
		match.hear(0, [`|request|${said}`], arrivals, 0);
		assert.match(match.fault.message, /not understood$/);
		assert.equal(match.fault.detail, said);
	}
});

test('a flood of chat is neither kept nor taken for a sign of life', () => {
	const { match, arrivals } = startedMatch();
	for (const seat of [0, 1]) match.act(seat, 0, arrivals, 0);
	const kept = match.battles[0].log.length;
	const flood = Array.from({ length: 1000 }, (_, i) => `|c|~x|hello ${i}|turn|9`);
	const lines = [...flood, '|raw|<b>x</b>', '|j|~x', '|c:|1|~x|[Invalid choice]'];
	for (let i = 0; i < 100; i++) match.hear(0, lines, arrivals, 20_000);
	assert.equal(match.battles[0].log.length, kept);
	assert.deepEqual([match.turn, match.fault], [1, null]);
	assert.match(match.overdue(21_000, { start_deadline_s: 15, silence_deadline_s: 20 }).message, /said nothing for 20 s/);
});

test('a match that ends while a seat is waited for ends with its answer', () => {
	const { match, arrivals } = startedMatch();
	match.act(0, 0, arrivals, 0);
	for (const seat of [0, 1]) match.hear(seat, ['|-message|Two forfeited.', '|win|One'], arrivals, 0);
	assert.equal(match.ending, null);
	assert.equal(match.act(1, 0, arrivals, 0), null);
	assert.deepEqual(match.ending.score, [1, 0]);
});

test('a tie is half a point each', () => {
	const { match, arrivals } = startedMatch();
	for (const seat of [0, 1]) match.act(seat, 0, arrivals, 0);
	for (const seat of [0, 1]) match.hear(seat, ['|t:|2', '|', '|tie'], arrivals, 0);
	assert.deepEqual(match.ending.score, [0.5, 0.5]);
});

test('who waits for the other is not asked', () => {
	const { match, arrivals } = startedMatch();
	for (const seat of [0, 1]) match.act(seat, 0, arrivals, 0);
	for (const seat of [0, 1]) match.hear(seat, ['|t:|2', '|faint|p2a: Mew'], arrivals, 0);
	match.hear(0, [waitRequest(0, 4)], arrivals, 0);
	match.hear(1, [request(1, 5)], arrivals, 0);
	assert.deepEqual([arrivals.count, arrivals.row[0]], [1, 1]);
});

test('a silent server is overdue, a slow policy is not', () => {
	const limits = { start_deadline_s: 15, silence_deadline_s: 20 };
	const queued = new ServerMatch(setup, 0, 7, 1, 0);
	assert.equal(queued.overdue(14_000, limits), null);
	assert.match(queued.overdue(16_000, limits).message, /no battle began within 15 s/);
	const { match, arrivals } = startedMatch();
	assert.equal(match.overdue(900_000, limits), null);
	for (const seat of [0, 1]) match.act(seat, 0, arrivals, 900_000);
	assert.equal(match.overdue(919_000, limits), null);
	assert.match(match.overdue(921_000, limits).message, /the server said nothing for 20 s/);
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
