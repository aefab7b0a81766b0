/** The panels of a run that are no charts: tiles, times, processes, opponents, matches, log, settings. */

import {fill, make, quiet, table} from 'ludus/dom';
import {count, decimal, duration, percent, span, words} from 'ludus/format';
import {colourOf} from 'ludus/drawing';
import {hardest} from 'ludus/learning';
import {matchFrame} from 'ludus/source';

const EVENTS = new Set(['WARNING', 'ERROR', 'CRITICAL']);

/** The most important numbers. */
export function tiles(run) {
	const {numbers, evaluation} = run;
	const get = name => numbers[name];
	const list = [
		['Decisions per second', count(speedOf(run)), `${count(get('progress/decisions'))} in all`],
		['Matches', count(get('progress/matches')), `${count(3600 * meanRate(run, 'progress/matches'))} per hour`],
		['Updates', count(get('progress/updates')), `lag ${decimal(get('lag/mean'))}`],
		['Training time', duration(get('progress/training_s')), `${duration(get('progress/eta_s'))} left`],
		['Hosts', partOf(get('hosts/alive'), get('hosts/total')), `${count(get('hosts/restarts') || 0)} restarts`],
	];
	if (get('node/total')) {
		list.push(['Nodes', partOf(get('node/alive'), get('node/total')), `${count(get('node/lost') || 0)} lost`]);
	}
	const worst = hardest(evaluation);
	if (worst) list.unshift(['Win rate', percent(worst.win_rate, 1), `against ${worst.opponent}, the hardest`]);
	else list.unshift(['Reward per match', decimal(get('match/reward')), 'in training']);
	if (get('curriculum/stages')) {
		list.push(['Stage', partOf(get('curriculum/stage'), get('curriculum/stages')), get('curriculum/name') || '']);
	}
	return make('dl', {class: 'tiles'}, ...list.map(([label, value, note]) => make('div', {class: 'tile'},
		make('dt', {}, label), make('dd', {}, make('b', {}, value), make('small', {}, note)))));
}

const partOf = (part, whole) => `${count(part)} of ${count(whole)}`;

/** Decisions per second: the latest rate of a running run, the mean of one that has ended. */
export function speedOf(run) {
	return run.state === 'running' ? run.numbers['speed/decisions_per_s'] : meanRate(run, 'progress/decisions');
}

const meanRate = ({numbers}, name) => numbers[name] / numbers['progress/training_s'];

/** A bar per process that shows where its time went; the same as a table below. */
export function timesNow(lines, meanings) {
	const byProcess = new Map();
	for (const line of lines) byProcess.set(line.process, [...byProcess.get(line.process) || [], line]);
	return [...byProcess].map(([process, parts]) => make('div', {class: 'card times'},
		make('h3', {}, process),
		make('div', {class: 'stack', 'aria-hidden': 'true'}, ...parts.map((part, index) => {
			const piece = make('span', {title: `${words(part.part)} ${percent(part.share, 1)}`});
			piece.style.setProperty('--line', colourOf({}, index));
			piece.style.flexGrow = String(Math.max(0, part.share || 0));
			return piece;
		})),
		table(`Where the time of ${process} went`, ['activity', 'share', 'mean', 'median', '95%'],
			parts.map((part, index) => [
				activity(part, index, meanings), percent(part.share, 1), span(part.mean_ms), span(part.p50_ms), span(part.p95_ms),
			]), [1, 2, 3, 4]),
	));
}

function activity(part, index, meanings) {
	const swatch = make('span', {class: 'swatch', 'aria-hidden': 'true'});
	swatch.style.setProperty('--line', colourOf({}, index));
	const meaning = meanings[part.activity || `${part.process}/${part.part}`];
	return make('span', {title: meaning || null}, swatch, words(part.part));
}

const mib = value => `${count(value)} MiB`;

/** The processes of a run on this machine. Pages that processes share count for each. */
export function processes(uses) {
	if (!uses.length) return quiet('The run is not running on this machine, so its processes cannot be listed.');
	const total = key => uses.reduce((sum, use) => sum + use[key], 0);
	return table('Processes of the run', ['process', 'pid', 'memory', 'cores', 'command'], [
		...uses.map(use => [use.role, use.pid, mib(use.memory_mib), use.cpu.toFixed(2), make('code', {}, use.command)]),
		['all', '', mib(total('memory_mib')), total('cpu').toFixed(2), ''],
	], [1, 2, 3]);
}

