'use strict';
// The WebSocket client against the library that Showdown's servers use, and against a server that breaks the rules.

const assert = require('node:assert/strict');
const { createHash } = require('node:crypto');
const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');
const { test } = require('node:test');

const HOST = path.join(__dirname, '../../src/ludus/games/showdown/host');
const { CLOSED, FrameReader } = require(path.join(HOST, 'websocket', 'frames.js'));
const { WebSocketClient } = require(path.join(HOST, 'websocket', 'client.js'));
const FayeWebSocket = require(require.resolve('faye-websocket', { paths: [process.env.LUDUS_TEST_SIMULATOR] }));

const [TEXT, BINARY, CLOSE, PING, PONG] = [1, 2, 8, 9, 10];

/** A server's frame; what breaks the rules is given on purpose. */
function frame(opcode, payload = '', { isLast = true, isMasked = false, reserved = 0, length = null } = {}) {
	const body = Buffer.from(payload);
	const size = length ?? BigInt(body.length);
	const head = [(isLast ? 128 : 0) + reserved + opcode];
	const mask = isMasked ? 128 : 0;
	if (size < 126n) head.push(mask + Number(size));
	else if (size < 65536n) head.push(mask + 126, Number(size >> 8n), Number(size & 255n));
	else head.push(mask + 127, ...Array.from({ length: 8 }, (_, i) => Number(size >> BigInt(56 - 8 * i) & 255n)));
	return Buffer.concat([Buffer.from(head), Buffer.from(isMasked ? [0, 0, 0, 0] : []), body]);
}

/** The frames that a client wrote, short ones only: [{opcode, mask, payload}]. */
function framesOf(bytes) {
	const frames = [];
	for (let at = 0; at < bytes.length;) {
		const length = bytes[at + 1] - 128;
		assert.ok(length >= 0 && length < 126, 'masked and short');
		const mask = bytes.subarray(at + 2, at + 6);
		const payload = bytes.subarray(at + 6, at + 6 + length).map((byte, i) => byte ^ mask[i % 4]);
		frames.push({ opcode: bytes[at] - 128, mask: mask.toString('hex'), payload: Buffer.from(payload) });
		at += 6 + length;
	}
	return frames;
}

function accepting(request) {
	const key = /sec-websocket-key: (.*)\r\n/i.exec(request)[1];
	const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
	const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
	return `${lines.join('\r\n')}\r\nSec-WebSocket-Accept: ${accept}\r\n`;
}

/** What a client was told, and its end: {messages, end: ['error' or 'close', event]}. */
function follow(client) {
	const messages = [];
	const end = new Promise(resolve => {
		client.onmessage = ({ data }) => messages.push(data);
		client.onerror = event => resolve(['error', event]);
		client.onclose = event => resolve(['close', event]);
	});
	return { messages, end };
}

