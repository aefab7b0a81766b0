/** Makes elements. Every text goes through a text node or an attribute, so nothing that a run contains becomes HTML. */

/** Make an element: `make('a', {class: 'x', href: '#'}, 'text', child, ...)`. Handlers begin with `on`. */
export function make(tag, attributes = {}, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) {
		if (value === null || value === undefined || value === false) continue;
		if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
		else element.setAttribute(name, value === true ? '' : String(value));
	}
	append(element, children);
	return element;
}

/** Replace the content of an element. */
export function fill(element, ...children) {
	element.textContent = '';
	append(element, children);
	return element;
}

/** A paragraph of less important text. */
export const quiet = (...children) => make('p', {class: 'quiet'}, ...children);

/** Make a table. `head` and `rows` hold texts or elements; columns named in `numeric` are aligned to the right. */
export function table(caption, head, rows, numeric = []) {
	const side = index => (numeric.includes(index) ? 'number' : null);
	const line = (cells, tag) => make('tr', {}, ...cells.map((cell, index) => make(
		tag === 'td' && index === 0 ? 'th' : tag,
		{class: side(index), scope: tag === 'th' ? 'col' : index === 0 ? 'row' : null},
		cell,
	)));
	return make('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption}, make(
		'table', {},
		make('caption', {class: 'unseen'}, caption),
		make('thead', {}, line(head, 'th')),
		make('tbody', {}, ...rows.map(cells => line(cells, 'td'))),
	));
}

function append(element, children) {
	for (const child of children.flat()) {
		if (child === null || child === undefined || child === false) continue;
		element.append(child instanceof Node ? child : document.createTextNode(String(child)));
	}
}
