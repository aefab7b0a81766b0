"""Reads decisions from observations, for scripted policies: what is scene, and what each option does."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ludus.spec import GameSpec
from ludus.types import Arrivals

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]


class OptionScene:
    """Columns of the decisions that wait: arrays [n], and [n, actions] for options."""

    def __init__(self, spec: GameSpec, arrivals: Arrivals) -> None:
        layout = cast("dict[str, Any]", spec.layout)  # Any: JSON of our own host
        self._asks: dict[str, int] = _places(layout["asks"])
        self._does: dict[str, int] = _places(layout["does"])
        self._card_columns: dict[str, int] = _places(layout["card_columns"])
        self._option_columns: dict[str, int] = _places(layout["option_columns"])
        self.effects: dict[str, int] = _places(layout["effects"])
        self._spec = spec
        self._obs = arrivals.obs

    @property
    def effect(self) -> NDArray[np.intp]:
        """The effect that asks, as a place in layout.effects, [n]; 0 also if the rules ask."""
        start = len(self._asks)
        return np.asarray(self._reals("state")[:, start : start + len(self.effects)].argmax(axis=1), np.intp)

    def asks(self, name: str) -> Bools:
        """Return whether this is scene, [n]."""
        return cast(Bools, self._reals("state")[:, : len(self._asks)].argmax(axis=1) == self._asks[name])

    def does(self, name: str) -> Bools:
        """Return whether the option does this, [n, actions]."""
        return cast(Bools, self._leaf("option_does") == self._does[name])

    def option(self, column: str) -> Floats:
        """Return a number of each option, [n, actions]."""
        return self._reals("option_numbers")[:, :, self._option_columns[column]]

    def card(self, column: str) -> Floats:
        """Return a number of the card that each option means, 0 without a card, [n, actions]."""
        place = self._leaf("option_card").astype(np.intp)
        of_cards = np.pad(self._of_cards(column), ((0, 0), (1, 0)))  # place 0 means no card
        return cast(Floats, np.take_along_axis(of_cards, place, axis=1))

    def subject(self, column: str) -> Floats:
        """Return a number of the card that the question is about, [n]."""
        return cast(Floats, (self._of_cards(column) * self._of_cards("is_subject")).sum(axis=1))

    def best_blocker(self) -> tuple[Floats, Floats]:
        """Return the highest power and the highest toughness among the opponent's untapped creatures, each [n]; -1 if
        there are none."""
        able = (
            (self._of_cards("is_here") > 0)
            & (self._of_cards("is_mine") == 0)
            & (self._of_cards("is_tapped") == 0)
            & (self._of_cards("on_battlefield") > 0)
            & (self._of_cards("is_creature") > 0)
        )
        power, toughness = (np.where(able, self._of_cards(name), -1.0).max(axis=1) for name in ("power", "toughness"))
        return cast(Floats, power), cast(Floats, toughness)

    def _of_cards(self, column: str) -> Floats:
        return self._reals("card_numbers")[:, :, self._card_columns[column]]

    def _reals(self, name: str) -> Floats:
        return self._spec.obs.reals(self._obs, name)

    def _leaf(self, name: str) -> NDArray[Any]:  # Any: the type of the leaf
        return self._spec.obs.leaf(self._obs, name)


def _places(names: list[str]) -> dict[str, int]:
    return {name: at for at, name in enumerate(names)}
