/** Where answers come from: the server that sent this page or, in an exported page, the snapshot in it. */

const element = document.getElementById('snapshot');
const snapshot = element && JSON.parse(element.textContent);

export const isLive = !snapshot;
export const exportedAt = snapshot ? snapshot.exported_at : null;

/** Answer a question: runs, metrics, run, series, config. Throws an Error whose message is for the user. */
export async function ask(question, query = {}) {
	if (snapshot) return fromSnapshot(question, query);
	let response;
	try {
		response = await fetch(`api/${question}?${new URLSearchParams(query)}`);
	} catch {
		throw new Error('The server does not answer. Is `ludus watch` still running?');
	}
	const data = await response.json();
	if (!response.ok) throw new Error(data.error);
	return data;
}

/** An iframe's attributes that show a saved match: without scripts, whatever the file holds. */
export function matchFrame(run, name) {
	if (!snapshot) return {src: `match?${new URLSearchParams({run, name})}`, sandbox: ''};
	return {srcdoc: snapshot.by_run[run].pages[name] || 'This match was left out of the exported page.', sandbox: ''};
}

function fromSnapshot(question, {run, names}) {
	if (question === 'runs' || question === 'metrics') return snapshot[question];
	const own = snapshot.by_run[run];
	if (!own) throw new Error(`The run ${run} is not in this page.`);
	if (question !== 'series') return own[question];
	const wanted = names.split(',').filter(name => name in own.series.series);
	return {...own.series, series: Object.fromEntries(wanted.map(name => [name, own.series.series[name]]))};
}
