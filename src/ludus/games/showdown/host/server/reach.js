'use strict';
// Why no WebSocket came about: a WebSocket does not tell.

const DEADLINE_MS = 3_000;

/** What answers at the address of a WebSocket, in words. */
async function whatAnswers(url) {
	try {
		const signal = AbortSignal.timeout(DEADLINE_MS);
		const answer = await fetch(url.replace(/^ws/, 'http'), { signal, redirect: 'manual' });
		answer.body?.cancel().catch(() => {});
		return `a web server does, with status ${answer.status}: another program, or another path`;
	} catch (error) {
		if (error.name === 'TimeoutError') return `nothing came within ${DEADLINE_MS / 1000} s`;
		return error.cause?.code ?? error.cause?.message ?? error.message;
	}
}

module.exports = { whatAnswers };
