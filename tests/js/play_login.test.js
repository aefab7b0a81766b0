'use strict';
// Logging in with a name of one's own and a password, without a Showdown server.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const { HOST } = require('./simulator.js');
const { FakeSocket, serverSetup, withFakeSockets } = require('./fake_server.js');
const { userId } = require(path.join(HOST, 'server', 'connection.js'));
const { Account } = require(path.join(HOST, 'play', 'account.js'));
const { assertion, readPassword } = require(path.join(HOST, 'play', 'login.js'));

const setup = serverSetup(true);

test('what a server says together with the name is heard', () => withFakeSockets(async () => {
	const heard = [];
	const options = { format: setup.format, password: null, loginServer: '' };
	const account = new Account('ws://x', { hear: message => heard.push(message), lost() {} }, options);
	const opened = account.open('Agent', 1000);
	for (const data of ['|challstr|4|abc', '|updateuser| Agent|1|1|{}\n|popup|hello', '|pm| One| Agent|/challenge x']) {
		FakeSocket.last.say(data);
	}
	await opened;
	assert.deepEqual(heard, [
		{ room: '', lines: ['|popup|hello'] }, { room: '', lines: ['|pm| One| Agent|/challenge x'] },
	]);
}));

/** How logging in ends when the server says these things. */
function logIn(messages, wanted = {}) {
	return withFakeSockets(async () => {
		const options = { format: setup.format, password: null, loginServer: '', ...wanted };
		const account = new Account('ws://x', { hear() {}, lost() {} }, options);
		const opened = account.open('My Agent', 10_000).then(() => 'in', error => error.message);
		const socket = FakeSocket.last;
		for (const message of messages) socket.say(message);
		return { outcome: await opened, sent: socket.sent };
	});
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
