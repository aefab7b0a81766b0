'use strict';
// Plays the record of a match (host/recording.js): a map, a chart of land shares, players and actions.

const SEATS = ['#d1242f', '#0969da', '#8250df', '#bf8700', '#1a7f37', '#bc4c00', '#cf222e', '#0550ae'];
const NATIONS = ['#5b8c5a', '#b08968', '#6d83b8', '#a45d8f', '#7a9e9f', '#c0a24d', '#8d6b94', '#4f7f8c'];
const BOTS = ['#9aa3ad', '#aab2bb', '#8f99a3', '#b7bec6', '#a0a9a0', '#b3a9a0'];
const WATER = [203, 222, 240];
const LAND = [[236, 231, 216], [222, 214, 192], [205, 195, 172], [190, 180, 160]]; // free land by height
const SHOWN_ACTIONS = 60;
const SHOWN_PLAYERS = 14;

const log = JSON.parse(document.getElementById('log').textContent);
const at = id => document.getElementById(id);
const players = new Map(log.players.map(player => [player.id, player]));
colour();
const owners = new Uint16Array(log.width * log.height);
let shown = -1; // the frame that `owners` shows
let timer = null;

function colour() {
	const next = { HUMAN: 0, NATION: 0, BOT: 0 };
	for (const player of players.values()) {
		const colours = player.seat >= 0 ? SEATS : player.type === 'BOT' ? BOTS : NATIONS;
		const number = player.seat >= 0 ? player.seat : next[player.type]++;
		player.colour = colours[number % colours.length];
		player.rgb = [1, 3, 5].map(i => parseInt(player.colour.slice(i, i + 2), 16));
	}
}

/** Bring `owners` to a frame: forwards by its changes, backwards from the beginning. */
function seek(frame) {
	if (frame < shown) {
		owners.fill(0);
		shown = -1;
	}
	while (shown < frame) {
		const { c } = log.frames[++shown];
		for (let i = 0, place = 0; i < c.length; i += 2) owners[place += c[i]] = c[i + 1];
	}
}

function drawMap() {
	const canvas = at('map');
	const context = canvas.getContext('2d');
	const image = context.createImageData(log.width, log.height);
	for (let i = 0; i < owners.length; i++) {
		const height = Number(log.terrain[i]);
		const owner = players.get(owners[i]);
		const free = height === 0 ? WATER : LAND[height - 1];
		const rgb = owner === undefined ? free : owner.rgb;
		const isEdge = owner !== undefined && (owners[i] !== owners[i + 1] || owners[i] !== owners[i + log.width]);
		const shade = isEdge ? 0.72 : 1 - 0.06 * Math.max(0, height - 1);
		for (let c = 0; c < 3; c++) image.data[4 * i + c] = owner === undefined ? rgb[c] : rgb[c] * shade;
		image.data[4 * i + 3] = 255;
	}
	context.putImageData(image, 0, 0);
}

function drawChart() {
	const canvas = at('chart');
	const scale = window.devicePixelRatio || 1;
	const [wide, high] = [canvas.clientWidth, 180];
	canvas.width = wide * scale;
	canvas.height = high * scale;
	canvas.style.height = `${high}px`;
	const context = canvas.getContext('2d');
	context.scale(scale, scale);
	const x = frame => 34 + (wide - 42) * frame / Math.max(1, log.frames.length - 1);
	const y = share => high - 16 - (high - 26) * share;
	context.font = '11px system-ui, sans-serif';
	context.textAlign = 'right';
	for (const share of [0, 0.25, 0.5, 0.75, 1]) {
		context.strokeStyle = '#eaeef2';
		line(context, [[34, y(share)], [wide - 8, y(share)]]);
		context.fillStyle = '#57606a';
		context.fillText(`${100 * share}%`, 30, y(share) + 4);
	}
	for (const player of [...players.values()].reverse()) {
		context.strokeStyle = player.colour;
		context.lineWidth = player.seat >= 0 ? 2.4 : 1.2;
		line(context, log.frames.map((frame, i) => [x(i), y(landOf(frame, player.id))]));
	}
	context.lineWidth = 1;
	context.strokeStyle = '#1b1f24';
	line(context, [[x(shown), y(0)], [x(shown), y(1)]]);
}

function line(context, points) {
	context.beginPath();
	points.forEach(([x, y], i) => (i === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
	context.stroke();
}

function landOf(frame, id) {
	const row = frame.p.find(each => each[0] === id);
	return row === undefined ? 0 : row[1] / log.land;
}

function showPlayers() {
	const frame = log.frames[shown];
	const now = new Map(frame.p.map(([id, tiles, troops]) => [id, { tiles, troops }]));
	const order = player => [player.seat >= 0 ? 1 : 0, now.get(player.id)?.tiles ?? -1];
	const sorted = [...players.values()].sort((a, b) => order(b)[0] - order(a)[0] || order(b)[1] - order(a)[1]);
	at('players').tBodies[0].replaceChildren(...sorted.slice(0, SHOWN_PLAYERS).map(player => {
		const row = document.createElement('tr');
		const held = now.get(player.id);
		row.className = `${player.seat >= 0 ? 'seat' : ''} ${held ? '' : 'out'}`;
		const swatch = document.createElement('span');
		swatch.className = 'swatch';
		swatch.style.background = player.colour;
		const name = `${player.name}${log.winners.includes(player.id) ? ' (won)' : ''}`;
		const land = held ? `${(100 * held.tiles / log.land).toFixed(1)}%` : 'out';
		const troops = held ? Math.round(held.troops / 10).toLocaleString('en') : ''; // as the game shows troops
		for (const content of [swatch, name, land, troops]) {
			const cell = document.createElement('td');
			cell.append(content);
			row.append(cell);
		}
		return row;
	}));
}

function showActions() {
	const items = [];
	for (let frame = shown; frame >= 0 && items.length < SHOWN_ACTIONS; frame--) {
		for (const [seat, action] of log.frames[frame].a) {
			if (action === 'noop') continue;
			const item = document.createElement('li');
			item.textContent = `${clock(log.frames[frame].t)} seat ${seat}: ${action}`;
			item.style.borderColor = SEATS[seat % SEATS.length];
			if (frame === shown) item.className = 'now';
			items.push(item);
		}
	}
	at('actions').replaceChildren(...items);
}

function clock(ticks) {
	const seconds = Math.floor(ticks / 10);
	return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

function show(frame) {
	seek(frame);
	at('time').value = frame;
	at('clock').textContent = clock(log.frames[frame].t);
	drawMap();
	drawChart();
	showPlayers();
	showActions();
}

function pause() {
	clearInterval(timer);
	timer = null;
	at('play').textContent = 'Play';
}

function play() {
	if (shown >= log.frames.length - 1) show(0);
	at('play').textContent = 'Pause';
	timer = setInterval(() => {
		if (shown >= log.frames.length - 1) pause();
		else show(shown + 1);
	}, 1000 / Number(at('speed').value));
}

at('map').width = log.width;
at('map').height = log.height;
at('time').max = log.frames.length - 1;
at('about').textContent = `${log.map}, ${players.size} players, ${clock(log.frames.at(-1).t)} of game time`;
at('play').addEventListener('click', () => (timer === null ? play() : pause()));
at('time').addEventListener('input', () => {
	pause();
	show(Number(at('time').value));
});
at('speed').addEventListener('change', () => {
	if (timer === null) return;
	pause();
	play();
});
window.addEventListener('resize', drawChart);
show(0);
