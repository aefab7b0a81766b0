'use strict';
// Connect four as a host: what a game written in JavaScript needs, and nothing else.
//
//   ludus hosts check -- node examples/hosts/connect_four.js
//   ludus train examples/hosts/connect_four.yaml

const { SplitMix, refuse, serve } = require('../../src/ludus/sdk/javascript'); // docs/hosts.md: in a project of yours

const DIRECTIONS = [[0, 1], [1, 0], [1, 1], [1, -1]];
const isSize = value => Number.isInteger(value) && value >= 4 && value <= 12;

/** One match at a time: `start` gives its first turn, `advance` takes what was chosen and gives the next. */
class ConnectFour {
	constructor({ rows, columns }) {
		this.rows = rows;
		this.columns = columns;
	}

	start(seed) {
		const random = new SplitMix(seed); // everything that is random comes from the seed
		this.board = Array(this.rows * this.columns).fill(-1);
		this.stones = 0;
		this.drop(random.nextBelow(this.columns), 0); // so that not all matches are alike
		return this.ask(1);
	}

	/** `actions` by seat; only those who were asked have one. */
	advance(actions) {
		const seat = Number(Object.keys(actions)[0]);
		const place = this.drop(actions[seat], seat);
		if (this.isWonAt(place, seat)) return this.end(seat === 0 ? [1, 0] : [0, 1]);
		if (this.stones === this.board.length) return this.end([0.5, 0.5]);
		return this.ask(1 - seat);
	}

	ask(seat) {
		const own = this.board.map(stone => stone === seat);
		const other = this.board.map(stone => stone === 1 - seat);
		const legal = Array.from({ length: this.columns }, (_, column) => this.board[column] < 0); // the top row is free
		return { seats: [seat], obs: [{ own, other }], legal: [legal], reward: [0, 0] };
	}

	end(score) {
		return { score, reward: score.map(points => 2 * points - 1), facts: { turns: this.stones } };
	}

	/** The place in which the stone comes to rest; row 0 is the top. */
	drop(column, seat) {
		let place = column;
		while (place + this.columns < this.board.length && this.board[place + this.columns] < 0) place += this.columns;
		this.board[place] = seat;
		this.stones++;
		return place;
	}

	isWonAt(place, seat) {
		const row = Math.floor(place / this.columns);
		const column = place % this.columns;
		const isOnBoard = (r, c) => r >= 0 && r < this.rows && c >= 0 && c < this.columns;
		const isOwn = (r, c) => isOnBoard(r, c) && this.board[r * this.columns + c] === seat;
		return DIRECTIONS.some(([down, right]) => {
			let length = 1;
			for (const way of [1, -1]) {
				for (let i = way; isOwn(row + i * down, column + i * right); i += way) length++;
			}
			return length >= 4;
		});
	}
}

serve({
	options: {
		rows: { fallback: 6, valid: isSize, expected: 'an integer from 4 to 12' },
		columns: { fallback: 7, valid: isSize, expected: 'an integer from 4 to 12' },
	},
	/** Called once; the options were checked. */
	setUp(options) {
		const places = options.rows * options.columns;
		if (places > 100) throw refuse(`${options.rows} x ${options.columns} are ${places} places, at most 100 are played`);
		return {
			name: `connect-four-${options.rows}x${options.columns}`,
			seats: 2,
			actions: options.columns,
			schema: 1, // to be raised whenever an observation or an action means something else
			obs: [['own', 'float32', [places]], ['other', 'float32', [places]]],
			newMatch: () => new ConnectFour(options),
		};
	},
});
