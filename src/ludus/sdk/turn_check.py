"""Checks the turns of a game before they are sent. An invalid turn is a bug of the game and voids one match. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ludus import limits
from ludus.sdk.match import Turn
from ludus.spec import GameSpec
from ludus.wire import terms as reward_terms
from ludus.wire.ledger import float_ranges

_REWARDS = f"expected finite numbers from -{limits.REWARD:g} to {limits.REWARD:g}: scale the rewards of the game"


class BadTurn(ValueError):
    """An invalid turn. The message says what the match returned and what was expected."""


class TurnCheck:
    """Checks shapes for each turn (`asking`, `ending`), and contents for all rows of a frame at once (`faults`)."""

    def __init__(self, spec: GameSpec) -> None:
        self._spec = spec
        self._seats = frozenset(range(spec.seats))
        self._floats = float_ranges(spec.obs)

    def asking(self, turn: Turn) -> set[int]:
        """Return the seats that must choose in a turn that is not over. Raises BadTurn if its shapes are wrong."""
        seats, spec = set(turn.seats), self._spec
        if not seats:
            raise BadTurn("no seat must choose and there is no score: a turn without seats ends the match")
        if len(seats) < len(turn.seats) or not seats <= self._seats:
            raise BadTurn(f"seats are {turn.seats}, expected different numbers from 0 to {spec.seats - 1}")
        self._shaped("obs", turn.obs, (len(seats), spec.obs.nbytes), np.uint8)
        self._shaped("legal", turn.legal, (len(seats), spec.actions), np.bool_)
        self._shaped("reward", turn.reward, (spec.seats,), np.float32)
        return seats

    def ending(self, turn: Turn) -> list[float]:
        """Return the score of a turn that is over. Raises BadTurn if the turn is invalid."""
        spec = self._spec
        score = [float(each) for each in turn.score or ()]
        if len(score) != spec.seats or not all(0.0 <= each <= 1.0 for each in score):
            raise BadTurn(f"score is {turn.score}, expected {spec.seats} numbers from 0 (lost) to 1 (won)")
        self._shaped("reward", turn.reward, (spec.seats,), np.float32)
        wrong = {name: value for name, value in turn.facts.items() if not math.isfinite(value)}
        if wrong:
            raise BadTurn(f"facts hold {wrong}, expected finite numbers")
        long = [name for name in turn.facts if not 0 < len(name) <= limits.FACT_CHARS or not name.isprintable()]
        if long:
            raise BadTurn(f"a fact is named {long[0][:200]!r}, expected 1 to {limits.FACT_CHARS} printable characters")
        if not self._seats.issuperset(turn.out):
            raise BadTurn(f"seats {turn.out} are out, expected numbers from 0 to {spec.seats - 1}")
        if turn.truncated:
            self._shaped("obs", turn.obs, (spec.seats, spec.obs.nbytes), np.uint8)
            if not self._finite(turn.obs).all():
                raise BadTurn(f"the last observation has a value that is not finite in leaf {self._leaf(turn.obs)!r}")
        return score

    def terms(self, terms: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
        """Return the reward terms of a turn as lists. Raises BadTurn if one is invalid."""
        lists = {name: [float(each) for each in values] for name, values in terms.items()}
        for name, values in lists.items():
            if not reward_terms.is_valid(name, values, self._spec.seats):
                raise BadTurn(
                    f"reward term {name[:200]!r} is {values[:8]}, expected {self._spec.seats} finite numbers, and a "
                    f"name of 1 to {reward_terms.NAME_CHARS} printable characters without @"
                )
        return lists

    def earned(self, reward: NDArray[np.float32]) -> list[float]:
        """Return the rewards of all seats at the end of a match as a list. Raises BadTurn if one is out of range."""
        if not _in_range(reward).all():
            raise BadTurn(f"rewards are {reward.tolist()}, {_REWARDS}")
        return [float(each) for each in reward]

    def faults(
        self, legal: NDArray[np.bool_], reward: NDArray[np.float32], obs: NDArray[np.uint8]
    ) -> dict[int, BadTurn]:
        """Return the rows, of n, that cannot be sent: index -> error."""
        choosable: NDArray[np.bool_] = np.logical_or.reduce(legal, axis=1)
        earned, finite = _in_range(reward), self._finite(obs)
        good = choosable & earned & finite
        faults = {}
        for index in [] if good.all() else np.flatnonzero(~good).tolist():
            if not choosable[index]:
                faults[index] = BadTurn("a seat must choose and no action is legal")
            elif not earned[index]:
                faults[index] = BadTurn(f"a reward is {reward[index]}, {_REWARDS}")
            else:
                leaf = self._leaf(obs[index : index + 1])
                faults[index] = BadTurn(f"an observation has a value that is not finite in leaf {leaf!r}")
        return faults

    def _shaped(self, name: str, value: object, shape: tuple[int, ...], dtype: type[np.generic]) -> None:
        if not isinstance(value, np.ndarray):
            raise BadTurn(f"{name} is {type(value).__name__}, expected an array of {dtype.__name__} {list(shape)}")
        if value.shape != shape or value.dtype != dtype:
            actual = f"{value.dtype} {list(value.shape)}"
            raise BadTurn(f"{name} is {actual}, expected {np.dtype(dtype).name} {list(shape)}")

    def _finite(self, obs: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return for each row of `obs` whether all its float32 values are finite."""
        finite = np.ones(len(obs), np.bool_)
        for start, stop in self._floats:
            finite &= np.isfinite(np.ascontiguousarray(obs[:, start:stop]).view(np.float32)).all(axis=1)
        return finite

    def _leaf(self, obs: NDArray[np.uint8]) -> str:
        for leaf in self._spec.obs.leaves:
            if leaf.dtype == "float32" and not np.isfinite(self._spec.obs.leaf(obs, leaf.name)).all():
                return leaf.name
        raise AssertionError("all values of these rows are finite, but the caller found one that is not")


def _in_range(reward: NDArray[np.float32]) -> NDArray[np.bool_]:
    return np.abs(reward) <= limits.REWARD  # False for NaN, too
