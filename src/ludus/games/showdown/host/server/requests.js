'use strict';
// Requests as a server writes them. Each describes all Pokemon of its side, most of which are as they were: they become
// the same objects again, which costs less than to read them, and tells the encoder that nothing has changed.

const { HostError } = require('../../../../sdk/javascript/frames.js');

const LIST = '"pokemon":[';
const ENTRY = '{"ident":'; // quotes in names are escaped, so this stands nowhere else
const NEXT = `},${ENTRY}`;
const LIST_END = '}]}';

/** Of one player in one battle. */
class RequestReader {
	constructor() {
		this.texts = []; // of the Pokemon in the last request
		this.entries = [];
	}

	/** Nobody may write into what it returns. Throws HostError when it is no request, or of another version. */
	read(text) {
		let request = null;
		try {
			request = this.#readShared(text) ?? JSON.parse(text);
		} catch {
			// told below
		}
		const side = request?.side;
		const isSide = typeof side?.id === 'string' && /^p[1-4]$/.test(side.id) && Array.isArray(side.pokemon);
		if (!isSide || !Number.isSafeInteger(request.rqid)) {
			throw new HostError('match', 'the server asked in a way that is not understood', text);
		}
		return request;
	}

	/** The request, with entries of the last one where they are the same; null when it must be read in one piece. */
	#readShared(text) {
		const start = text.indexOf(LIST + ENTRY) + LIST.length;
		const end = text.lastIndexOf(LIST_END);
		if (start < LIST.length || end < start) return null;
		try {
			const texts = text.slice(start + ENTRY.length, end).split(NEXT);
			const entries = texts.map((each, place) => this.#entry(each, place));
			const request = JSON.parse(text.slice(0, start) + text.slice(end + 1));
			if (request.side.pokemon.length > 0) return null; // the list was somebody else's
			request.side.pokemon = entries;
			this.texts = texts;
			this.entries = entries;
			return request;
		} catch {
			return null; // a name holds what looks like the end of the list, or it is written in another way
		}
	}

	#entry(text, place) {
		const before = text === this.texts[place] ? place : this.texts.indexOf(text); // they may have changed places
		return before < 0 ? JSON.parse(`${ENTRY}${text}}`) : this.entries[before];
	}
}

module.exports = { RequestReader };
