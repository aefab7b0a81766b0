"""The scripted policies: each scores what its slots could do, and the legal action with the highest sum is taken.

Axes: n rows, S own slots, F foe slots, V variants, T targets, M moves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from ludus.games.showdown.scripted.actions import TEAM, ActionMap, Bools, Floats, some
from ludus.games.showdown.scripted.dice import Dice
from ludus.games.showdown.scripted.estimates import damage
from ludus.games.showdown.scripted.reading import BattleScene, Moves, Reader
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices

RELUCTANT = np.float32(-1e3)  # what is done only where nothing else is legal
SPREAD_BONUS = 1.5  # of a move that strikes both foes, in poke-env's players
SPREAD_DAMAGE = 0.75


class RandomPolicy:
    """Draws a legal action uniformly."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        self._dice = Dice(spec, seed)

    def act(self, arrivals: Arrivals) -> Choices:
        return Choices.scripted(self._dice.any_legal(arrivals))


class ScoringPolicy(ABC):
    """Base of policies that score the actions of each slot and take the legal action with the highest sum."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        self.actions, self.reader = ActionMap(spec), Reader(spec)
        self.moves = Moves(spec, self.reader.hazards)
        self.types, self.slots = self.reader.types, self.actions.slots
        self.foes = slice(TEAM, TEAM + self.slots)
        self._dice = Dice(spec, seed)

    @abstractmethod
    def score(self, arrivals: Arrivals, scene: BattleScene, legal: Bools, uses: Floats, switches: Floats) -> None:
        """Write scores of the uses of moves [n, S, V, T, M] and of switches [n, S, 6]; both are zeros, passing stays 0.

        `legal` is what each slot may do [n, S, slot actions].
        """

    def throw(self, arrivals: Arrivals) -> Floats:
        """Return a uniform number in [0, 1) for each Pokemon of the team [n, 6]."""
        return self._dice.throw(arrivals, TEAM)

    def act(self, arrivals: Arrivals) -> Choices:
        actions = self.actions
        scene = self.reader.read(arrivals)
        scores = np.zeros((len(arrivals), actions.slots, actions.slot_actions), np.float32)
        legal = actions.of_slots(arrivals.legal)
        self.score(arrivals, scene, legal, actions.uses_of(scores), actions.switches_of(scores))
        action = actions.best(scores, arrivals.legal)
        if actions.picks is not None:
            previewing = np.flatnonzero(some(arrivals.legal[:, actions.joint :], 1))
            if len(previewing):
                action[previewing] = actions.best_preview(
                    actions.switches_of(scores)[previewing, 0], arrivals.legal[previewing]
                )
        return Choices.scripted(action)


class MaxPower(ScoringPolicy):
    """The move with the highest base power, at any of the foes; switches only where it must, to any Pokemon."""

    def score(self, arrivals: Arrivals, scene: BattleScene, legal: Bools, uses: Floats, switches: Floats) -> None:
        dice = self.throw(arrivals)
        ids = scene.moves[:, : self.slots]
        power = self.moves.power[ids]
        if self.slots > 1:
            both = ~some(~scene.alive[:, self.foes], 1)[:, None, None]
            power = power * np.where(both & ~self.moves.single_target[ids], np.float32(SPREAD_BONUS), np.float32(1))
            aim_at(uses, scene.alive[:, self.foes] * (0.5 + dice[:, : self.slots]))
        uses += power[:, :, None, None, :]
        uses[:, :, 1:] += RELUCTANT
        switches += 2 * RELUCTANT + dice[:, None, :]


class MaxDamage(ScoringPolicy):
    """The move with the highest expected damage; switches only where it must, to whoever can do most then."""

    def score(self, arrivals: Arrivals, scene: BattleScene, legal: Bools, uses: Floats, switches: Floats) -> None:
        forced = bool((~some(self.actions.uses_of(legal), (2, 3, 4))).any())  # rare, and three times the work
        expected = damage(scene, self.moves, self.types, self.slots, TEAM if forced else self.slots)
        expected *= scene.alive[:, None, self.foes, None]  # [n, users, F, M]
        if forced:
            switches += expected.max((2, 3))[:, None]
        expected = expected[:, : self.slots]
        if self.slots == 1:
            uses += expected[:, :, None]
        else:
            struck = np.maximum(scene.alive[:, self.foes].sum(1), 1)[:, None, None]
            spread = self.moves.spread[scene.moves[:, : self.slots]]
            each = np.where(spread, np.where(struck > 1, SPREAD_DAMAGE, 1.0), 1.0 / struck).astype(np.float32)
            uses[:, :, :, 0] += (expected.sum(2) * each)[:, :, None]
            uses[:, :, :, 1:3] += expected[:, :, None]
            uses[:, :, :, 3:] += RELUCTANT
        uses[:, :, 1:] += RELUCTANT
        switches += 2 * RELUCTANT + 1e-3 * self.throw(arrivals)[:, None, :]


def aim_at(uses: Floats, foes: NDArray[np.floating]) -> None:
    """Prefer foes by these scores [n, F] within (0, 2), and anybody to an ally. Doubles only."""
    uses[:, :, :, 1:3] += 1e-3 * foes[:, None, None, :, None]
    uses[:, :, :, 3:] += RELUCTANT
