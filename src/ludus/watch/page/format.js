/** Formats numbers for people. A missing number is a dash. */

const DASH = '–';

const absent = value => typeof value !== 'number' || !Number.isFinite(value);

/** A count: 12,345 up to a million, then 1.23 M. */
export function count(value) {
	if (absent(value)) return DASH;
	for (const [size, letter] of [[1e9, 'G'], [1e6, 'M']]) {
		if (Math.abs(value) >= size) return `${(value / size).toFixed(2)} ${letter}`;
	}
	return Math.abs(value) >= 10 || Number.isInteger(value) ? Math.round(value).toLocaleString('en') : value.toFixed(1);
}

/** Three significant digits, for losses and the like. */
export function decimal(value) {
	if (absent(value)) return DASH;
	if (value === 0) return '0';
	const size = Math.abs(value);
	if (size >= 1e4) return count(value);
	return size < 1e-4 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
}

export const percent = (value, digits = 0) => (absent(value) ? DASH : `${(100 * value).toFixed(digits)}%`);

/** A duration as m:ss or h:mm:ss. */
export function duration(seconds) {
	if (absent(seconds)) return DASH;
	const whole = Math.max(0, Math.round(seconds));
	const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
	const two = number => String(number).padStart(2, '0');
	return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** A duration of a pass, given in milliseconds. */
export function span(ms) {
	if (absent(ms)) return DASH;
	if (ms < 1) return `${decimal(ms * 1000)} µs`;
	return ms < 1000 ? `${decimal(ms)} ms` : `${decimal(ms / 1000)} s`;
}

/** How long ago a moment was, in seconds since 1970. */
export function ago(moment, now = Date.now() / 1000) {
	const seconds = Math.max(0, now - moment);
	for (const [size, unit] of [[86400, 'day'], [3600, 'hour'], [60, 'minute']]) {
		const number = Math.floor(seconds / size);
		if (number) return `${number} ${unit}${number > 1 ? 's' : ''} ago`;
	}
	return 'just now';
}

/** A value with its unit from the metrics' description. */
export function valueOf(value, unit) {
	if (unit === 'share') return percent(value, 1);
	if (unit === 's') return Math.abs(value) < 60 ? span(1000 * value) : duration(value);
	if (unit === 'ms') return span(value);
	return unit && unit !== 'reward' && unit !== 'nats' ? count(value) : decimal(value);
}

/** The words of a name: `wait_hosts` is "wait hosts". */
export const words = name => name.replaceAll('_', ' ');
