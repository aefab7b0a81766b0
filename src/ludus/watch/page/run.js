/** The page of one run: sections that are filled and refreshed as its numbers change. */

import {axis} from 'ludus/axis';
import {chartsOf, endOf, timesOf} from 'ludus/catalogue';
import {Chart} from 'ludus/chart';
import {fill, make, quiet} from 'ludus/dom';
import {count, duration, percent, words} from 'ludus/format';
import {curvesOf} from 'ludus/learning';
import * as panels from 'ludus/panels';
import {ask} from 'ludus/source';

const SECTIONS = [
	['learning', 'Learning'], ['speed', 'Speed'], ['times', 'Where the time goes'], ['losses', 'Losses'],
	['fleet', 'Fleet'], ['curriculum', 'Curriculum'], ['facts', 'Facts of the matches'], ['matches', 'Saved matches'],
	['log', 'Log'], ['settings', 'Settings'],
];

const CHARTS_MS = 5000; // charts change less often than the numbers above them

/** The view of one run. `refresh` asks for its numbers; it throws an Error if the run is gone. */
export class RunView {
	constructor(name, runs, metrics) {
		[this.name, this.runs, this.metrics] = [name, runs, metrics];
		this.charts = new Map();
		this.nextCharts = 0;
		this.places = new Map();
		this.onlyEvents = false;
		this.against = '';
		this.onlyDifferences = true;
		this.head = make('div', {class: 'head'});
		this.sections = new Map(SECTIONS.map(([id, title]) => [id, this.section(id, title)]));
		this.element = make('div', {class: 'run'}, this.head, this.index(), ...this.sections.values());
	}

	async refresh() {
		const run = await ask('run', {run: this.name});
		this.run = run;
		this.showHead(run);
		this.showPanels(run);
		const due = run.revision !== this.revision && performance.now() >= this.nextCharts;
		if (due || axis() !== this.axis) {
			await this.showCharts(run);
			[this.revision, this.axis, this.nextCharts] = [run.revision, axis(), performance.now() + CHARTS_MS];
		}
		for (const [id, section] of this.sections) {
			section.hidden = ![...section.querySelectorAll('.place')].some(place => place.childElementCount);
			this.links.get(id).hidden = section.hidden;
		}
	}

	redraw() {
		for (const chart of this.charts.values()) chart.redraw();
		this.seen = null;
		if (this.run) this.showPanels(this.run);
	}

	remove() {
		for (const chart of this.charts.values()) chart.remove();
	}

	section(id, title) {
		for (const part of ['tools', 'text', 'charts']) {
			this.places.set(`${id}-${part}`, make('div', {class: `place ${part}`}));
		}
		const place = part => this.places.get(`${id}-${part}`);
		const charts = id === 'facts'
			? make('details', {}, make('summary', {}, 'Numbers that the game reports for each match'), place('charts'))
			: place('charts');
		return make('section', {'aria-labelledby': `title-${id}`},
			make('h2', {id: `title-${id}`, tabindex: -1}, title), place('tools'), place('text'), charts);
	}

	/** Links to the sections; they scroll, because the address names the run. */
	index() {
		this.links = new Map(SECTIONS.map(([id, title]) => [id, make('button', {
			type: 'button',
			onclick: () => {
				this.sections.get(id).scrollIntoView({behavior: 'smooth'});
				document.getElementById(`title-${id}`).focus({preventScroll: true});
			},
		}, title)]));
		return make('nav', {class: 'index', 'aria-label': 'Sections'}, ...this.links.values());
	}

	showHead(run) {
		const done = run.numbers['progress/budget'];
		const bar = make('progress', {max: 1, value: done ?? 0, 'aria-label': 'Used part of the budget'});
		const phase = run.state === 'running' ? run.numbers['progress/phase'] : '';
		fill(this.head,
			make('div', {class: 'title'}, make('h1', {}, run.name), make('span', {class: `state ${run.state}`}, run.state),
				make('span', {class: 'quiet'}, [run.game, phase].filter(Boolean).join(' · '))),
			make('div', {class: 'budget'}, bar, make('span', {}, percent(done)),
				run.state === 'running' ? make('span', {class: 'quiet'}, `${duration(run.numbers['progress/eta_s'])} left`) : null),
			panels.tiles(run), this.coverage ? quiet(this.coverage) : null,
			...troubles(run).map(text => make('p', {class: 'trouble'}, text)));
	}

