"""Scripted players, from observations and legal actions alone, for all rows at once."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices

Floats = NDArray[np.float32]


def listed_actions(spec: GameSpec) -> list[dict[str, Any]]:  # Any: text and numbers
    """Return the actions of a spec: {kind, rival, share, unit} of each."""
    return list(_layout(spec)["actions"])


def columns_of(spec: GameSpec, leaf: str) -> list[str]:
    """Return the names of the columns of a leaf."""
    return list(_layout(spec)["columns"][leaf])


def _layout(spec: GameSpec) -> dict[str, Any]:  # Any: the host's own constants
    return dict(spec.layout)


class ActionTable:
    """The actions of a spec as columns."""

    def __init__(self, spec: GameSpec) -> None:
        listed = listed_actions(spec)
        self.kind = np.array([each["kind"] for each in listed])
        self.rival = np.array([each["rival"] for each in listed])
        self.share = np.array([each["share"] for each in listed], np.float32)
        self.unit = np.array([each["unit"] for each in listed])


class CautiousPolicy:
    """Does nothing in four of five decisions; otherwise any legal action, attacks and boats with at most 20%."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        self._table = ActionTable(spec)
        self._random = np.random.default_rng(seed)
        self._modest = (self._table.share <= 0.2) & (self._table.kind != "noop")

    def act(self, arrivals: Arrivals) -> Choices:
        draws = self._random.random(arrivals.legal.shape, np.float32)
        legal = arrivals.legal & self._modest
        action = np.where(legal, draws, -1.0).argmax(axis=1).astype(np.int32)
        rests = (self._random.random(len(action)) < 0.8) | ~legal.any(axis=1)
        action[rests & arrivals.legal[:, 0]] = 0
        return Choices.scripted(action)

    def state(self) -> str:
        return json.dumps(self._random.bit_generator.state)  # its integers have 128 bits

    def restore(self, state: str) -> None:
        self._random.bit_generator.state = json.loads(state)


class ExpanderPolicy:
    """Takes free land, then attacks the weakest neighbour, then sends boats; builds cities from what is left."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        self._spec, self._table = spec, ActionTable(spec)
        self._rival = {name: at for at, name in enumerate(columns_of(spec, "rivals"))}
        self._global = {name: at for at, name in enumerate(columns_of(spec, "globals"))}

    def act(self, arrivals: Arrivals) -> Choices:
        rivals = self._spec.obs.reals(arrivals.obs, "rivals")
        state = self._spec.obs.reals(arrivals.obs, "globals")
        scores = self._scores(rivals, state)
        return Choices.scripted(np.where(arrivals.legal, scores, -1e6).argmax(axis=1).astype(np.int32))

    def _scores(self, rivals: Floats, state: Floats) -> Floats:
        """Return a score of each action [n, A]; noop has 0, so an action below 0 is left out."""
        table = self._table
        scores = np.full((len(state), len(table.kind)), -1.0, np.float32)
        scores[:, 0] = 0.0
        spawns = table.kind == "spawn"
        scores[:, spawns] = np.linspace(2.0, 1.0, int(spawns.sum()))
        fullness = state[:, self._global["fullness"]]
        slot = np.maximum(table.rival, 0)
        weak = 1.0 - rivals[:, slot, self._rival["strength"]]
        busy = rivals[:, slot, self._rival["attacked"]] > 0.02
        is_free = table.rival == 0
        attack, boat = table.kind == "attack", table.kind == "boat"
        share = table.share
        free_now = attack & is_free & np.isclose(share, 0.2)
        scores[:, free_now] = np.where((fullness > 0.3)[:, None] & ~busy[:, free_now], 50.0, -1.0)
        strike = attack & ~is_free & np.isclose(share, 0.35)
        ready = (fullness > 0.5)[:, None] & (weak[:, strike] > 0.3) & ~busy[:, strike]
        scores[:, strike] = np.where(ready, 20.0 + weak[:, strike], -1.0)
        sail = boat & np.isclose(share, 0.2)
        near = rivals[:, slot, self._rival["coast"]][:, sail]
        can_sail = (fullness > 0.5)[:, None] & ((weak[:, sail] > 0.3) | is_free[sail])
        scores[:, sail] = np.where(can_sail, 10.0 + 3.0 * is_free[sail] + near, -1.0)
        scores[:, (table.kind == "build") & (table.unit == "City")] = 60.0
        return scores
