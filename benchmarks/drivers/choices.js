'use strict';
// Random legal choices straight from a request, without mask or encoding: each action of the flat set equally likely,
// as for a random policy behind a mask, so that both play the same kind of battle.

const FAINTED = '0 fnt';
const AIMS = {
  normal: [[' +1', ' +2', ' -2'], [' +1', ' +2', ' -1']],
  any: [[' +1', ' +2', ' -2'], [' +1', ' +2', ' -1']],
  adjacentFoe: [[' +1', ' +2'], [' +1', ' +2']],
  adjacentAlly: [[' -2'], [' -1']],
  adjacentAllyOrSelf: [[' -1', ' -2'], [' -1', ' -2']],
};
const NO_AIM = [''];
const options = [[], []]; // scratch, one list a slot

/** A string for `battle.choose`. The simulator may refuse it where the request does not tell all (maybeTrapped). */
function randomChoice(request, slots) {
  if (request.teamPreview) return previewChoice(request);
  if (request.forceSwitch) return slots === 1 ? pick(listReplacements(request, 0)) : replacementPair(request);
  if (slots === 1) return pick(listActions(request, 0, 1));
  const first = listActions(request, 0, 2);
  const second = listActions(request, 1, 2);
  for (;;) {
    const left = pick(first);
    const right = pick(second);
    if (!clash(left, right)) return `${left}, ${right}`;
  }
}

function pick(list) {
  return list[(Math.random() * list.length) | 0];
}

function listActions(request, slot, slots) {
  const list = options[slot];
  list.length = 0;
  const team = request.side.pokemon;
  const active = request.active[slot];
  if (!active || team[slot].condition === FAINTED || team[slot].commanding) {
    list.push('pass');
    return list;
  }
  const maxMoves = active.maxMoves ? active.maxMoves.maxMoves : null;
  for (let i = 0; i < active.moves.length; i++) {
    const move = active.moves[i];
    const target = maxMoves && !active.canDynamax ? maxMoves[i].target : move.target;
    if (!move.disabled) {
      addMove(list, i, target, slot, slots, '');
      if (active.canMegaEvo) addMove(list, i, target, slot, slots, ' mega');
      if (active.canTerastallize) addMove(list, i, target, slot, slots, ' terastallize');
    }
    if (active.canZMove && active.canZMove[i]) addMove(list, i, active.canZMove[i].target, slot, slots, ' zmove');
    if (active.canDynamax && !maxMoves[i].disabled) addMove(list, i, maxMoves[i].target, slot, slots, ' dynamax');
  }
  if (!active.trapped) addSwitches(list, team, slots, false);
  return list;
}

function addMove(list, i, target, slot, slots, suffix) {
  const aims = slots === 2 && AIMS[target] ? AIMS[target][slot] : NO_AIM;
  for (const aim of aims) list.push(`move ${i + 1}${aim}${suffix}`);
}

function addSwitches(list, team, from, fainted) {
  for (let i = from; i < team.length; i++) {
    if ((team[i].condition === FAINTED) === fainted) list.push(`switch ${i + 1}`);
  }
}

function listReplacements(request, slot) {
  const list = options[slot];
  list.length = 0;
  const team = request.side.pokemon;
  const reviving = !!team[slot].reviving;
  addSwitches(list, team, reviving ? 0 : request.forceSwitch.length, reviving);
  return list;
}

/** Both may have to leave with one replacement left: then one of them, either, passes. */
function replacementPair(request) {
  const chosen = ['pass', 'pass'];
  const first = Math.random() < 0.5 ? 0 : 1;
  for (const slot of [first, 1 - first]) {
    if (!request.forceSwitch[slot]) continue;
    const left = listReplacements(request, slot).filter(text => text !== chosen[1 - slot]);
    if (left.length) chosen[slot] = pick(left);
  }
  return chosen.join(', ');
}

function previewChoice(request) {
  const order = request.side.pokemon.map((_, i) => i + 1);
  for (let i = order.length - 1; i > 0; i--) {
    const j = (Math.random() * (i + 1)) | 0;
    [order[i], order[j]] = [order[j], order[i]];
  }
  return `team ${order.slice(0, request.maxChosenTeamSize || order.length).join(',')}`;
}

/** The same Pokemon sent in twice, or the same once-a-turn gimmick used twice. */
function clash(left, right) {
  if (left.startsWith('switch')) return left === right;
  const gimmick = /(mega|terastallize|zmove|dynamax)$/.exec(left);
  return gimmick !== null && right.endsWith(gimmick[0]);
}

module.exports = { randomChoice };