	showPanels(run) {
		const changed = (key, data) => {
			const text = JSON.stringify(data);
			const seen = (this.seen ??= {});
			if (seen[key] === text) return false;
			seen[key] = text;
			return true;
		};
		const place = name => this.places.get(name);
		const rates = Object.entries(run.numbers).filter(([name]) => name.startsWith('train_win_rate/'));
		if (changed('results', [run.evaluation, rates])) this.showCards(run);
		const lines = timesNow(run);
		if (changed('times', lines)) {
			fill(place('times-text'), run.bottleneck || run.activities.bottleneck
				? make('p', {class: 'verdict'}, run.bottleneck || run.activities.bottleneck) : null,
			make('div', {class: 'cards'}, ...panels.timesNow(lines, this.metrics.activities)));
		}
		const card = (name, content) => fill(place(name), make('div', {class: 'card'}, content));
		const nodes = panels.nodes(run.numbers);
		if (changed('processes', [run.processes, nodes?.textContent])) {
			fill(place('fleet-text'), make('div', {class: 'card'}, panels.processes(run.processes)),
				nodes && make('div', {class: 'card'}, nodes));
		}
		if (changed('matches', run.matches)) card('matches-text', panels.matches(run.name, run.matches));
		if (changed('log', [run.log, this.onlyEvents])) this.showLog(run);
		if (changed('starts', [run.starts, this.runs.map(each => each.name)])) this.showSettings(run);
	}

	showCards({evaluation, numbers}) {
		const card = (title, content) => content && make('div', {class: 'card'}, make('h3', {}, title), content);
		fill(this.places.get('learning-text'), make('div', {class: 'cards'},
			card(evaluation?.final ? 'Final evaluation' : 'Latest evaluation', panels.results(evaluation)),
			card('Current opponents in training', panels.opponents(numbers))));
	}

	showLog(run) {
		const box = make('input', {type: 'checkbox', checked: this.onlyEvents, onchange: () => {
			this.onlyEvents = box.checked;
			this.showLog(this.run);
		}});
		fill(this.places.get('log-tools'), make('label', {}, box, ' only warnings and errors'));
		const old = this.places.get('log-text').querySelector('.log');
		const atEnd = !old || old.scrollTop + old.clientHeight >= old.scrollHeight - 20;
		fill(this.places.get('log-text'), panels.log(run.log, this.onlyEvents));
		const log = this.places.get('log-text').querySelector('.log');
		if (log) log.scrollTop = atEnd ? log.scrollHeight : old.scrollTop;
	}

	async showSettings(run) {
		const others = this.runs.filter(each => each.name !== run.name);
		const choice = make('select', {onchange: () => {
			this.against = choice.value;
			this.showSettings(this.run);
		}}, make('option', {value: ''}, 'no other run'), ...others.map(each => make('option', {
			value: each.name, selected: each.name === this.against,
		}, each.name)));
		const box = make('input', {type: 'checkbox', checked: this.onlyDifferences, onchange: () => {
			this.onlyDifferences = box.checked;
			this.showSettings(this.run);
		}});
		fill(this.places.get('settings-tools'), others.length ? make('label', {}, 'Compare with ', choice) : null,
			this.against ? make('label', {}, box, ' only what differs') : null);
		const own = await ask('config', {run: run.name});
		const compared = new Map();
		if (this.against) compared.set(this.against, (await ask('config', {run: this.against})).settings);
		fill(this.places.get('settings-text'), make('div', {class: 'card'},
			panels.settings(run.name, own.settings, compared, this.against && this.onlyDifferences)),
		run.starts.length ? make('div', {class: 'card'}, panels.starts(run.starts)) : null);
	}

	async showCharts(run) {
		const wanted = [];
		for (const id of this.sections.keys()) {
			for (const spec of chartsOf(id, run.columns)) wanted.push({id, key: `${id} ${spec.title}`, spec, names: spec.names});
		}
		for (const [process, names] of timesOf(run.columns)) {
			const spec = {title: `Time of ${process}, over the run`, unit: 'share', stacked: true, height: 210};
			wanted.push({id: 'times', key: `times ${process}`, spec, names});
		}
		const names = [axis().name, ...new Set(wanted.flatMap(each => each.names))];
		const {series, rows, exact} = await askInParts(this.name, names);
		for (const {spec, x, lines} of curvesOf(run.evaluations)) {
			this.draw('learning', `curve ${spec.title}`, spec, x, lines, true);
		}
		const x = series[axis().name]?.mean || [];
		const kept = ascending(x);
		const at = list => kept.map(index => list[index]);
		for (const {id, key, spec, names: own} of wanted) {
			const shown = own.filter(name => series[name]?.mean.some(value => value !== null));
			const labels = labelsOf(shown);
			const lines = shown.map((name, index) => ({
				label: labels[index],
				mean: this.isCounter(name) ? fromZero(at(series[name].mean)) : at(series[name].mean),
				...(series[name].low && !spec.stacked ? {low: at(series[name].low), high: at(series[name].high)} : {}),
			}));
			if (lines.length) this.draw(id, key, spec, at(x), lines);
		}
		this.coverage = exact ? null : `This is a long run: ${count(rows)} rows have been read, samples stand for the rest.`;
	}

