/** The charts of a run: which columns of progress.csv belong together. */

/**
 * Charts by section. `names` are columns. `family` takes all columns of a family, except those that begin with `but`,
 * `prefix` all that begin with it.
 */
export const CHARTS = [
	{section: 'learning', title: 'Reward per match', names: ['match/reward'], unit: 'reward'},
	{section: 'learning', title: 'Training win rate, by kind of opponent', family: 'train_win_rate', unit: 'share'},
	{section: 'learning', title: 'Duration of matches', names: ['match/duration_s'], unit: 's', zero: true},
	{section: 'learning', title: 'Reward per match, by term', prefix: 'fact/reward_', unit: 'reward'},
	{section: 'learning', title: 'Length of matches', names: ['match/decisions'], unit: 'decisions'},
	{section: 'speed', title: 'Decisions per second', names: ['speed/decisions_per_s'], unit: 'decisions/s', zero: true},
	{section: 'speed', title: 'Matches per hour', names: ['speed/matches_per_hour'], unit: 'matches/h', zero: true},
	{section: 'speed', title: 'Updates per second', names: ['speed/updates_per_s'], unit: 'updates/s', zero: true},
	{section: 'speed', title: 'Rows per inference batch', names: ['speed/batch_rows'], unit: 'rows', zero: true},
	{section: 'losses', title: 'Policy loss', names: ['loss/policy'], unit: ''},
	{section: 'losses', title: 'Value loss', names: ['loss/value'], unit: '', zero: true},
	{section: 'losses', title: 'Entropy', names: ['learner/entropy'], unit: 'nats', zero: true},
	{section: 'losses', title: 'KL divergence', names: ['learner/kl', 'learner/reference_kl'], unit: 'nats', zero: true},
	{section: 'losses', title: 'Explained variance', names: ['learner/explained_variance'], unit: ''},
	{section: 'losses', title: 'Gradient norm', names: ['learner/grad_norm'], unit: '', zero: true},
	{section: 'losses', title: 'Clipped share', names: ['learner/clip_share'], unit: 'share', zero: true},
	{section: 'losses', title: 'Learning rate', names: ['learner/lr'], unit: '', zero: true},
	{section: 'losses', title: 'Lag (staleness)', names: ['lag/mean', 'lag/max'], unit: 'versions', zero: true},
	{section: 'fleet', title: 'Running hosts', names: ['hosts/alive', 'hosts/total'], unit: 'hosts', zero: true},
	{
		section: 'fleet', title: 'Restarts', unit: 'restarts', zero: true,
		names: ['hosts/restarts', 'actor/restarts', 'servers/restarts'],
	},
	{section: 'fleet', title: 'Running actors', names: ['actor/playing', 'actor/total'], unit: 'actors', zero: true},
	{section: 'fleet', title: 'Running nodes', names: ['node/alive', 'node/total'], unit: 'nodes', zero: true},
	{section: 'fleet', title: 'Restarts of hosts, by node', family: 'node_host_restarts', unit: 'restarts', zero: true},
	{section: 'fleet', title: 'Restarts of actors, by node', family: 'node_actor_restarts', unit: 'restarts', zero: true},
	{section: 'fleet', title: 'Busy share of each actor', family: 'actor_busy', unit: 'share', zero: true},
	{section: 'fleet', title: 'Busy share of each host', family: 'host_busy', unit: 'share', zero: true},
	{section: 'fleet', title: 'Memory, by kind of process', family: 'memory_mib', unit: 'MiB', zero: true},
	{section: 'fleet', title: 'Voided matches', names: ['match/voided'], unit: 'matches', zero: true},
	{section: 'fleet', title: 'Memory of the servers', names: ['servers/memory_mib'], unit: 'MiB', zero: true},
	{section: 'curriculum', title: 'Stage', names: ['curriculum/stage'], unit: 'stages', zero: true},
	{section: 'facts', title: null, family: 'fact', but: 'fact/reward_', unit: '', apart: true},
];

/** Charts that compare runs, one line per run. */
export const COMPARED = CHARTS.filter(chart => chart.names && chart.section !== 'curriculum' && chart.names.length < 3);

/** Return the charts of a section that have columns: [{title, unit, names, zero}]. */
export function chartsOf(section, columns) {
	const charts = [];
	for (const chart of CHARTS.filter(each => each.section === section)) {
		const names = columnsOf(chart, columns);
		if (!names.length) continue;
		if (chart.apart) charts.push(...names.map(name => ({...chart, names: [name], title: endOf(name)})));
		else charts.push({...chart, names, named: Boolean(chart.family)});
	}
	return charts;
}

function columnsOf({names, family, prefix = `${family}/`, but}, columns) {
	if (names) return names.filter(name => columns.includes(name));
	return columns.filter(name => name.startsWith(prefix) && !(but && name.startsWith(but)));
}

/** Processes of the columns share/PROCESS/PART, with their columns, in order. */
export function timesOf(columns) {
	const found = new Map();
	for (const name of columns.filter(each => each.startsWith('share/'))) {
		const process = name.split('/').slice(1, -1).join('/');
		found.set(process, [...found.get(process) || [], name]);
	}
	return found;
}

export const endOf = name => name.slice(name.indexOf('/') + 1);
