'use strict';
// Words of others in the log of a host: a game, a server or a player wrote them, and a log has lines of its own.

const LONGEST_MESSAGE = 500;
const LONGEST_DETAIL = 20_000;
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g; // all but tab and line feed
const INDENT = '    ';

/** At most so many characters, and how many there were. */
function cut(text, longest) {
	return text.length <= longest ? text : `${text.slice(0, longest)}... (${text.length} characters)`;
}

/** Text whose lines after the first are indented, without characters that a terminal obeys. */
function indented(text) {
	const escaped = text.replace(CONTROL, letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
	return escaped.replace(/\n(?=\S)/g, `\n${INDENT}`);
}

/** An error with its stack and its detail, for a log: only the first line begins at the margin. */
function errorText(error) {
	const stack = String(error?.stack ?? error);
	const detail = error?.detail ? `\n${INDENT}${indented(cut(String(error.detail), LONGEST_DETAIL))}` : '';
	return `${indented(cut(stack, LONGEST_DETAIL))}${detail}\n`;
}

/** What an ERROR frame says of an error. */
function messageOf(error) {
	return cut(String(error?.message ?? error), LONGEST_MESSAGE);
}

module.exports = { cut, errorText, indented, messageOf };
