'use strict';
// A stand-in for Showdown's login server, on loopback: it knows one password, the same for all names, and signs as the
// real one does. Prints its port and public key as JSON, and ends with its stdin.

const { createSign, generateKeyPairSync } = require('node:crypto');
const http = require('node:http');

const [, , PASSWORD] = process.argv;
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const server = http.createServer((incoming, outgoing) => {
	let body = '';
	incoming.on('data', chunk => { body += chunk; });
	incoming.on('end', () => {
		const asked = new URLSearchParams(body);
		const isRight = asked.get('act') === 'login' && asked.get('pass') === PASSWORD;
		const assertion = isRight ? signed(asked.get('name'), asked.get('challstr')) : ';';
		outgoing.end(`]${JSON.stringify({ actionsuccess: isRight, assertion })}`);
	});
});

function signed(name, challstr) {
	const userid = name.toLowerCase().replace(/[^a-z0-9]/g, '');
	const [, challenge] = challstr.split(/\||%7C/); // poke-env writes the bar like that
	const data = [challenge, userid, '2', Math.floor(Date.now() / 1000), 'localhost'].join(',');
	return `${data};${createSign('RSA-SHA1').update(data).sign(privateKey, 'hex')}`;
}

server.listen(0, '127.0.0.1', () => {
	const { port } = server.address();
	process.stdout.write(`${JSON.stringify({ port, key: publicKey.export({ type: 'spki', format: 'pem' }) })}\n`);
});
process.stdin.resume();
process.stdin.on('end', () => process.exit());
