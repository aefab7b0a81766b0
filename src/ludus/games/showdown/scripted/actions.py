"""Chooses one legal action of the flat set from scores of the actions of each slot.

Axes: n rows, S active slots a side, V variants, T targets, M = 4 moves. A slot's actions are V*T*M uses of a move,
6 switches and, in doubles, pass.
"""

from __future__ import annotations

from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ludus.errors import HostError
from ludus.spec import GameSpec

Floats = NDArray[np.float32]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)

MOVES = 4
TEAM = 6


class ActionMap:
    """The flat action set of one format."""

    def __init__(self, spec: GameSpec) -> None:
        layout = spec.layout
        try:
            self.slots = int(cast(int, layout["slots"]))
            self.variants = tuple(cast(list[str], layout["variants"]))
            self.targets = int(cast(int, layout["targets"]))
            self.slot_actions = int(cast(int, layout["slot_actions"]))
        except KeyError as missing:
            raise HostError(f"{spec.name}: its layout has no {missing}, which scripted policies read") from None
        self.uses = len(self.variants) * self.targets * MOVES
        self.joint = self.slot_actions**self.slots
        expected = self.uses + TEAM + (self.slots > 1)
        if self.slots not in (1, 2) or self.slot_actions != expected:
            raise HostError(
                f"{spec.name}: {self.slots} slots of {self.slot_actions} actions, expected {expected} in each"
            )
        picks = spec.tables.get("preview")
        self.picks: Ints | None = (
            None if picks is None or not len(picks) else picks.astype(np.intp)
        )  # [previews, picked]

    def of_slots(self, legal: Bools) -> Bools:
        """Return the slot actions that are part of at least one legal action [n, S, slot actions]."""
        if self.slots == 1:
            return legal[:, None, : self.slot_actions]
        pairs = self._pairs(legal)
        return np.stack((some(pairs, 2), some(pairs, 1)), axis=1)

    def uses_of(self, slots: NDArray[Scalar]) -> NDArray[Scalar]:
        """The uses of moves [n, S, V, T, M] in an array [n, S, slot actions], without a copy."""
        return slots[..., : self.uses].reshape(*slots.shape[:2], len(self.variants), self.targets, MOVES)

    def switches_of(self, slots: NDArray[Scalar]) -> NDArray[Scalar]:
        """The switches [n, S, 6] in an array [n, S, slot actions], without a copy."""
        return slots[..., self.uses : self.uses + TEAM]

    def best(self, scores: Floats, legal: Bools) -> NDArray[np.int32]:
        """The legal action whose slots' scores [n, S, slot actions] have the highest sum; the first of equals."""
        if self.slots == 1:
            total = scores[:, 0]
        else:
            total = (scores[:, 0, :, None] + scores[:, 1, None, :]).reshape(len(scores), -1)
        return _best_of(total, legal[:, : self.joint])

    def best_preview(self, members: Floats, legal: Bools) -> NDArray[np.int32]:
        """The legal pick at team preview by scores of its members [n, 6]; those that do not lead count half."""
        assert self.picks is not None
        weights = np.where(np.arange(self.picks.shape[1]) < self.slots, 1.0, 0.5)
        total = (members[:, self.picks] * weights).sum(2)
        return _best_of(total, legal[:, self.joint :]) + np.int32(self.joint)

    def _pairs(self, legal: Bools) -> Bools:
        return legal[:, : self.joint].reshape(len(legal), self.slot_actions, self.slot_actions)


def some(flags: Bools, axis: int | tuple[int, ...]) -> Bools:
    """`any` along an axis, for a type checker that cannot see that an axis leaves an array."""
    return cast(Bools, flags.any(axis))


def _best_of(scores: Floats, legal: Bools) -> NDArray[np.int32]:
    best: Ints = np.where(legal, scores, np.float32(-np.inf)).argmax(1)
    return best.astype(np.int32)
