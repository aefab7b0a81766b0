'use strict';
// A password becomes an assertion: words, signed by the login server, that a game server believes. The password goes
// to the login server alone; no message and no error holds it.

const fs = require('node:fs');
const { HostError } = require('../../../../sdk/javascript/frames.js');

const DEADLINE_MS = 15_000;
const LONGEST_ANSWER = 1 << 16;

/** The first line of a file. Throws HostError. */
function readPassword(file) {
	let text;
	try {
		text = fs.readFileSync(file, 'utf8');
	} catch (error) {
		throw new HostError('configuration', `the password file ${file} cannot be read (${error.code})`);
	}
	const [password] = text.split(/\r?\n/);
	if (password === '') {
		throw new HostError('configuration', `the password file ${file} has no password in its first line`);
	}
	return password;
}

/** What to tell the game server that sent `challstr`. Throws HostError. */
async function assertion(loginServer, { name, password, challstr }) {
	const refuse = why => new HostError('configuration', `${name} could not log in at ${loginServer}: ${why}`);
	let text;
	try {
		const answer = await fetch(loginServer, {
			method: 'POST',
			body: new URLSearchParams({ act: 'login', name, pass: password, challstr }),
			signal: AbortSignal.timeout(DEADLINE_MS),
			redirect: 'error',
		});
		if (!answer.ok) throw new Error(`it answered with status ${answer.status}`);
		text = (await answer.text()).slice(0, LONGEST_ANSWER);
	} catch (error) {
		throw refuse(error.name === 'TimeoutError' ? `no answer within ${DEADLINE_MS / 1000} s` : reasonOf(error));
	}
	let said;
	try {
		said = JSON.parse(text.replace(/^\]/, '')); // the bracket keeps other pages from reading it
	} catch {
		throw refuse('its answer is none that a login server gives');
	}
	const signed = typeof said?.assertion === 'string' ? said.assertion : '';
	if (signed.startsWith(';;')) throw refuse(signed.slice(2).slice(0, 200));
	if (!said?.actionsuccess || signed === '' || signed.startsWith(';')) throw refuse('the name or the password is wrong');
	return signed;
}

function reasonOf(error) {
	return error.cause?.code ?? error.cause?.message ?? error.message;
}

module.exports = { assertion, readPassword };
