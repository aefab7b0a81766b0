'use strict';
// Battles with strangers on a server, without a server: what it says is made up, faults included.

const assert = require('node:assert/strict');
const path = require('node:path');
const { test } = require('node:test');
const { HOST, HOSTING } = require('./simulator.js');
const { FORMAT, newArrivals, openingLines, request, serverSetup } = require('./fake_server.js');
const { HostError } = require(path.join(HOSTING, 'frames.js'));
const { errorText, messageOf } = require(path.join(HOSTING, 'words.js'));
const { EventLimit } = require(path.join(HOST, 'play', 'events.js'));
const { GuestMatch } = require(path.join(HOST, 'play', 'match.js'));

const ROOM = `battle-${FORMAT}-1`;
const LIMITS = { start_deadline_s: 60, silence_deadline_s: 600 };
const setup = serverSetup(true);
const OPENING = openingLines('Stranger|1|1042', 'Agent|1|', ['|title|x', '|j|x']);

const aMatch = number => new GuestMatch(setup, 0, number, number, 0);

// -- one battle

function startedMatch(opening = OPENING) {
	const arrivals = newArrivals(setup);
	const match = aMatch(7);
	match.join(ROOM, 'agent', 0);
	match.hear(opening, arrivals, 0);
	match.hear([request(1, 2)], arrivals, 0);
	assert.deepEqual([arrivals.count, arrivals.row[0]], [1, 0]);
	arrivals.count = 0;
	return { match, arrivals };
}

test('the agent sits in seat 0, whichever player it is', () => {
	const { match, arrivals } = startedMatch();
	assert.equal(match.opponent, 'Stranger');
	assert.equal(match.act(0, 1, arrivals, 0), '/choose move 2|2');
	match.hear(['|t:|2', '|win|Agent'], arrivals, 0);
	assert.deepEqual(match.ending.score, [1, 0]);
	assert.equal(match.ending.facts.decisions_0, 1);
});

test('ties, forfeits and lost battles are told apart', () => {
	const scores = [
		['|tie'], ['|-message|Agent forfeited.', '|win|Stranger'],
		['|-message|Stranger lost due to inactivity.', '|win|Agent'],
	];
	assert.deepEqual(scores.map(lines => {
		const { match, arrivals } = startedMatch();
		match.act(0, 0, arrivals, 0);
		match.hear(lines, arrivals, 0);
		return match.ending.score;
	}), [[0.5, 0.5], [0, 1], [1, 0]]);
});

test('a flood of chat is neither kept nor taken for a sign of life', () => {
	const { match, arrivals } = startedMatch();
	match.act(0, 0, arrivals, 1000);
	const kept = match.battle.log.length;
	const kinds = ['|c|x|spam', '|c:|1|x|spam', 'plain', '||x', '|j|y', '|raw|<b>'];
	const flood = Array.from({ length: 10_000 }, (_, i) => kinds[i % kinds.length]);
	match.hear(flood, arrivals, 500_000);
	assert.equal(match.battle.log.length, kept);
	assert.equal(match.sinceMs, 1000);
	assert.equal(arrivals.count, 0);
});

test('a choice that the server calls invalid is counted, and the server chooses', () => {
	const { match, arrivals } = startedMatch();
	match.act(0, 0, arrivals, 0);
	const refusal = '|error|[Invalid choice] Can\'t move: Mew has no such move';
	assert.deepEqual(match.hear([refusal], arrivals, 0), ['/choose default|2']);
	match.hear(['|t:|2', '|win|Agent'], arrivals, 0);
	assert.deepEqual([match.ending.facts.invalid, match.ending.facts.decisions_0], [1, 0]);
});

test('a choice that came too late is not an invalid one', () => {
	const { match, arrivals } = startedMatch();
	match.act(0, 0, arrivals, 0);
	const tooLate = 'Sorry, too late to make a different move; the next turn has already started';
	for (const why of ['There\'s nothing to choose', tooLate]) {
		assert.deepEqual(match.hear([`|error|[Invalid choice] ${why}`], arrivals, 0), []);
	}
	assert.equal(match.invalid, 0);
});

test('a clock that chose for a slow agent leads to the next question', () => {
	const { match, arrivals } = startedMatch();
	match.hear(['|inactive|Agent was slow', '|t:|2', '|turn|2'], arrivals, 0);
	match.hear([request(1, 4)], arrivals, 0);
	assert.equal(arrivals.count, 0); // the answer to the first question is still to come
	assert.equal(match.act(0, 0, arrivals, 0), null);
	assert.equal(arrivals.count, 1);
	assert.equal(match.act(0, 1, arrivals, 0), '/choose move 2|4');
});

test('open team sheets are declined, and those that are forced change nothing', () => {
	const match = aMatch(1);
	match.join(ROOM, 'agent', 0);
	const asked = ['|uhtml|otsrequest|<button>', '|uhtmlchange|otsrequest|'];
	assert.deepEqual(match.hear(asked, newArrivals(setup), 0), ['/rejectopenteamsheets']);
	const { match: forced, arrivals } = startedMatch([...OPENING, '|showteam|p1|Mew||||surf||||||', '|unheardof|1']);
	assert.equal(forced.act(0, 1, arrivals, 0), '/choose move 2|2');
	assert.equal(forced.fault, null);
});

test('a battle that never begins, one in which nothing happens and one that the server closes are given up', () => {
	const match = aMatch(1);
	assert.equal(match.overdue(10 ** 9, LIMITS), null); // nobody has come yet, and nobody has to
	match.join(ROOM, 'agent', 0);
	match.hear(OPENING, newArrivals(setup), 0);
	assert.match(match.overdue(61_000, LIMITS).message, /no battle began within 60 s/);
	const { match: running, arrivals } = startedMatch();
	assert.equal(running.overdue(10 ** 9, LIMITS), null); // the policy thinks
	running.act(0, 0, arrivals, 0);
	assert.equal(running.isIdle(80_000, 90), false);
	assert.equal(running.isIdle(91_000, 90), true);
	assert.match(running.overdue(601_000, LIMITS).message, /nothing happened for 600 s/);
	running.hear(['|deinit'], arrivals, 0);
	assert.match(running.fault.message, /the server closed the battle before it was over/);
});

test('a rated battle ends with its rating, or soon without', () => {
	const rated = ['|rated|', ...OPENING.slice(1)];
	const { match, arrivals } = startedMatch(rated);
	match.act(0, 0, arrivals, 0);
	match.hear(['|win|Agent'], arrivals, 0);
	assert.equal(match.ending, null);
	match.hear(['|raw|Stranger\'s rating: 1042 &rarr; <strong>1020</strong><br />(x)'], arrivals, 0);
	match.hear(['|raw|Agent\'s rating: 1000 &rarr; <strong>1031</strong><br />(x)'], arrivals, 0);
	assert.equal(match.ending.facts.rating, 1031);
	const { match: untold, arrivals: other } = startedMatch(rated);
	untold.act(0, 0, other, 0);
	untold.hear(['|win|Agent'], other, 0);
	assert.equal(untold.overdue(4000, LIMITS), null);
	assert.deepEqual(untold.ending.score, [1, 0]);
});

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
