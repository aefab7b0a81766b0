'use strict';
/**
 * Event names, built once.
 *
 * The simulator concatenates the name of every callback it looks for (`onFoe` + event, then + `Priority`, + `Order`,
 * + `SubOrder`) at every look-up. A concatenated string has to be flattened, hashed and interned before it can serve
 * as a property key, which costs more than the look-up itself.
 */

/** Who listens, as bits of a listener table. */
const ON = 1;
const ALLY = 2;
const FOE = 4;
const ANY = 8;
const SOURCE = 16;

const PREFIXES = [['onAlly', ALLY], ['onFoe', FOE], ['onAny', ANY], ['onSource', SOURCE], ['on', ON]];

/** Listener tables have one byte an event; event 0 stands for all events past the end. About 350 are in use. */
const MAX_EVENTS = 512;

/** Events that only the target itself, its side and the field hear of (Battle#findEventHandlers). */
const UNPREFIXED = new Set(['BeforeTurn', 'Update', 'Weather', 'WeatherChange', 'TerrainChange']);
/** Events whose listeners act from left to right rather than by speed (Battle#runEvent). */
const LEFT_TO_RIGHT = new Set(['Invulnerability', 'TryHit', 'DamagingHit', 'EntryHazard']);

class CallbackName {
	constructor(name) {
		this.name = name;
		this.order = intern(`${name}Order`);
		this.priority = intern(`${name}Priority`);
		this.subOrder = intern(`${name}SubOrder`);
		this.isSwitchIn = name.endsWith('SwitchIn');
		this.keepsEffectOrder = this.isSwitchIn || name.endsWith('RedirectTarget');
	}
}

class EventName {
	constructor(id, index) {
		this.id = id;
		this.index = index;
		this.on = callbackName(`on${id}`);
		this.ally = callbackName(`onAlly${id}`);
		this.foe = callbackName(`onFoe${id}`);
		this.any = callbackName(`onAny${id}`);
		this.source = callbackName(`onSource${id}`);
		this.key = this.on.name;
		this.isPrefixed = !UNPREFIXED.has(id);
		this.isLeftToRight = LEFT_TO_RIGHT.has(id);
	}
}

const callbackNames = new Map();
const eventNames = new Map();

function intern(text) {
	return Object.keys({[text]: 0})[0];
}

function callbackName(text) {
	let name = callbackNames.get(text);
	if (name === undefined) {
		name = new CallbackName(intern(text));
		callbackNames.set(name.name, name);
	}
	return name;
}

function eventName(id) {
	const event = eventNames.get(id);
	return event === undefined ? addEventName(id) : event;
}

function addEventName(id) {
	const next = eventNames.size + 1;
	const event = new EventName(intern(id), next < MAX_EVENTS ? next : 0);
	eventNames.set(event.id, event);
	return event;
}

/** All (event, bit) readings of a callback's name: `onAnyFaint` is `Faint` heard of anybody, or `AnyFaint`. */
function readings(text) {
	return PREFIXES.filter(([prefix]) => text.startsWith(prefix) && text.length > prefix.length)
		.map(([prefix, bit]) => ({index: eventName(text.slice(prefix.length)).index, bit}));
}

module.exports = {ON, ALLY, FOE, ANY, SOURCE, MAX_EVENTS, callbackName, eventName, readings};
