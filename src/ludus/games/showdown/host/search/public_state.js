'use strict';
/** The public state of a battle that was built from a position: what a tracker would know that had followed it. */

const {Tracker} = require('../tracker');
const {Mon, STATUS_INDEX} = require('../tracking/state');
const {MOVES} = require('../seat/own');

/** Return a tracker for a built battle. What the foe has seen of own moves is taken from their PP. */
function publicState(observer, position, battle, foes) {
	const tracker = new Tracker(observer.data, observer.slots, observer.effects, observer.rules);
	tracker.turn = position.turn;
	tracker.started = true;
	const {weather, terrain, rooms} = position.field;
	const {effects} = observer;
	if (weather !== null) {
		tracker.weather = effects.weather.get(weather.name);
		tracker.weatherSince = position.turn - weather.turns;
	}
	if (terrain !== null) {
		tracker.terrain = effects.terrain.get(terrain.name);
		tracker.terrainSince = position.turn - terrain.turns;
	}
	for (const {name, turns} of rooms) {
		tracker.rooms[effects.room.get(name)] = 1;
		tracker.roomSince[effects.room.get(name)] = Math.max(0, position.turn - turns);
	}
	if (position.lastTurn !== null) {
		tracker.events.numbers.set(position.lastTurn.numbers);
		tracker.events.moves.set(position.lastTurn.moves);
		tracker.events.over = !position.isSwitch;
	}
	const teams = [position.sides[0].team, foes.map(({mon}) => mon)];
	tracker.sides.forEach((side, i) => fillSide(tracker, side, position, teams[i], battle.sides[i]));
	if (observer.beliefs !== null) believe(observer.beliefs, tracker.sides[1], teams[1]);
	return tracker;
}

/** The foe's Pokemon begin with the beliefs of the row, which hold until they show more. */
function believe(beliefs, side, team) {
	const shown = team.filter((mon, i) => mon !== null && (mon.isRevealed || i === 0));
	side.mons.forEach((known, i) => {
		if (known.transformed) return;
		const {ability, item, tera, chances, moves} = shown[i];
		const probable = moves.filter(({isKnown}) => !isKnown);
		known.belief = beliefs.given(known, {
			ability, item, tera, of: chances,
			moves: probable.map(({move}) => move), chances: probable.map(({chance}) => chance),
		});
	});
}

function fillSide(tracker, side, position, team, {pokemon}) {
	const {conditions, boosts, volatiles} = position.sides[side.index];
	const {effects} = tracker;
	side.size = team.length;
	side.bench++;
	side.hurt = true;
	team.forEach((mon, i) => {
		if (mon === null || !(mon.isRevealed || i === 0)) return;
		const known = knownMon(tracker, side, mon, pokemon[i], position.turn);
		side.mons.push(known);
		side.names++;
		if (known.fainted) side.fainted++;
		if (mon.isTerastallized) side.spent.tera = true;
		if (i === 0 && mon.isAlive) {
			side.active[0] = known;
			Object.values(boosts).forEach((stage, stat) => { known.boosts[stat] = stage; });
			for (const [name, value] of Object.entries(volatiles)) known.volatiles[effects.volatile[name]] = value;
		} else if (i === 0 && mon.isActive) {
			side.active[0] = known;
		}
	});
	if (side.index === 1) for (const [name, isSpent] of Object.entries(position.spent)) side.spent[name] = isSpent;
	for (const {name, layers, turns} of conditions) {
		side.conditions[effects.side.get(name)] = layers;
		side.since[effects.side.get(name)] = Math.max(0, position.turn - turns);
		side.version++;
	}
	side.active[0] ??= side.mons[0] ?? null; // one that has fainted stands there until it is replaced
}

function knownMon(tracker, side, mon, pokemon, turn) {
	const known = new Mon(side, tracker.tables, tracker.effects);
	const isOwn = side.index === 0;
	known.seen = true;
	known.fainted = !mon.isAlive;
	known.hp = mon.isAlive ? mon.hp : 0;
	known.name = pokemon.name;
	known.called = `p${side.index + 1}a: ${pokemon.name}`;
	known.details = pokemon.details;
	known.species = known.shown = mon.species;
	known.level = mon.level;
	known.status = STATUS_INDEX.get(mon.status) ?? 0;
	known.statusTurns = mon.statusTurns;
	const ability = !isOwn && mon.isAbilityKnown ? mon.ability : tracker.tables.soleAbility[mon.species];
	known.ability = known.baseAbility = ability;
	if (!isOwn && mon.isItemKnown) known.item = mon.item;
	known.type1 = tracker.tables.speciesType1[mon.species];
	known.type2 = tracker.tables.speciesType2[mon.species];
	known.terastallized = mon.isTerastallized;
	known.tera = mon.isTerastallized || (!isOwn && mon.isTeraKnown) ? mon.tera : 0;
	known.transformed = mon.isTransformed;
	known.enteredTurn = turn - mon.activeTurns;
	[known.leastSpeed, known.mostSpeed] = mon.speeds;
	known.repeated = mon.repeated;
	known.ruledOut = mon.ruledOut;
	for (const {move, isKnown, pp, isLast, isDisabled} of mon.moves) {
		if (!isKnown || known.moveCount === MOVES || (isOwn && pp === 1 && !isLast)) continue;
		known.moves[known.moveCount] = move;
		known.uses[known.moveCount++] = Math.round((1 - pp) * tracker.tables.movePp[move]);
		if (isLast) known.lastMove = known.stayMove = move;
		if (isDisabled && !isOwn) known.disabledMove = move;
	}
	return known;
}

module.exports = {publicState};
