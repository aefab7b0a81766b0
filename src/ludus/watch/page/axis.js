/** The horizontal axis that all charts share, and the theme. Both are kept in the browser. */

import {count, duration} from 'ludus/format';
import {fill, make} from 'ludus/dom';

export const AXES = [
	{name: 'progress/training_s', key: 'training_s', label: 'time', long: 'training time', format: duration},
	{name: 'progress/decisions', key: 'decisions', label: 'decisions', long: 'decisions', format: count},
	{name: 'progress/updates', key: 'updates', label: 'updates', long: 'updates', format: count},
];

let chosen = AXES.find(axis => axis.key === recall('axis')) || AXES[0];

export const axis = () => chosen;

/** Show the choice of the axis. Calls `changed` when another one is chosen. */
export function axisChoice(place, changed) {
	fill(place, ...AXES.map(each => make('button', {
		type: 'button',
		'aria-pressed': String(each === chosen),
		onclick: () => {
			chosen = each;
			keep('axis', each.key);
			axisChoice(place, changed);
			changed();
		},
	}, each.label)));
}

/** Set up the button that changes between dark and light. Calls `changed` when it did, or when the system did. */
export function themeChoice(button, changed) {
	const system = matchMedia('(prefers-color-scheme: dark)');
	const show = () => {
		const theme = recall('theme') || (system.matches ? 'dark' : 'light');
		document.documentElement.dataset.theme = theme;
		fill(button, theme === 'dark' ? '☀' : '☾');
		button.title = theme === 'dark' ? 'Light colours' : 'Dark colours';
	};
	button.addEventListener('click', () => {
		keep('theme', document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
		show();
		changed();
	});
	system.addEventListener('change', () => {
		show();
		changed();
	});
	show();
}

function recall(key) {
	try {
		return localStorage.getItem(`ludus-${key}`);
	} catch {
		return null; // a browser that keeps nothing
	}
}

function keep(key, value) {
	try {
		localStorage.setItem(`ludus-${key}`, value);
	} catch {
		// a browser that keeps nothing
	}
}
