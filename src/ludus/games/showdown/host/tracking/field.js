'use strict';
/** Turns, weather, terrain, rooms and the sides' conditions. */

const {reveal} = require('./belongings');
const {atTurn, atUpkeep} = require('./evidence');
const {endOfTurn} = require('./volatiles');

const handlers = {
	'turn': tracker => {
		endOfTurn(tracker);
		atTurn(tracker);
		tracker.turn = tracker.count(0);
		tracker.events.end();
		tracker.orders.end();
	},
	'upkeep': tracker => {
		endOfTurn(tracker);
		atUpkeep(tracker);
		tracker.events.actor = -1;
	},
	'start': tracker => {
		tracker.started = true;
		for (const side of tracker.sides) side.bench++;
	},
	'-weather': weather,
	'-fieldstart': tracker => fieldCondition(tracker, true),
	'-fieldend': tracker => fieldCondition(tracker, false),
	'-sidestart': tracker => sideCondition(tracker, true),
	'-sideend': tracker => sideCondition(tracker, false),
	'-swapsideconditions': swapSideConditions,
};

function weather(tracker) {
	const id = tracker.effects.id(tracker.field(0));
	const index = tracker.effects.weather.get(id === 'snow' ? 'snowscape' : id) ?? -1;
	if (index !== tracker.weather) {
		tracker.weather = index;
		tracker.fieldVersion++;
	}
	if (tracker.has('[upkeep]')) return;
	tracker.weatherSince = tracker.turn;
	const holder = tracker.of();
	const from = tracker.from();
	if (holder !== null && from.startsWith('ability: ')) reveal(tracker, holder, from.slice(9));
}

function fieldCondition(tracker, on) {
	const {effects} = tracker;
	const id = effects.id(tracker.field(0));
	tracker.fieldVersion++;
	const terrain = effects.terrain.get(id);
	if (terrain !== undefined) {
		if (on) tracker.terrain = terrain;
		else if (tracker.terrain === terrain) tracker.terrain = -1;
		tracker.terrainSince = tracker.turn;
	}
	const room = effects.room.get(id);
	if (room !== undefined) {
		tracker.rooms[room] = on ? 1 : 0;
		tracker.roomSince[room] = tracker.turn;
	}
	const holder = on ? tracker.of() : null;
	const from = on ? tracker.from() : '';
	if (holder !== null && from.startsWith('ability: ')) reveal(tracker, holder, from.slice(9));
}

function sideCondition(tracker, on) {
	const side = tracker.sideOf(0);
	const index = tracker.effects.side.get(tracker.effects.id(tracker.field(1)));
	if (index === undefined) return;
	side.conditions[index] = on ? Math.min(255, side.conditions[index] + 1) : 0;
	const {layers = 1} = tracker.effects.sideConditions[index];
	if (side.conditions[index] > layers) side.conditions[index] = layers;
	side.since[index] = tracker.turn;
	side.version++;
}

function swapSideConditions(tracker) {
	const [a, b] = tracker.sides;
	const future = tracker.effects.side.get('futuresight');
	for (let i = 0; i < a.conditions.length; i++) {
		if (i === future) continue;
		[a.conditions[i], b.conditions[i]] = [b.conditions[i], a.conditions[i]];
		[a.since[i], b.since[i]] = [b.since[i], a.since[i]];
	}
	a.version++;
	b.version++;
}

module.exports = {handlers};
