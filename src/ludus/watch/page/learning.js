/** Evaluations of a run as lines with 95% intervals: win rates, rewards, and ratings if the run has them. */

import {axis} from 'ludus/axis';

const ALONE = 'none'; // the opponent of a game with one seat
const RATING = /^(elo|rating)$/i;

/** Return charts of evaluations: [{spec, x, lines}]. */
export function curvesOf(evaluations) {
	const charts = [];
	const add = (title, unit, pick, keep = () => true) => {
		const {x, lines} = linesOf(evaluations, pick, keep);
		if (lines.some(line => line.mean.some(value => value !== null))) {
			charts.push({spec: {title, unit, points: true, height: 250}, x, lines});
		}
	};
	add('Win rate in evaluations, with 95% intervals', 'share', score => [score.win_rate, score.interval], notAlone);
	add('Reward in evaluations, with 95% intervals', 'reward', score => [score.reward, score.reward_interval],
		score => !notAlone(score));
	for (const key of ratingsOf(evaluations)) {
		add(`Rating (${key})`, '', score => [score[key], score[`${key}_interval`]]);
	}
	return charts.concat(ownRatings(evaluations));
}

/** The best line for a list of runs: the lowest win rate of the latest evaluation, or the reward. */
export function hardest(evaluation) {
	if (!evaluation) return null;
	const scores = evaluation.scores.filter(score => notAlone(score) && score.win_rate !== undefined);
	return scores.reduce((least, score) => (least === null || score.win_rate < least.win_rate ? score : least), null);
}

export const notAlone = score => score.opponent !== ALONE;

/** Where an evaluation stands on the chosen axis. */
const placeOf = evaluation => evaluation[axis().key] ?? null;

export function linesOf(evaluations, pick, keep = () => true) {
	const placed = evaluations.filter(each => placeOf(each) !== null);
	const latest = new Map(placed.map(each => [placeOf(each), each])); // the last one of a place is the most thorough
	const x = [...latest.keys()].sort((one, other) => one - other);
	const opponents = [...new Set(placed.flatMap(each => each.scores.filter(keep).map(score => score.opponent)))];
	return {x, lines: opponents.map(opponent => {
		const found = x.map(place => latest.get(place).scores.find(score => score.opponent === opponent));
		const values = found.map(score => (score ? pick(score) : [undefined, undefined]));
		return {
			label: opponent === ALONE ? 'reward' : opponent,
			mean: values.map(([value]) => value ?? null),
			low: values.map(([value, interval]) => interval?.[0] ?? value ?? null),
			high: values.map(([value, interval]) => interval?.[1] ?? value ?? null),
		};
	})};
}

function ratingsOf(evaluations) {
	return [...new Set(evaluations.flatMap(each => each.scores.flatMap(score => Object.keys(score))))]
		.filter(key => RATING.test(key));
}

/** The rating of the agent itself, a number of the evaluation. */
function ownRatings(evaluations) {
	const keys = [...new Set(evaluations.flatMap(each => Object.keys(each)))].filter(key => RATING.test(key));
	return keys.map(key => {
		const placed = evaluations.filter(each => placeOf(each) !== null && typeof each[key] === 'number');
		const edge = side => placed.map(each => each[`${key}_interval`]?.[side] ?? each[key]);
		return {
			spec: {title: `Rating of the agent (${key})`, unit: '', points: true, height: 250},
			x: placed.map(placeOf),
			lines: [{label: 'agent', mean: placed.map(each => each[key]), low: edge(0), high: edge(1)}],
		};
	});
}