	isCounter(name) {
		const kind = (this.metrics.metrics[name] || this.metrics.families[name.slice(0, name.indexOf('/'))] || [])[0];
		return kind === 'counter';
	}

	draw(id, key, spec, x, lines, first = false) {
		let chart = this.charts.get(key);
		if (!chart) {
			chart = new Chart(spec);
			this.charts.set(key, chart);
			if (spec.points) chart.element.classList.add('wide');
			const place = this.places.get(`${id}-charts`);
			if (first) place.prepend(chart.element);
			else place.append(chart.element);
		}
		chart.update(x, lines);
	}
}

const PART = 60; // columns per question, so that an address stays short

async function askInParts(run, names) {
	const parts = [];
	for (let at = 0; at < names.length; at += PART) parts.push(names.slice(at, at + PART));
	const answers = await Promise.all(parts.map(part => ask('series', {run, names: part.join(',')})));
	const length = Math.min(...answers.map(answer => lengthOf(answer.series)));
	const series = {};
	for (const answer of answers) {
		for (const [name, columns] of Object.entries(answer.series)) {
			series[name] = Object.fromEntries(Object.entries(columns).map(([key, list]) => [key, list.slice(0, length)]));
		}
	}
	return {...answers[0], series};
}

const lengthOf = series => Object.values(series)[0]?.mean.length ?? Infinity;

/** Places where the axis has a value that is not below an earlier one. */
export function ascending(x) {
	const places = [];
	let last = -Infinity;
	x.forEach((value, at) => {
		if (value !== null && value >= last) {
			places.push(at);
			last = value;
		}
	});
	return places;
}

/** A counter has no value before it first counts. */
export function fromZero(values) {
	const first = values.findIndex(value => value !== null);
	return values.map((value, index) => (index < first ? 0 : value));
}

/** Names of lines: the ends of their columns, or their beginnings if several have the same end. */
export function labelsOf(names) {
	const ends = names.map(name => (name.startsWith('share/') ? name.slice(name.lastIndexOf('/') + 1) : endOf(name)));
	const isTwice = end => ends.filter(each => each === end).length > 1;
	return names.map((name, index) => words(isTwice(ends[index]) ? name.slice(0, name.indexOf('/'))
		: ends[index].replace(/^reward_/, '')));
}

/** Shares as the run last reported them; without them, those of the whole run. */
function timesNow(run) {
	const lines = Object.entries(run.numbers).filter(([name]) => name.startsWith('share/')).map(([name, share]) => {
		const activity = endOf(name);
		const cut = activity.lastIndexOf('/');
		const [process, part] = [activity.slice(0, cut), activity.slice(cut + 1)];
		const ms = family => run.numbers[`${family}/${activity}`];
		return {activity, process, part, share, mean_ms: ms('mean_ms'), p50_ms: ms('p50_ms'), p95_ms: ms('p95_ms')};
	});
	return lines.length ? lines : run.activities.lines || [];
}

function troubles(run) {
	const get = name => run.numbers[name] || 0;
	return [
		run.state === 'died' && 'The process of this run ended without saying so. `ludus train --resume` continues it.',
		!run.columns.length && 'There are no numbers yet.',
		run.damaged && `${run.damaged} lines of progress.csv cannot be read and are left out.`,
		run.not_finite && `${run.not_finite} numbers are NaN or infinite; charts leave them out.`,
		get('learner/skipped') && `${get('learner/skipped')} updates were skipped because they were not finite.`,
		get('hosts/given_up') && `${get('hosts/given_up')} hosts failed too often and stay down.`,
		get('telemetry/write_failures') && `${get('telemetry/write_failures')} writes of numbers failed.`,
	].filter(Boolean);
}