/** Let a client talk to a server that answers its request and then does `serve(socket, heard)`, heard being chunks. */
async function withServer(serve, act, answer = request => `${accepting(request)}\r\n`) {
	const sockets = new Set();
	const server = net.createServer(socket => {
		sockets.add(socket);
		socket.on('error', () => {});
		socket.once('data', request => {
			socket.write(answer(request.toString()));
			const heard = [];
			socket.on('data', bytes => heard.push(bytes));
			serve(socket, heard);
		});
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	const client = new WebSocketClient(`ws://127.0.0.1:${server.address().port}/showdown/websocket?a=b`);
	try {
		await act(client, follow(client));
	} finally {
		client.close();
		for (const socket of sockets) socket.destroy();
		server.close();
	}
}

test('texts of every length come and go unchanged, through the library of real servers', async () => {
	const server = http.createServer();
	let pongs = 0;
	server.on('upgrade', (request, socket, head) => {
		const far = new FayeWebSocket(request, socket, head);
		far.on('message', ({ data }) => (data === 'bye' ? far.close(1000, 'as you wish') : far.send(data)));
		far.ping('still there?', () => { pongs++; });
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	const client = new WebSocketClient(`ws://127.0.0.1:${server.address().port}/`);
	const { messages, end } = follow(client);
	const texts = [0, 1, 125, 126, 127, 65535, 65536, 300_000].map(length => 'x'.repeat(length));
	texts.push('Flabébé ☆ 🐉', '\ufffd');
	try {
		while (client.readyState !== WebSocketClient.OPEN) await new Promise(setImmediate);
		for (const text of [...texts, 'bye']) client.send(text);
		assert.deepEqual(await end, ['close', { code: 1000, reason: 'as you wish' }]);
	} finally {
		client.close();
		server.close();
	}
	assert.deepEqual(messages, texts);
	assert.equal(pongs, 1);
});

test('what is sent in one turn of the event loop is one write of frames with masks of their own', () => {
	return withServer(socket => {
		socket.write(frame(TEXT, 'go'));
		socket.once('data', () => socket.write(frame(CLOSE, [3, 232])));
	}, async (client, { end }) => {
		let written = null;
		client.onmessage = () => {
			for (let i = 0; i < 20; i++) client.send(`battle-${i}|/choose move 1|${i}`);
			const { write } = client.socket;
			client.socket.write = (...given) => {
				written ??= [];
				written.push(given[0]);
				return write.apply(client.socket, given);
			};
		};
		await end;
		const [choices, goodbye] = written;
		const frames = framesOf(choices);
		assert.deepEqual(frames.map(({ payload }) => payload.toString()),
			Array.from({ length: 20 }, (_, i) => `battle-${i}|/choose move 1|${i}`));
		assert.ok(new Set(frames.map(({ mask }) => mask)).size > 15);
		assert.deepEqual(framesOf(goodbye).map(({ opcode }) => opcode), [CLOSE]);
	});
});

test('messages are whole wherever the bytes are cut, with pings between the parts', () => {
	const bytes = Buffer.concat([
		frame(TEXT, '>battle-1\n|turn|1'), frame(TEXT, 'in ', { isLast: false }), frame(PING, 'p'),
		frame(0, 'é'.repeat(100), { isLast: false }), frame(0, '', { isLast: false }), frame(0, ' parts'),
		frame(PONG), frame(BINARY, [1, 2]), frame(TEXT, 'y'.repeat(70_000)),
	]);
	const expected = ['>battle-1\n|turn|1', `in ${'é'.repeat(100)} parts`, Buffer.from([1, 2]), 'y'.repeat(70_000)];
	const cuts = [...Array(420).keys(), 1000, bytes.length - 1];
	for (const cut of cuts) {
		const heard = [];
		const pings = [];
		const reader = new FrameReader({ message: data => heard.push(data), ping: payload => pings.push(String(payload)) });
		for (const piece of [bytes.subarray(0, cut), bytes.subarray(cut)]) {
			const lent = Buffer.from(piece);
			reader.push(lent);
			lent.fill(255); // what was pushed may be overwritten
		}
		assert.deepEqual([heard, pings], [expected, ['p']], `cut at ${cut}`);
	}
});

test('a ping is answered with what it carries', () => {
	let told = null;
	return withServer((socket, heard) => {
		socket.write(frame(PING, 'still there?'));
		socket.once('data', () => socket.write(frame(CLOSE)));
		told = once(socket, 'end').then(() => framesOf(Buffer.concat(heard)));
	}, async (client, { end }) => {
		assert.deepEqual(await end, ['close', { code: CLOSED.SILENT, reason: '' }]);
		const [pong, goodbye] = await told;
		assert.deepEqual([pong.opcode, String(pong.payload)], [PONG, 'still there?']);
		assert.deepEqual([goodbye.opcode, goodbye.payload.readUInt16BE(0)], [CLOSE, CLOSED.NORMAL]);
	});
});

const FAULTS = {
	'masked': [frame(TEXT, 'x', { isMasked: true }), CLOSED.BROKEN, /masked/],
	'compressed': [frame(TEXT, 'x', { reserved: 64 }), CLOSED.BROKEN, /extension that was not agreed on/],
	'of no known kind': [frame(3, 'x'), CLOSED.BROKEN, /opcode 3/],
	'of no known control kind': [frame(11, ''), CLOSED.BROKEN, /opcode 11/],
	'a long ping': [frame(PING, 'x'.repeat(126)), CLOSED.BROKEN, /control frame/],
	'a ping in parts': [frame(PING, 'x', { isLast: false }), CLOSED.BROKEN, /control frame/],
	'a part of nothing': [frame(0, 'x'), CLOSED.BROKEN, /out of order/],
	'a message inside another': [
		Buffer.concat([frame(TEXT, 'x', { isLast: false }), frame(TEXT, 'y')]), CLOSED.BROKEN, /out of order/,
	],
	'half a code': [frame(CLOSE, [3]), CLOSED.BROKEN, /half a code/],
	'no UTF-8': [frame(TEXT, [0x80, 0x80]), CLOSED.GARBLED, /no UTF-8/],
	'too large, and only announced': [frame(TEXT, '', { length: 2n ** 40n }), CLOSED.TOO_LARGE, /1099511627776 bytes/],
	'garbage': [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), CLOSED.BROKEN, /extension|opcode|masked/],
};

for (const [name, [bytes, code, words]] of Object.entries(FAULTS)) {
	test(`a frame that is ${name} ends the connection at once, and both sides know why`, () => {
		let told = null;
		return withServer((socket, heard) => {
			socket.write(Buffer.concat([frame(TEXT, 'before'), bytes, frame(TEXT, 'after')]));
			told = once(socket, 'close').then(() => framesOf(Buffer.concat(heard)));
		}, async (client, { messages, end }) => {
			const [kind, event] = await end;
			assert.deepEqual([kind, event.code], ['close', code]);
			assert.match(event.reason, words);
			assert.deepEqual(messages, ['before']);
			const [{ opcode, payload }] = await told;
			assert.deepEqual([opcode, payload.readUInt16BE(0)], [CLOSE, code]);
		});
	});
}

test('many parts that are too large together are not kept', () => {
	const reader = new FrameReader({ message: () => assert.fail('nothing whole was sent') }, 1000);
	reader.push(frame(TEXT, 'x'.repeat(600), { isLast: false }));
	assert.throws(() => reader.push(frame(0, 'x'.repeat(600))), { code: CLOSED.TOO_LARGE });
});

test('a connection that is cut inside a message is lost', () => withServer(socket => {
	socket.write(frame(TEXT, 'whole'));
	socket.end(frame(TEXT, 'x'.repeat(1000)).subarray(0, 500));
}, async (client, { messages, end }) => {
	assert.deepEqual(await end, ['close', { code: CLOSED.LOST, reason: '' }]);
	assert.deepEqual(messages, ['whole']);
	client.send('nobody is there'); // and nothing happens
}));

const ANSWERS = {
	'another status': [() => 'HTTP/1.1 404 Not Found\r\n\r\n', /404 Not Found/],
	'another upgrade': [request => accepting(request).replace('websocket', 'h2c') + '\r\n', /something else/],
	'another key': [request => accepting(request).replace(/Accept: .*/, 'Accept: x') + '\r\n', /somebody else's/],
	'compression': [request => `${accepting(request)}Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n`, /extensions/],
	'a head without end': [() => 'x'.repeat(20_000), /over 16384 bytes/],
};

for (const [name, [answer, words]] of Object.entries(ANSWERS)) {
	test(`an answer with ${name} is an error and no WebSocket`, () => withServer(() => {}, async (client, { end }) => {
		const [kind, { message }] = await end;
		assert.equal(kind, 'error');
		assert.match(message, words);
	}, answer));
}

test('nobody there is an error', async () => {
	const client = new WebSocketClient('ws://127.0.0.1:9/');
	const [kind, { message }] = await follow(client).end;
	assert.deepEqual([kind, /ECONNREFUSED/.test(message)], ['error', true]);
});

test('who closes is told nothing more, before and after it is open', async () => {
	const refuse = () => assert.fail('told something');
	for (const isOpen of [false, true]) {
		let told = null;
		await withServer((socket, heard) => {
			socket.write(frame(TEXT, 'hello'));
			told = once(socket, 'end').then(() => framesOf(Buffer.concat(heard)));
		}, async client => {
			if (isOpen) await new Promise(resolve => { client.onmessage = resolve; });
			client.onmessage = client.onclose = client.onerror = refuse;
			client.close();
			await once(client.socket, 'close');
			if (isOpen) assert.deepEqual((await told).map(({ opcode }) => opcode), [CLOSE]);
		});
	}
});
