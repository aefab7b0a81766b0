'use strict';
// node probe.js --checkout FOLDER: prints {version, problem} as JSON. `problem` is empty if the checkout fits this
// host, else one line that names what differs.

const { CheckoutError, loadCore } = require('./checkout.js');

const answer = { version: '', problem: '' };
try {
	answer.version = loadCore(process.argv[process.argv.indexOf('--checkout') + 1]).version;
} catch (error) {
	if (error instanceof CheckoutError) answer.problem = error.message;
	else answer.problem = `the core fails when it is loaded: ${String(error.message).split('\n')[0]}`;
}
process.stdout.write(`${JSON.stringify(answer)}\n`);
