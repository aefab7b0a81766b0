'use strict';
// What servers of ludus write to one connection in one turn of the event loop leaves together, and nothing is lost.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');
const { Writable } = require('node:stream');
const { test } = require('node:test');

const { gather, gatherWrites } = require(path.join(__dirname, '../../src/ludus/games/showdown/servers/gathering.js'));

const turn = () => new Promise(setImmediate);

/** A socket that notes what leaves together. */
function noted() {
	const left = [];
	const socket = new Writable({
		write(chunk, encoding, done) {
			left.push([String(chunk)]);
			done();
		},
		writev(chunks, done) {
			left.push(chunks.map(({ chunk }) => String(chunk)));
			done();
		},
	});
	gather(socket);
	return { socket, left };
}

test('messages of one turn of the event loop leave together, those of the next one by themselves', async () => {
	const { socket, left } = noted();
	socket.write('update');
	await Promise.resolve();
	socket.write('request');
	assert.deepEqual(left, []);
	await turn();
	assert.deepEqual(left, [['update', 'request']]);
	socket.write('later');
	await turn();
	assert.deepEqual(left.at(-1), ['later']);
});

test('what is enough for a write does not wait', async () => {
	const { socket, left } = noted();
	for (let i = 0; i < 10; i++) socket.write(`${i}`.repeat(3000));
	assert.deepEqual(left.map(together => together.length), [3, 3, 3]);
	await turn();
	assert.equal(left.flat().join(''), Array.from({ length: 10 }, (_, i) => `${i}`.repeat(3000)).join(''));
});

test('the last words of a connection are sent, and a connection that is gone is no error', async () => {
	const { socket, left } = noted();
	socket.write('goodbye');
	socket.end('!');
	await once(socket, 'finish');
	assert.equal(left.flat().join(''), 'goodbye!');
	const { socket: cut } = noted();
	cut.write('never read');
	cut.destroy();
	await turn();
});

test('servers made afterwards answer as before', async () => {
	const { createServer } = http;
	gatherWrites();
	const server = http.createServer((request, response) => {
		for (const word of ['one ', 'two ', 'three']) response.write(word);
		response.end();
	});
	http.createServer = createServer;
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	const socket = net.connect(server.address().port, '127.0.0.1');
	socket.write('GET / HTTP/1.0\r\n\r\n');
	let answer = '';
	socket.on('data', bytes => { answer += bytes; });
	await once(socket, 'close');
	assert.match(answer, /one two three$/);
	server.close();
});
