/** Shows the view that the address names, and refreshes it while the page is visible. */

import {axisChoice, themeChoice} from 'ludus/axis';
import {fill, make} from 'ludus/dom';
import {RunView} from 'ludus/run';
import {CompareView, ListView, runLink} from 'ludus/runs';
import {ask, exportedAt, isLive} from 'ludus/source';

const REFRESH_MS = 2000;
const content = document.getElementById('content');
const notice = document.getElementById('notice');
let view = null;
let refreshing = false;
let again = false;

async function show() {
	view?.remove();
	view = null;
	fill(content);
	tell('');
	try {
		const [{runs}, metrics] = await Promise.all([ask('runs'), ask('metrics')]);
		view = viewOf(location.hash, runs, metrics);
		showWhere(runs);
		content.append(view.element);
		await refresh();
	} catch (error) {
		tell(error.message);
	}
}

function viewOf(hash, runs, metrics) {
	const [kind, value = ''] = hash.replace(/^#/, '').split('=');
	const names = value.split(',').map(each => decodeURIComponent(each)).filter(Boolean);
	if (kind === 'compare' && names.length > 1) return new CompareView(names);
	if (kind === 'run' && names.length) return new RunView(decodeURIComponent(value), runs, metrics);
	return runs.length === 1 ? new RunView(runs[0].name, runs, metrics) : new ListView();
}

/** The name of the view, as a choice between all runs. */
function showWhere(runs) {
	if (runs.length < 2) {
		fill(document.getElementById('where'));
		return;
	}
	const choice = make('select', {
		'aria-label': 'Run', onchange: () => {
			location.hash = choice.value;
		},
	});
	const option = run => make('option', {value: runLink(run.name), selected: run.name === view.name}, run.name);
	fill(choice, make('option', {value: ''}, view instanceof CompareView ? 'compared' : 'all runs'), ...runs.map(option));
	fill(document.getElementById('where'), choice);
}

async function refresh() {
	if (refreshing) {
		again = true;
		return;
	}
	refreshing = true;
	try {
		do {
			again = false;
			await view?.refresh();
		} while (again);
		tell(exportedAt ? `Exported on ${exportedAt}. Nothing here changes.` : '');
		document.documentElement.dataset.ready = 'yes';
	} catch (error) {
		tell(error.message);
	} finally {
		refreshing = false;
	}
}

function tell(text) {
	notice.hidden = !text;
	if (notice.textContent !== text) fill(notice, text);
}

axisChoice(document.getElementById('axis'), refresh);
themeChoice(document.getElementById('theme'), () => view?.redraw());
addEventListener('hashchange', show);
document.addEventListener('visibilitychange', () => document.hidden || refresh());
if (isLive) setInterval(() => document.hidden || refresh(), REFRESH_MS);
show();
