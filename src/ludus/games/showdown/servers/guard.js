// Keeps web pages out of a server on this machine. Browsers let every page connect to 127.0.0.1, and say in Origin
// where the page is from; a page whose own name is made to lead to 127.0.0.1 (DNS rebinding) shows that name in Host.
'use strict';

const http = require('node:http');
const https = require('node:https');
const { BlockList, isIP } = require('node:net');

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');
const NAME = /^(localhost|[\d.]+|\[[\d:a-f.]+\])(?::\d{1,5})?$/i; // of a host, with or without its port
const ORIGIN = /^https?:\/\/([^/]+)$/i;

/** The host in a Host header or an Origin without port and brackets; '' for neither an address nor localhost. */
function hostOf(text) {
	const found = NAME.exec(text);
	return found === null ? '' : found[1].replace(/^\[(.*)\]$/, '$1').toLowerCase();
}

/** Whether a host is this machine as only programs of this machine can reach it. */
function isLoopback(host) {
	const version = isIP(host);
	return host === 'localhost' || (version !== 0 && LOOPBACK.check(host, `ipv${version}`));
}

/**
 * Why a request is not answered, or null. `headers` are by name, each a list of values, as in `headersDistinct`;
 * `bound` is the address of this machine that the request came to.
 */
function whyRefused(headers, method, bound) {
	const hosts = headers.host ?? [];
	const isNamed = host => isLoopback(host) || (host !== '' && host === bound);
	if (hosts.length !== 1 || !isNamed(hostOf(hosts[0]))) return 'the Host header must name this machine';
	const origins = headers.origin ?? [];
	if (origins.some(origin => !isLoopback(hostOf(ORIGIN.exec(origin)?.[1] ?? '')))) {
		return 'the page that asks is not from this machine';
	}
	const isLink = method === 'GET' && headers['sec-fetch-dest']?.[0] === 'document'; // a person follows it
	if (origins.length === 0 && headers['sec-fetch-site']?.[0] === 'cross-site' && !isLink) {
		return 'another site asks for it'; // scripts and frames of a page come without an Origin
	}
	return null;
}

/** Refuse requests and upgrades of a server before anybody else hears of them. */
function guard(server) {
	const { emit } = server;
	server.emit = function guarded(event, request, answer, ...more) {
		if (!(request instanceof http.IncomingMessage)) return emit.call(this, event, request, answer, ...more);
		const bound = request.socket.localAddress?.replace(/^::ffff:/, '');
		const why = whyRefused(request.headersDistinct, request.method, bound);
		if (why === null) return emit.call(this, event, request, answer, ...more);
		refuse(answer, `refused: ${why}\n`);
		return true;
	};
	return server;
}

/** `answer` is a response, or a socket where an upgrade was asked for. */
function refuse(answer, words) {
	const head = { 'content-type': 'text/plain', 'content-length': words.length, connection: 'close' };
	if (answer instanceof http.ServerResponse) {
		answer.writeHead(403, head).end(words);
		return;
	}
	const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}`);
	answer.on('error', () => answer.destroy());
	answer.end(['HTTP/1.1 403 Forbidden', ...lines, '', words].join('\r\n'), () => answer.destroy());
}

/** From now on, every server that this process makes is guarded. */
function guardServers() {
	for (const module of [http, https]) {
		const { createServer } = module;
		module.createServer = (...given) => guard(createServer(...given));
	}
}

module.exports = { guard, guardServers, whyRefused };
