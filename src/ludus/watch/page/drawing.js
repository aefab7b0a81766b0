/** What a chart looks like: uPlot's options and the colours, which are those of page.css. */

import {count, decimal, percent} from 'ludus/format';

const LINES = 10; // colours in page.css
const FONT = '11px system-ui, sans-serif';

export const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export const colourOf = (line, index) => colour(`--line-${1 + (line.colour ?? index) % LINES}`);

/** Return options for lines [{label, low}] over an axis. `onCursor` is told the place under the cursor, or null. */
export function optionsOf(spec, lines, axis, onCursor) {
	const {series, bands} = seriesOf(spec, lines);
	const grid = {stroke: colour('--grid'), width: 1};
	const both = {font: FONT, stroke: colour('--quiet'), grid, ticks: {show: false}};
	return {
		legend: {show: false},
		padding: [8, 22, 0, 0],
		scales: {x: {time: false}, y: {range: (plot, low, high) => rangeOf(spec, low, high)}},
		axes: [
			{...both, size: 26, gap: 4, space: 70, values: (plot, values) => values.map(value => axis.format(value))},
			{...both, size: 50, gap: 6, space: 34, values: (plot, values) => values.map(value => tick(value, spec.unit))},
		],
		cursor: {y: false, points: {size: 6}, sync: {key: axis.key, setSeries: false}, focus: {prox: 30}},
		series,
		bands,
		hooks: {setCursor: [plot => onCursor(plot.cursor.left < 0 ? null : plot.cursor.idx)]},
	};
}

function seriesOf(spec, lines) {
	const series = [{}];
	const bands = [];
	lines.forEach((line, index) => {
		const stroke = colourOf(line, index);
		const points = spec.points ? {show: true, size: 6, fill: stroke} : {show: false};
		const shown = {label: line.label, stroke, width: spec.stacked ? 1 : 1.75, spanGaps: true, points};
		if (spec.stacked) {
			series.push({...shown, fill: index === 0 ? faint(stroke, 0.7) : null});
			if (index) bands.push({series: [index + 1, index], fill: faint(stroke, 0.7)});
			return;
		}
		series.push(shown);
		if (!line.low) return;
		const edge = {...shown, stroke: 'transparent', width: 0, points: {show: false}};
		series.push(edge, edge);
		bands.push({series: [series.length - 1, series.length - 2], fill: faint(stroke, 0.16)});
	});
	return {series: series.map(each => ({...each})), bands};
}

function rangeOf(spec, low, high) {
	if (spec.stacked || spec.unit === 'share' && high <= 1 && low >= 0 && !spec.zero) return [0, 1];
	if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
	if (low === 0 && high === 0) return [0, 1];
	const spread = high - low || Math.abs(high);
	const margin = 0.08 * spread;
	const bottom = spec.zero && low >= 0 ? 0 : low - margin;
	return [bottom, high + margin];
}

function tick(value, unit) {
	if (unit === 'share') return percent(value);
	return Math.abs(value) >= 1000 ? shortened(value) : decimal(value);
}

const shortened = value => (Math.abs(value) < 1e6 ? `${Number((value / 1000).toPrecision(3))}k` : count(value));

/** A colour #rrggbb with less opacity. */
function faint(hex, opacity) {
	const part = at => parseInt(hex.slice(at, at + 2), 16);
	return `rgba(${part(1)}, ${part(3)}, ${part(5)}, ${opacity})`;
}
