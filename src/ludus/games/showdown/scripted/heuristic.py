"""The rules of poke-env's SimpleHeuristicsPlayer, for a batch of rows at once.

A slot decides against each foe as if they were alone, and follows the decision with the highest worth. Where the
original slips, its evident intention is followed: set-up moves are recognised (it compares an enum with a string), a
stage of +1 is worth 1.5, only hazards are cleared (not the own screens), spread moves count for both foes.

Axes: n rows, S own slots, F foe slots, V variants, T targets, M moves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludus.games.showdown.scripted.actions import MOVES, TEAM, Bools, Floats, Ints, some
from ludus.games.showdown.scripted.estimates import matchup, rough_damage
from ludus.games.showdown.scripted.policies import RELUCTANT, SPREAD_BONUS, ScoringPolicy
from ludus.games.showdown.scripted.reading import ATK, DEF, SPA, SPD, SPE, BattleScene
from ludus.spec import GameSpec
from ludus.types import Arrivals

SWITCH_OUT = -2.0  # a match-up below this is left
DROPPED = -3  # so is a stat at this stage
FULL_STAGE = 6
WORTH_HAZARDS = 3  # foes left
WORTH_CLEARING = 2  # own Pokemon left
IMMUNE = 1 / 8  # what an immunity counts as where one is divided by it
DECIDED = np.float32(1e4)  # what a slot decided beats everything else it could do
HAZARD, SET_UP = np.float32(2e6), np.float32(1e6)  # above any damage
ALL_FOES = slice(TEAM, 2 * TEAM)


class Heuristic(ScoringPolicy):
    """Match-ups by types, speed and health decide who stays; then hazards, set-up, the strongest attack."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        super().__init__(spec, seed)
        self._places = {name: place for place, name in enumerate(self.actions.variants)}

    def score(self, arrivals: Arrivals, scene: BattleScene, legal: Bools, uses: Floats, switches: Floats) -> None:
        usable = self._usable(legal)  # [n, S, M]
        reachable = self.actions.switches_of(legal)  # [n, S, 6]
        stand = matchup(scene, self.types, self.foes)  # [n, 6, F]
        attack = rough_damage(scene, self.moves, self.types, self.slots)  # [n, S, F, M]
        here = scene.alive[:, self.foes] & scene.active[:, self.foes]  # [n, F]

        leaves = self._leaves(scene, stand, reachable) | ~some(usable, 2)[:, :, None]  # [n, S, F]
        move, worth = self._best_move(scene, stand, attack, usable)  # [n, S, F]
        if self.slots > 1:
            wide = ~self.moves.single_target[_move_is(scene.moves, move)] & ~some(~here, 1)[:, None, None]
            worth = worth * np.where(wide, np.float32(SPREAD_BONUS), np.float32(1))
        variant = np.where(worth > 0, self._variant(scene, stand, move), 0)
        follow = np.where(here[:, None], np.where(leaves, 0, worth), -1).argmax(2)  # [n, S]: the foe to decide by
        row, slot = np.arange(len(follow))[:, None], np.arange(self.slots)
        leaves, move, variant = (each[row, slot, follow][..., None] for each in (leaves, move, variant))  # [n, S, 1]
        attack = attack[row, slot, follow]  # [n, S, M]
        into = stand.swapaxes(1, 2)[row, follow]  # [n, S, 6]
        self._judge_unseen(scene, into)

        decided = ~leaves & (np.arange(MOVES) == move)
        uses += (DECIDED * decided + attack / (1 + attack))[:, :, None, None, :]
        variants = np.arange(len(self.actions.variants))
        uses += np.where(variants == variant, 2, np.where(variants == 0, 0, RELUCTANT))[:, :, :, None, None]
        if self.slots > 1:
            targets = np.arange(self.actions.targets)
            aim = np.where(targets == follow[..., None] + 1, 1, np.array([0.5, 0, 0, RELUCTANT, RELUCTANT], np.float32))
            uses += aim[:, :, None, :, None]
        best = np.where(reachable, into, -np.inf).argmax(2)[:, :, None]
        switches += into + np.where(leaves & reachable & (np.arange(TEAM) == best), DECIDED, RELUCTANT)

    def _usable(self, legal: Bools) -> Bools:
        """Moves that a slot may use as they are, or, where there are none, in any way [n, S, M]."""
        ways = some(self.actions.uses_of(legal), 3)  # [n, S, V, M]
        plain = ways[:, :, 0]
        return np.where(some(plain, 2)[..., None], plain, some(ways, 2))

    def _leaves(self, scene: BattleScene, stand: Floats, reachable: Bools) -> Bools:
        """Return True where a slot should switch out against a foe [n, S, F]: it has a reason, and a Pokemon that
        matches up well."""
        low, stats = scene.boosts[:, : self.slots] <= DROPPED, scene.stats[:, : self.slots]
        physical, special = stats[:, :, ATK] >= stats[:, :, SPA], stats[:, :, ATK] <= stats[:, :, SPA]
        weakened = low[:, :, DEF] | low[:, :, SPD] | (low[:, :, ATK] & physical) | (low[:, :, SPA] & special)
        better = some(reachable[..., None] & (stand > 0)[:, None], 2)  # [n, S, F]
        return better & (weakened[..., None] | (stand[:, : self.slots] < SWITCH_OUT))

    def _best_move(self, scene: BattleScene, stand: Floats, attack: Floats, usable: Bools) -> tuple[Ints, Floats]:
        """The move for each slot against each foe and its worth [n, S, F]; hazards and set-up go first, worth 0."""
        ids = scene.moves[:, : self.slots]
        lays = some(self.moves.lays[ids] & ~scene.foe_hazards[:, None, None], 3)  # [n, S, M]
        many, obstructed = (
            scene.foe_left >= WORTH_HAZARDS,
            some(scene.own_hazards, 1) & (scene.own_left >= WORTH_CLEARING),
        )
        hazard = usable & ((lays & many[:, None, None]) | (self.moves.clears[ids] & obstructed[:, None, None]))

        room = scene.boosts[:, : self.slots, None, : SPE + 1] < FULL_STAGE
        grows = usable & self.moves.sets_up[ids] & some(self.moves.gains[ids] & room, 3)  # [n, S, M]
        safe = (scene.hp[:, : self.slots, None] == 1) & (stand[:, : self.slots] > 0)  # [n, S, F]

        order = np.arange(MOVES, dtype=np.float32)
        tiers = np.where(usable[:, :, None], attack, np.float32(-1))
        tiers = np.where(grows[:, :, None] & safe[..., None], SET_UP - order, tiers)
        tiers = np.where(hazard[:, :, None], HAZARD - order, tiers)
        worth = tiers.max(3)
        return tiers.argmax(3), np.where(worth < SET_UP - MOVES, worth, np.float32(0))

    def _variant(self, scene: BattleScene, stand: Floats, move: Ints) -> Ints:
        """Return the variant of its move that each slot would use against each foe [n, S, F]; 0 is plain."""
        variant = np.zeros_like(move)
        own, foe = scene.pair[:, : self.slots, None], scene.pair[:, None, self.foes]
        if place := self._places.get("tera", 0):
            dealt = self.types.on[self.moves.type[_move_is(scene.moves, move)], foe]
            now, then = self.types.best[foe, own], self.types.best[foe, scene.tera[:, :, None]]
            pays = dealt * np.maximum(now, IMMUNE) / np.maximum(then, IMMUNE) > 1
            variant[pays & (scene.tera > 0)[:, :, None]] = place
        if place := self._places.get("dynamax", 0):
            whole = scene.hp == 1
            fresh = whole[:, : self.slots]
            last_fresh = fresh & (whole[:, :TEAM].sum(1) == 1)[:, None]
            ahead = (stand[:, : self.slots] > 0) & fresh[..., None] & whole[:, None, self.foes]
            variant[ahead | (last_fresh | (scene.own_left == 1)[:, None])[..., None]] = place
        return variant

    def _judge_unseen(self, scene: BattleScene, into: Floats) -> None:
        """While the foe has nobody on the field, judge by all that is known of its team."""
        rows = np.flatnonzero(~some(scene.active[:, self.foes], 1))
        if len(rows):
            revealed = ((scene.pair[:, ALL_FOES] > 0) & scene.alive[:, ALL_FOES])[rows, None]
            stand = matchup(scene, self.types, ALL_FOES)[rows] * revealed
            into[rows] = (stand.sum(2) / np.maximum(revealed.sum(2), 1))[:, None]


def _move_is(moves: NDArray[np.uint16], move: Ints) -> NDArray[np.uint16]:
    """Ids of the chosen moves [n, S, F] out of [n, P, M]."""
    row, slot = np.arange(len(move))[:, None, None], np.arange(move.shape[1])[:, None]
    return moves[row, slot, move]
