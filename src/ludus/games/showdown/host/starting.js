'use strict';
// How a host of Showdown's is started: node <host> --sim <folder of the pokemon-showdown package>

const path = require('node:path');
const { HostError } = require('../../../sdk/javascript/frames.js');
const { leave, takeStdout, writeAll } = require('../../../sdk/javascript/process.js');

/** Make the host from the process's arguments; stdout carries its frames and nothing else. */
function createHost(Host) {
	takeStdout();
	const at = process.argv.indexOf('--sim');
	const simRoot = at < 0 ? undefined : process.argv[at + 1];
	const host = new Host(simRoot && path.resolve(simRoot), writeAll, text => process.stderr.write(text));
	if (!simRoot) {
		leave(host, new HostError('configuration', 'a host needs --sim <folder of the pokemon-showdown package>'));
	}
	return host;
}

module.exports = { createHost };
