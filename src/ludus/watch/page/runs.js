/** The list of runs, and several runs compared. */

import {axis} from 'ludus/axis';
import {COMPARED} from 'ludus/catalogue';
import {Chart} from 'ludus/chart';
import {fill, make, table} from 'ludus/dom';
import {ago, count, decimal, duration, percent} from 'ludus/format';
import {hardest, linesOf, notAlone} from 'ludus/learning';
import * as panels from 'ludus/panels';
import {ascending} from 'ludus/run';
import {ask} from 'ludus/source';

export const runLink = name => `#run=${encodeURIComponent(name)}`;
const compareLink = names => `#compare=${names.map(encodeURIComponent).join(',')}`;

/** All runs of a folder, with boxes to choose those to compare. */
export class ListView {
	constructor() {
		this.chosen = new Set();
		this.element = make('div', {class: 'list'});
	}

	async refresh() {
		const {root, runs} = await ask('runs');
		this.runs = runs;
		const text = JSON.stringify(runs);
		if (text === this.text) return;
		this.text = text;
		const head = [HEAD[0], 'compare', ...HEAD.slice(1), 'changed'];
		const rows = runs.map(run => {
			const [name, ...cells] = cellsOf(run);
			return [name, this.box(run), ...cells, ago(run.changed_s)];
		});
		this.compare = make('button', {type: 'button', class: 'button strong', onclick: () => {
			location.hash = compareLink([...this.chosen]);
		}}, '');
		fill(this.element, make('h1', {}, 'Runs'), make('p', {class: 'quiet'}, root),
			runs.length ? make('div', {class: 'card'}, table('Runs', head, rows, NUMERIC.map(index => index + 1)))
				: make('p', {}, 'There are no runs (any more).'), this.compare);
		this.showChoice();
	}

	redraw() {}

	remove() {}

	box(run) {
		const box = make('input', {
			type: 'checkbox', 'aria-label': `Compare ${run.name}`, checked: this.chosen.has(run.name),
			onchange: () => {
				if (box.checked) this.chosen.add(run.name);
				else this.chosen.delete(run.name);
				this.showChoice();
			},
		});
		return box;
	}

	showChoice() {
		fill(this.compare, this.chosen.size > 1 ? `Compare ${this.chosen.size} runs` : 'Choose two or more runs to compare');
		this.compare.disabled = this.chosen.size < 2;
	}
}

const HEAD = ['run', 'state', 'game', 'trained', 'decisions', 'per second', 'latest evaluation'];
const NUMERIC = [3, 4, 5];

function cellsOf(run) {
	return [
		make('a', {href: runLink(run.name)}, run.name),
		make('span', {class: `state ${run.state}`}, run.state),
		run.game,
		duration(run.numbers['progress/training_s']),
		count(run.numbers['progress/decisions']),
		count(panels.speedOf(run)),
		standing(run),
	];
}

function standing(run) {
	const score = hardest(run.evaluation);
	if (score) return `${percent(score.win_rate, 1)} against ${score.opponent}`;
	const alone = run.evaluation?.scores[0];
	return alone ? `reward ${decimal(alone.reward)}` : '–';
}

/** Several runs in the same charts, one colour each. */
export class CompareView {
	constructor(names) {
		this.names = names;
		this.charts = new Map();
		this.curves = make('div', {class: 'charts'});
		this.grid = make('div', {class: 'charts'});
		this.settings = make('div', {class: 'card'});
		this.summary = make('div', {class: 'card'});
		this.element = make('div', {class: 'compare'}, make('h1', {}, `${names.length} runs compared`), this.summary,
			make('h2', {}, 'Learning'), this.curves, make('h2', {}, 'Numbers'), this.grid,
			make('h2', {}, 'Settings that differ'), this.settings);
	}

	async refresh() {
		const runs = await Promise.all(this.names.map(run => ask('run', {run})));
		fill(this.summary, table('Runs', HEAD, runs.map(cellsOf), NUMERIC));
		const revision = JSON.stringify([axis().key, runs.map(run => [run.revision, run.evaluations.length])]);
		if (revision === this.revision) return;
		this.revision = revision;
		this.showCurves(runs);
		await this.showNumbers(runs);
		await this.showSettings();
	}

	redraw() {
		for (const chart of this.charts.values()) chart.redraw();
	}

	remove() {
		for (const chart of this.charts.values()) chart.remove();
	}

	showCurves(runs) {
		const scores = runs.flatMap(run => run.evaluations.flatMap(each => each.scores));
		const opponents = new Set(scores.map(score => score.opponent));
		for (const opponent of opponents) {
			const isMatch = notAlone({opponent});
			const parts = runs.map((run, colour) => {
				const {x, lines} = linesOf(run.evaluations, score => (isMatch
					? [score.win_rate, score.interval] : [score.reward, score.reward_interval]), score => score.opponent === opponent);
				return {x, line: lines[0] && {...lines[0], label: run.name, colour}};
			}).filter(part => part.line);
			const title = `${isMatch ? `Win rate against ${opponent}` : 'Reward in evaluations'}, with 95% intervals`;
			this.draw(this.curves, {title, unit: isMatch ? 'share' : 'reward', points: true, height: 250}, parts);
		}
	}

	async showNumbers(runs) {
		const columns = new Set(runs.flatMap(run => run.columns));
		const charts = COMPARED.map(chart => ({...chart, name: chart.names[0]})).filter(chart => columns.has(chart.name));
		const names = [axis().name, ...charts.map(chart => chart.name)].join(',');
		const answers = await Promise.all(this.names.map(run => ask('series', {run, names})));
		for (const chart of charts) {
			const parts = answers.map((answer, colour) => {
				const x = answer.series[axis().name]?.mean || [];
				const own = answer.series[chart.name];
				const kept = ascending(x);
				const line = own && {label: this.names[colour], colour, mean: kept.map(at => own.mean[at])};
				return {x: kept.map(at => x[at]), line};
			}).filter(part => part.line?.mean.some(value => value !== null));
			if (parts.length) this.draw(this.grid, {title: chart.title, unit: chart.unit, zero: chart.zero}, parts);
		}
	}

	async showSettings() {
		const all = await Promise.all(this.names.map(run => ask('config', {run})));
		const others = new Map(this.names.slice(1).map((name, index) => [name, all[index + 1].settings]));
		fill(this.settings, panels.settings(this.names[0], all[0].settings, others, true));
	}

	draw(place, spec, parts) {
		const {x, lines} = joined(parts);
		let chart = this.charts.get(spec.title);
		if (!chart) {
			chart = new Chart({...spec, named: true});
			this.charts.set(spec.title, chart);
			if (spec.points) chart.element.classList.add('wide');
			place.append(chart.element);
		}
		chart.update(x, lines);
	}
}

/** Lines with places of their own on one axis: null where a line has no value. */
function joined(parts) {
	const x = [...new Set(parts.flatMap(part => part.x))].sort((one, other) => one - other);
	const place = new Map(x.map((value, at) => [value, at]));
	return {x, lines: parts.map(({x: own, line}) => {
		const spread = list => {
			const values = x.map(() => null);
			own.forEach((value, at) => {
				values[place.get(value)] = list[at];
			});
			return values;
		};
		const edges = line.low ? {low: spread(line.low), high: spread(line.high)} : {};
		return {...line, mean: spread(line.mean), ...edges};
	})};
}
