'use strict';
/** HP, status and boosts. */

const {BOOSTS} = require('../tables');
const {STATUS_INDEX, changed, setStatus, volatile} = require('./state');
const {revealFrom} = require('./belongings');
const {seeDamage} = require('./evidence');
const {loseGrip} = require('./moves');
const {readCondition} = require('./roster');

const BOOST_INDEX = new Map(BOOSTS.map((stat, i) => [stat, i]));
const SLEEP = STATUS_INDEX.get('slp');
const TOXIC = STATUS_INDEX.get('tox');

const handlers = {
	'-damage': tracker => hp(tracker, true),
	'-heal': tracker => hp(tracker, false),
	'-sethp': tracker => hp(tracker, false),
	'-status': status,
	'-curestatus': cureStatus,
	'-cureteam': cureTeam,
	'-boost': tracker => boost(tracker, 1),
	'-unboost': tracker => boost(tracker, -1),
	'-setboost': setBoost,
	'-clearboost': tracker => eachBoost(tracker, () => 0),
	'-invertboost': tracker => eachBoost(tracker, value => -value),
	'-clearpositiveboost': tracker => eachBoost(tracker, value => Math.min(0, value)),
	'-clearnegativeboost': tracker => eachBoost(tracker, value => Math.max(0, value)),
	'-clearallboost': clearAllBoosts,
	'-swapboost': swapBoosts,
	'-copyboost': copyBoosts,
};

function hp(tracker, damage) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	const before = mon.percent;
	readCondition(tracker, mon, 1);
	const isDirect = tracker.fields < 3;
	tracker.events.change(mon, mon.percent - before, isDirect);
	if (damage) seeDamage(tracker, mon, isDirect ? '' : tracker.from());
	if (!isDirect) {
		revealFrom(tracker, mon, damage);
		if (damage && tracker.has('[from] confusion')) loseGrip(tracker, mon);
		if (mon.status === TOXIC && tracker.has(damage ? '[from] psn' : '[from] ability: Poison Heal')) mon.statusTurns++;
		if (!damage && mon.fainted && mon.hp > 0) {
			mon.fainted = false;
			mon.side.fainted--;
			mon.side.hurt = true;
		}
	} else if (tracker.gen === 1 && tracker.mover !== null && tracker.mover !== mon &&
		tracker.binding.has(tracker.mover.lastMove) && mon.hp > 0) {
		volatile(mon, tracker.ids.partiallytrapped, 1);
	}
}

function status(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	setStatus(mon, STATUS_INDEX.get(tracker.field(1)) ?? 0);
	if (tracker.gen === 1 && mon.status === SLEEP) volatile(mon, tracker.ids.mustrecharge, 0);
	if (tracker.fields > 2) revealFrom(tracker, mon, true);
}

function cureStatus(tracker) {
	const mon = tracker.mon(0);
	if (mon !== null) setStatus(mon, 0);
}

function cureTeam(tracker) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	mon.side.bench++;
	for (const each of mon.side.mons) if (each.status) setStatus(each, 0);
}

function boost(tracker, sign) {
	const mon = tracker.mon(0);
	const stat = BOOST_INDEX.get(tracker.field(1));
	if (mon === null || stat === undefined) return;
	mon.boosts[stat] = Math.max(-6, Math.min(6, mon.boosts[stat] + sign * +tracker.field(2)));
	changed(mon);
	if (tracker.fields > 3) revealFrom(tracker, mon);
}

function setBoost(tracker) {
	const mon = tracker.mon(0);
	const stat = BOOST_INDEX.get(tracker.field(1));
	if (mon === null || stat === undefined) return;
	mon.boosts[stat] = Math.max(-6, Math.min(6, +tracker.field(2)));
	changed(mon);
	if (tracker.fields > 3) revealFrom(tracker, mon);
}

function eachBoost(tracker, change) {
	const mon = tracker.mon(0);
	if (mon === null) return;
	for (let i = 0; i < 7; i++) mon.boosts[i] = change(mon.boosts[i]);
	changed(mon);
	revealFrom(tracker, mon);
}

function clearAllBoosts(tracker) {
	for (const side of tracker.sides) {
		for (const mon of side.active) {
			if (mon === null) continue;
			mon.boosts.fill(0);
			changed(mon);
		}
	}
}

function swapBoosts(tracker) {
	const a = tracker.mon(0);
	const b = tracker.mon(1);
	if (a === null || b === null) return;
	const listed = tracker.field(2);
	const stats = listed === '' || listed.startsWith('[') ? BOOSTS : listed.split(', ');
	for (const stat of stats) {
		const i = BOOST_INDEX.get(stat);
		[a.boosts[i], b.boosts[i]] = [b.boosts[i], a.boosts[i]];
	}
	changed(a);
	changed(b);
}

function copyBoosts(tracker) {
	const to = tracker.mon(0);
	const from = tracker.mon(1);
	if (to === null || from === null) return;
	to.boosts.set(from.boosts);
	changed(to);
	revealFrom(tracker, to);
}

module.exports = {handlers};
