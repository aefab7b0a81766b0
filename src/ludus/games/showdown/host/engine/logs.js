'use strict';
/**
 * Battle#add without closures and array walks for each of a battle's thousand lines.
 *
 * A line comes out of `join` in one piece. Put together by `+` it would be a tree of pieces: quicker to make, but
 * whoever reads it has to put it into one piece first. Where nobody keeps the log, `tellParts` saves both: lines are
 * neither put together nor taken apart again.
 */

const CALLED = Symbol('ludus.called');
const TELLS_PARTS = Symbol('ludus.tellsParts');
const MAX_PARTS = 12;
const STILL = '[still]';
const TARGET = 3; // its place among the parts of a move

/** A line as everybody sees it, in its parts. What the simulator does to lines it has written works on it, too. */
class Told {
	constructor(parts) {
		this.parts = parts;
	}

	toString() {
		return `|${this.parts.join('|')}`;
	}

	startsWith(text) {
		return this.toString().startsWith(text);
	}

	split(bar) {
		return this.toString().split(bar);
	}
}

/** From now on the battle's log holds, in place of most lines, a `Told` of what everybody sees. */
function tellParts(battle) {
	battle[TELLS_PARTS] = true;
}

module.exports = function patchLogs({replace, Battle, Pokemon}) {
	// by number of parts: an array to join them in, with nothing in front for the first bar
	const rooms = Array.from({length: MAX_PARTS + 1}, (_, parts) => Array.from({length: parts + 1}, () => ''));

	replace(Battle.prototype, 'add', '6382e3309071', stock => function (...parts) {
		if (this[TELLS_PARTS]) {
			this.log.push(told(parts));
			return;
		}
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

	replace(Battle.prototype, 'addMove', '32a1cbe854b4', stock => function (...parts) {
		if (!this[TELLS_PARTS]) return stock.apply(this, parts);
		this.lastMoveLine = this.log.length;
		this.log.push(told(parts));
	});

	replace(Battle.prototype, 'attrLastMove', '6cf95c40dee8', stock => function (...attributes) {
		const line = this.lastMoveLine < 0 ? null : this.log[this.lastMoveLine];
		if (!(line instanceof Told) || line.parts[0] === '-anim') return stock.apply(this, attributes);
		if (attributes.includes(STILL)) line.parts[TARGET] = '';
		line.parts.push(...attributes);
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

/** The line of these parts. Bars part fields wherever they stand: in details with HP, and behind a move's target. */
function told(parts) {
	for (let i = 0; i < parts.length; i++) {
		let part = parts[i];
		const isSplit = typeof part === 'function';
		if (isSplit) part = part().shared;
		if (typeof part !== 'string') part = part === null || part === undefined ? '' : `${part}`;
		parts[i] = part;
		if ((isSplit || i === parts.length - 1) && part.includes('|')) {
			const fields = part.split('|');
			parts.splice(i, 1, ...fields);
			i += fields.length - 1;
		}
	}
	return new Told(parts);
}

module.exports.CALLED = CALLED;
module.exports.tellParts = tellParts;
