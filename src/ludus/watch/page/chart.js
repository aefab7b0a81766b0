/* global uPlot */
/** One chart: a figure with a legend that shows the values at the cursor, and the same numbers as a table. */

import {axis} from 'ludus/axis';
import {fill, make, table} from 'ludus/dom';
import {valueOf} from 'ludus/format';
import {colourOf, optionsOf} from 'ludus/drawing';

const TABLE_ROWS = 40;
const hasCharts = typeof uPlot === 'function';

/** A chart of lines. `update` draws data; call `redraw` after a change of the theme. */
export class Chart {
	/** `spec`: {title, unit, zero, stacked, points, height, named}. */
	constructor(spec) {
		this.spec = spec;
		this.plot = null;
		this.lines = [];
		this.hidden = new Set();
		this.at = null;
		this.canvas = make('div', {
			class: 'plot', tabindex: 0, role: 'img', onkeydown: event => this.key(event), onblur: () => this.show(null),
		});
		this.legend = make('ul', {class: 'legend'});
		this.numbers = make('div', {});
		this.details = make('details', {class: 'numbers', ontoggle: () => this.tabulate()},
			make('summary', {}, 'Numbers'), this.numbers);
		this.element = make('figure', {class: 'card chart'},
			make('figcaption', {}, spec.title), this.legend, this.canvas, this.details);
		this.observer = new ResizeObserver(() => this.resize());
		this.observer.observe(this.canvas);
	}

	/** Draw lines: [{label, mean, low, high}] over `x`, all of one length; null where there is no value. */
	update(x, lines) {
		const shape = list => JSON.stringify(list.map(line => [line.label, Boolean(line.low)]));
		const changed = shape(lines) !== shape(this.lines) || axis() !== this.axis;
		[this.x, this.lines] = [x, lines];
		this.describe();
		this.tabulate();
		if (changed || !this.plot) this.redraw();
		else this.plot.setData(this.data(), !this.isZoomed());
		this.show(null);
	}

	redraw() {
		this.axis = axis();
		this.plot?.destroy();
		this.plot = null;
		this.showLegend();
		if (!this.x || !hasCharts) {
			if (!hasCharts) fill(this.canvas, make('p', {class: 'quiet'}, 'Charts need: pip install \'ludus-rl[watch]\''));
			return;
		}
		const width = this.canvas.clientWidth;
		if (!width) return;
		const options = optionsOf(this.spec, this.lines, this.axis, at => this.show(at));
		this.plot = new uPlot({...options, width, height: this.spec.height || 190}, this.data(), this.canvas);
		for (const index of this.hidden) this.setShown(index, false);
	}

	remove() {
		this.observer.disconnect();
		this.plot?.destroy();
	}

	/** Columns for uPlot: x, then each line with its lower and upper edge; stacked lines are summed. */
	data() {
		if (!this.spec.stacked) {
			return [this.x, ...this.lines.flatMap(line => (line.low ? [line.mean, line.low, line.high] : [line.mean]))];
		}
		let below = this.x.map(() => 0);
		return [this.x, ...this.lines.map(line => {
			below = line.mean.map((value, at) => (value === null || below[at] === null ? null : below[at] + value));
			return below;
		})];
	}

	resize() {
		const width = this.canvas.clientWidth;
		if (!width) return;
		if (!this.plot) this.redraw();
		else if (this.plot.width !== width) this.plot.setSize({width, height: this.plot.height});
	}

	isZoomed() {
		const {min, max} = this.plot.scales.x;
		return this.drawn && (min > this.drawn[0] || max < this.drawn[1]);
	}

	showLegend() {
		this.values = this.lines.map(() => make('b', {}));
		const isNamed = this.lines.length > 1 || this.spec.named; // otherwise the title says what the line is
		fill(this.legend, ...this.lines.map((line, index) => {
			const button = make('button', {
				type: 'button', 'aria-pressed': String(!this.hidden.has(index)), 'aria-label': `Show ${line.label}`,
				onclick: () => {
					const shown = this.hidden.has(index);
					if (shown) this.hidden.delete(index);
					else this.hidden.add(index);
					button.setAttribute('aria-pressed', String(shown));
					this.setShown(index, shown);
				},
			}, make('span', {class: 'swatch', 'aria-hidden': 'true'}), isNamed ? `${line.label} ` : null, this.values[index]);
			button.style.setProperty('--line', colourOf(line, index));
			return make('li', {}, button);
		}));
	}

	setShown(index, show) {
		const width = line => (line.low && !this.spec.stacked ? 3 : 1);
		const first = 1 + this.lines.slice(0, index).reduce((sum, line) => sum + width(line), 0);
		for (let at = first; at < first + width(this.lines[index]); at += 1) this.plot?.setSeries(at, {show});
	}

	/** Show the values at one place of x in the legend; null: the latest ones. */
	show(at) {
		this.at = at;
		this.lines.forEach((line, index) => {
			const place = at ?? lastOf(line.mean);
			if (this.values?.[index]) fill(this.values[index], valueOf(line.mean[place], this.spec.unit));
		});
		this.drawn = this.x?.length ? [this.x[0], this.x[this.x.length - 1]] : null;
	}

	/** Move the cursor with the arrow keys; Escape shows everything again. */
	key(event) {
		const step = {ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity}[event.key];
		if (!this.plot || !this.x.length || (step === undefined && event.key !== 'Escape')) return;
		event.preventDefault();
		if (event.key === 'Escape') {
			this.plot.setData(this.data(), true);
			return;
		}
		const last = this.x.length - 1;
		const at = Math.min(last, Math.max(0, (this.at ?? last) + step));
		this.plot.setCursor({left: this.plot.valToPos(this.x[at], 'x'), top: 10});
		this.show(at);
		this.canvas.setAttribute('aria-label', `${this.spec.title} at ${this.axis.format(this.x[at])}: ${this.spoken(at)}`);
	}

	describe() {
		const range = this.x.length ? `up to ${axis().format(this.x[this.x.length - 1])} of ${axis().long}` : 'no data yet';
		this.canvas.setAttribute('aria-label', `Chart of ${this.spec.title}, ${range}: ${this.spoken(null)}`);
	}

	spoken(at) {
		const value = line => valueOf(line.mean[at ?? lastOf(line.mean)], this.spec.unit);
		return this.lines.map(line => `${line.label} ${value(line)}`).join(', ');
	}

	tabulate() {
		if (!this.details.open || !this.x) return;
		const step = Math.max(1, Math.ceil(this.x.length / TABLE_ROWS));
		const places = this.x.map((_, at) => at).filter(at => (this.x.length - 1 - at) % step === 0);
		const cell = (line, at) => valueOf(line.mean[at], this.spec.unit) + (line.low && line.low[at] !== null
			? ` (${valueOf(line.low[at], this.spec.unit)} to ${valueOf(line.high[at], this.spec.unit)})` : '');
		fill(this.numbers, table(
			this.spec.title,
			[axis().long, ...this.lines.map(line => line.label)],
			places.map(at => [axis().format(this.x[at]), ...this.lines.map(line => cell(line, at))]),
			this.lines.map((_, index) => index + 1),
		));
	}
}

function lastOf(values) {
	for (let at = values.length - 1; at >= 0; at -= 1) if (values[at] !== null) return at;
	return 0;
}
