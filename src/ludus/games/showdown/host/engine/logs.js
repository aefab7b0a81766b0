'use strict';
/**
 * Battle#add without closures and array walks for each of a battle's thousand lines.
 *
 * A line comes out of `join` in one piece. Put together by `+` it would be a tree of pieces: quicker to make, but
 * whoever reads it has to put it into one piece first.
 */

const CALLED = Symbol('ludus.called');
const MAX_PARTS = 12;

module.exports = function patchLogs({replace, Battle, Pokemon}) {
	// by number of parts: an array to join them in, with nothing in front for the first bar
	const rooms = Array.from({length: MAX_PARTS + 1}, (_, parts) => Array.from({length: parts + 1}, () => ''));

	replace(Battle.prototype, 'add', '6382e3309071', stock => function (...parts) {
		const {length} = parts;
		let split = -1;
		for (let i = 0; i < length; i++) {
			if (typeof parts[i] !== 'function') continue;
			split = split < 0 ? i : MAX_PARTS;
		}
		if (length > MAX_PARTS || split === MAX_PARTS) { // two parts of which one side sees more
			stock.apply(this, parts);
		} else if (split < 0) {
			this.log.push(length === 0 ? '|' : placed(rooms[length], parts).join('|'));
		} else {
			const {side, secret, shared} = parts[split]();
			const pieces = placed(rooms[length], parts);
			pieces[split + 1] = secret;
			const told = pieces.join('|');
			pieces[split + 1] = shared;
			this.log.push(`|split|${side}`, told, pieces.join('|'));
		}
	});

	// nearly every line calls a Pokemon by a name that the stock method puts together each time
	replace(Pokemon.prototype, 'toString', '4972943b1ca3', () => function () {
		const {fullname} = this.illusion || this;
		if (!this.isActive) return fullname;
		const called = this[CALLED];
		if (called && called.fullname === fullname && called.position === this.position) return called.text;
		const text = [this.getSlot(), fullname.slice(2)].join('');
		this[CALLED] = {fullname, position: this.position, text};
		return text;
	});
};

function placed(pieces, parts) {
	for (let i = 0; i < parts.length; i++) {
		const part = parts[i];
		if (typeof part === 'string') pieces[i + 1] = part;
		else if (typeof part !== 'function') pieces[i + 1] = part === null || part === undefined ? '' : `${part}`;
	}
	return pieces;
}

module.exports.CALLED = CALLED;
