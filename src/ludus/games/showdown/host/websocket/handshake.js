'use strict';
// How a client asks for a WebSocket, and whether the answer grants one (RFC 6455, section 4). Pure.

const { createHash } = require('node:crypto');

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const HEAD_END = '\r\n\r\n';
const LONGEST_ANSWER = 16 * 1024;

/** The request for a URL; `key` is 16 random bytes in base64. No extension is asked for, so there is no compression. */
function requestFor({ host, pathname, search }, key) {
	return [
		`GET ${pathname}${search} HTTP/1.1`, `Host: ${host}`, 'Connection: Upgrade', 'Upgrade: websocket',
		'Sec-WebSocket-Version: 13', `Sec-WebSocket-Key: ${key}`,
	].join('\r\n') + HEAD_END;
}

/** Where the head of an answer ends, -1 while it is not all there. Throws when it is longer than any should be. */
function headEnd(bytes) {
	const at = bytes.indexOf(HEAD_END);
	if (at < 0 && bytes.length > LONGEST_ANSWER) throw new Error(`the head of the answer is over ${LONGEST_ANSWER} bytes`);
	return at < 0 ? -1 : at + HEAD_END.length;
}

/** Why the answer with that head is no WebSocket, or null. */
function whyRefused(head, key) {
	const [status, ...lines] = head.trimEnd().split('\r\n');
	if (!/^HTTP\/1\.1 101\b/.test(status)) return `the answer is ${status.slice(0, 100)}`;
	const fields = new Map(lines.map(line => {
		const colon = line.indexOf(':');
		return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
	}));
	const accepted = createHash('sha1').update(key + GUID).digest('base64');
	if (fields.get('upgrade')?.toLowerCase() !== 'websocket') return 'the answer upgrades to something else';
	if (fields.get('sec-websocket-accept') !== accepted) return 'the answer is to somebody else\'s request';
	if (fields.has('sec-websocket-extensions')) return 'the answer has extensions that nobody asked for';
	return null;
}

module.exports = { headEnd, requestFor, whyRefused };
