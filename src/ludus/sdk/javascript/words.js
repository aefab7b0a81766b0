'use strict';
// Formats text of games, servers and players for the log, so that it cannot imitate lines of the log.

const LONGEST_MESSAGE = 500;
const LONGEST_DETAIL = 20_000;
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g; // all but tab and line feed
const INDENT = '    ';

/** Return at most `longest` characters of a text; a longer one ends with its length. */
function cut(text, longest) {
	return text.length <= longest ? text : `${text.slice(0, longest)}... (${text.length} characters)`;
}

/** Return a text with escaped control characters, in which all lines but the first are indented. */
function indented(text) {
	const escaped = text.replace(CONTROL, letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
	return escaped.replace(/\n(?=\S)/g, `\n${INDENT}`);
}

/** Return an error with its stack and its detail for the log. All lines but the first are indented. */
function errorText(error) {
	const stack = String(error?.stack ?? error);
	const detail = error?.detail ? `\n${INDENT}${indented(cut(String(error.detail), LONGEST_DETAIL))}` : '';
	return `${indented(cut(stack, LONGEST_DETAIL))}${detail}\n`;
}

/** Return the message of an error for an ERROR frame. */
function messageOf(error) {
	return cut(String(error?.message ?? error), LONGEST_MESSAGE);
}

module.exports = { cut, errorText, indented, messageOf };
