'use strict';
// Options of the host, as CONFIGURE sends them. The Python side checks them too, with the same defaults (options.py).

const { TERMS } = require('./rewards.js');

const isWhole = (least, most) => value => Number.isInteger(value) && value >= least && value <= most;
const isOneOf = (...words) => value => words.includes(value);
const isNames = value => Array.isArray(value) && value.length > 0 && value.every(name => typeof name === 'string');
const isWeights = value => value !== null && typeof value === 'object'
	&& Object.entries(value).every(([term, weight]) => TERMS.includes(term) && Number.isFinite(weight));

const OPTIONS = {
	openfront: { fallback: '', valid: value => typeof value === 'string', expected: 'a folder' },
	maps: { fallback: ['onion'], valid: isNames, expected: 'names of maps' },
	size: { fallback: 'compact', valid: isOneOf('compact', 'normal'), expected: 'compact or normal' },
	bots: { fallback: 10, valid: isWhole(0, 400), expected: 'an integer from 0 to 400' },
	nations: { fallback: 0, valid: isWhole(0, 400), expected: 'an integer from 0 to 400' },
	difficulty: {
		fallback: 'medium', valid: isOneOf('easy', 'medium', 'hard', 'impossible'),
		expected: 'easy, medium, hard or impossible',
	},
	ticks: { fallback: 10, valid: isWhole(2, 100), expected: 'an integer from 2 to 100' },
	max_minutes: { fallback: 20, valid: value => value > 0 && value <= 170, expected: 'minutes, up to 170' },
	overtime_minutes: { fallback: 0, valid: isWhole(0, 120), expected: 'an integer from 0 to 120' },
	seats: { fallback: 1, valid: isWhole(1, 16), expected: 'an integer from 1 to 16' },
	team_size: { fallback: 1, valid: isWhole(1, 16), expected: 'an integer from 1 to 16' },
	feature_set: { fallback: 'full', valid: isOneOf('summary', 'full'), expected: 'summary or full' },
	grid: { fallback: 32, valid: isWhole(4, 128), expected: 'an integer from 4 to 128' },
	diplomacy: { fallback: true, valid: value => typeof value === 'boolean', expected: 'true or false' },
	rewards: { fallback: {}, valid: isWeights, expected: `weights of ${TERMS.join(', ')}` },
	sparse: { fallback: false, valid: value => typeof value === 'boolean', expected: 'true or false' },
	node: { fallback: 'wheel', valid: value => typeof value === 'string', expected: 'a program' },
};

module.exports = { OPTIONS };
