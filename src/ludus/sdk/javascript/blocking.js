'use strict';
// The main loop of a host whose matches never wait. It blocks on stdin and answers each frame before it reads the next.

const { WAIT } = require('./clock.js');
const { FrameReader, KIND, ProtocolError } = require('./frames.js');
const { readSome } = require('./process.js');

const READ_BYTES = 1 << 16;

/** Handle frames until STOP or the end of stdin. Throws ProtocolError for a frame at the wrong time. */
function answerFrames(host) {
	const reader = new FrameReader();
	for (;;) {
		for (let frame = reader.next(); frame; frame = reader.next()) {
			if (frame.kind === KIND.STOP) return;
			if (frame.kind === KIND.ACTIONS) host.act(frame.body);
			else if (frame.kind === KIND.DRAIN) host.drain();
			else if (frame.kind === KIND.CONFIGURE && !host.slots) host.configure(frame.body);
			else throw new ProtocolError(`a frame of kind ${frame.kind} came at the wrong time`);
		}
		const bytes = readSome(reader.space(READ_BYTES));
		host.clock.lap(WAIT);
		if (bytes === 0) {
			reader.close();
			return;
		}
		reader.pushed(bytes);
	}
}

module.exports = { answerFrames };
