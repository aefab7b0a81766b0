'use strict';
// Compiled code outlives a collection that finds none of the objects it was compiled for.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { test } = require('node:test');

const FLAGS = ['--trace-deopt', '--expose-gc', '--single-threaded-gc', '--no-incremental-marking'];

/** How much code V8 threw away because shapes of objects were gone. */
function thrownAway(kept, format) {
	const run = spawnSync(process.execPath, [...FLAGS, path.join(__dirname, 'shapes.js'), kept, format], {
		encoding: 'utf8', maxBuffer: 1 << 28, timeout: 120_000,
	});
	assert.equal(run.status, 0, run.stderr);
	return run.stdout.split('embedded weak objects cleared').length - 1;
}

for (const format of ['gen1randombattle', 'gen9randombattle']) {
	test(`no code of ${format} is thrown away when classes are on the stack`, () => {
		assert.ok(thrownAway('lost', format) > 5, 'V8 keeps it anyway: shapes.js is not needed any more');
		assert.equal(thrownAway('kept', format), 0);
	});
}
