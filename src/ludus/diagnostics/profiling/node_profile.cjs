'use strict';
// Profiles a Node host from inside. `ludus train --profile hosts` loads it with NODE_OPTIONS=--require.
// It writes node-PID.ready into the folder LUDUS_NODE_PROFILES, profiles while the file `begin` is there and `end` is
// not, and then writes node-PID.cpuprofile. Hosts that block on stdin run no timers, so fs.readSync looks as well.
const fs = require('node:fs');
const path = require('node:path');
const { isMainThread } = require('node:worker_threads');

const LOOK_MS = 100;
const INTERVAL_US = 5000; // between two samples
const folder = process.env.LUDUS_NODE_PROFILES;

if (folder && isMainThread) {
	const own = path.join(folder, `node-${process.pid}`);
	const readSync = fs.readSync;
	let session, ended = false, lookedMs = 0, timer;

	const look = () => {
		lookedMs = Date.now();
		try {
			const end = fs.existsSync(path.join(folder, 'end'));
			if (!session && !end && fs.existsSync(path.join(folder, 'begin'))) begin();
			if (end) stop();
		} catch {
			stop(); // the folder is gone: the run has ended
		}
	};
	const begin = () => {
		const { Session } = require('node:inspector');
		session = new Session();
		session.connect();
		session.post('Profiler.enable');
		session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US });
		session.post('Profiler.start');
	};
	const stop = () => {
		if (ended) return;
		ended = true;
		fs.readSync = readSync;
		clearInterval(timer);
		session?.post('Profiler.stop', (error, result) => {
			session.disconnect();
			if (error) return;
			fs.writeFileSync(`${own}.part`, JSON.stringify(result.profile));
			fs.renameSync(`${own}.part`, `${own}.cpuprofile`);
		});
	};
	try {
		fs.writeFileSync(`${own}.ready`, '');
		fs.readSync = (...words) => {
			if (Date.now() - lookedMs >= LOOK_MS) look();
			return readSync(...words);
		};
		timer = setInterval(look, LOOK_MS).unref();
	} catch {
		// the folder cannot be written: the host plays without a profile
	}
}