/** The nodes of a cluster with what each has played and restarted; null for a run on one machine. */
export function nodes(numbers) {
	const names = new Set(Object.keys(numbers).filter(name => OF_NODE.test(name)).map(name => name.replace(OF_NODE, '')));
	if (!names.size) return null;
	const get = (family, node) => count(numbers[`${family}/${node}`] || 0);
	return table('Nodes of the cluster', ['node', 'decisions', 'restarts of hosts', 'restarts of actors'],
		[...names].sort().map(node => [
			node, get('node_decisions', node), get('node_host_restarts', node), get('node_actor_restarts', node),
		]), [1, 2, 3]);
}

const OF_NODE = /^node_(decisions|host_restarts|actor_restarts)\//;

/** Current opponents in training, with their win rates. */
export function opponents(numbers) {
	const rows = Object.entries(numbers).filter(([name]) => name.startsWith('train_win_rate/'));
	if (!rows.length) return null;
	return table('Win rates in training, by kind of opponent', ['opponent', 'share of matches won'],
		rows.map(([name, value]) => [name.slice('train_win_rate/'.length), meter(value)]), [1]);
}

/** The latest evaluation as bars with intervals. */
export function results(evaluation) {
	if (!evaluation) return null;
	const alone = evaluation.scores.every(score => score.win_rate === undefined || score.opponent === 'none');
	const head = alone ? ['', 'reward', '95% interval', 'matches'] : ['opponent', 'won', '95% interval', 'matches'];
	return table(evaluation.final ? 'Final evaluation' : 'Latest evaluation', head, evaluation.scores.map(score => {
		const [low, high] = (alone ? score.reward_interval : score.interval) || [];
		return [
			alone ? 'agent' : score.opponent,
			alone ? decimal(score.reward) : meter(score.win_rate),
			alone ? `${decimal(low)} to ${decimal(high)}` : `${percent(low)} to ${percent(high)}`,
			count(score.matches),
		];
	}), [1, 2, 3]);
}

function meter(share) {
	const bar = make('span', {class: 'meter', 'aria-hidden': 'true'});
	bar.style.setProperty('--share', `${100 * (share || 0)}%`);
	return make('span', {class: 'measured'}, bar, percent(share, 1));
}

/** Saved matches; one of them is shown below the list. */
export function matches(run, list) {
	if (!list.length) {
		const [save, show] = ['ludus eval RUN --save-replays RUN/replays', 'ludus replay FILE'];
		return quiet('There are no saved matches. ', make('code', {}, save), ' saves some, and ', make('code', {}, show),
			' makes a page of one.');
	}
	const stage = make('div', {class: 'match'});
	const watch = match => make('button', {
		type: 'button', class: 'button',
		onclick: () => fill(stage, make('iframe', {...matchFrame(run, match.page), title: `Match ${match.name}`})),
	}, 'Watch');
	return make('div', {}, table('Saved matches', ['match', 'score', 'turns', ''], list.map(match => [
		match.policies ? match.policies.join(' against ') : match.name,
		match.score ? match.score.map(each => decimal(each)).join(' : ') : '',
		match.turns ? count(match.turns) : '',
		match.page ? watch(match) : make('code', {}, `ludus replay replays/${match.name}`),
	]), [2]), stage);
}

/** The last lines of run.log; `onlyEvents` leaves warnings and errors. */
export function log(lines, onlyEvents) {
	const shown = onlyEvents ? lines.filter(line => EVENTS.has(line.level)) : lines;
	if (!shown.length) return quiet(onlyEvents ? 'No warnings and no errors.' : 'The log is empty.');
	return make('div', {class: 'log', tabindex: 0, role: 'region', 'aria-label': 'Log'}, ...shown.map(line => make(
		'p', {class: EVENTS.has(line.level) ? line.level.toLowerCase() : null}, line.text)));
}

/** Settings as a table. `others` are the settings of further runs by name; `onlyDifferences` leaves what differs. */
export function settings(name, own, others, onlyDifferences) {
	const names = [...others.keys()];
	const keys = [...new Set([...Object.keys(own), ...names.flatMap(each => Object.keys(others.get(each)))])];
	const text = value => (value === undefined ? 'not set' : value === null ? 'none' : String(value));
	const differs = key => names.some(each => text(others.get(each)[key]) !== text(own[key]));
	const shown = keys.filter(key => !onlyDifferences || differs(key));
	if (!shown.length) return quiet(onlyDifferences ? 'The settings are the same.' : 'There is no configuration.');
	return table('Settings', ['setting', name, ...names], shown.map(key => [
		make('code', {class: differs(key) ? 'differs' : null}, key),
		make('code', {}, text(own[key])),
		...names.map(each => make('code', {class: text(others.get(each)[key]) === text(own[key]) ? 'same' : 'differs'},
			text(others.get(each)[key]))),
	]));
}

export function starts(list) {
	return table('Starts of the run', ['start', 'version', 'commit', 'cores', 'system'],
		list.map((start, index) => [index + 1, start.version, start.commit || '–', start.cores, start.system]), [3]);
}
