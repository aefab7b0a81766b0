"""Saves a match as a JSON file: its options, seed and actions, which suffice to replay it, and its result."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from ludus import files
from ludus.errors import ReplayError
from ludus.types import Arrivals, Ending

SUFFIX = ".ludus.json"
VERSION = 1
MAX_BYTES = 16 * 2**20
MAX_SEATS = 64

Name = Annotated[str, Meta(min_length=1, max_length=100)]
Seed = Annotated[int, Meta(ge=0, lt=2**53)]
Action = Annotated[int, Meta(ge=0, lt=2**31)]


class SavedMatch(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A finished match."""

    version: Annotated[int, Meta(ge=VERSION, le=VERSION)]
    game: Name  # name in the registry
    schema: Annotated[int, Meta(ge=0)]  # schema number of the game, which defines the actions
    options: Annotated[dict[str, Any], Meta(max_length=100)]  # Any: checked by the game's own struct
    seed: Seed
    number: Annotated[int, Meta(ge=0, lt=2**32)]
    policies: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=MAX_SEATS)]  # one per seat
    actions: Annotated[
        tuple[Annotated[tuple[Action, ...], Meta(max_length=1_000_000)], ...], Meta(max_length=MAX_SEATS)
    ]
    score: Annotated[tuple[float, ...], Meta(max_length=MAX_SEATS)]
    turns: float  # 0 if the game does not count turns
    truncated: bool
    log_sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    value_swing: Annotated[float, Meta(ge=0.0)] = 0.0  # in a league: that of `value_swings.ValueSwings`


class Recorder:
    """Saves selected matches of a fleet when they end. A voided match is replayed, so its actions are discarded."""

    def __init__(
        self,
        folder: Path,
        numbers: Collection[int] | None,
        *,
        seats: int,
        game: str,
        schema: int,
        options: Mapping[str, object],
        policies: Callable[[int], Sequence[str]],  # returns the policy of each seat of a match
        stable_log: Callable[[str], str] = lambda log: log,  # removes the parts of a log that differ in every replay
        worth: Callable[[Ending], bool] = lambda ending: True,  # whether a match that has ended is saved
        prefix: str = "",  # of the file names
        value_swing: Callable[[Ending], float] = lambda ending: 0.0,  # asked once for each match that is saved
    ) -> None:
        """`numbers` are those of the matches to record; None: all."""
        self.saved: list[Path] = []
        self._folder, self._seats = folder, seats
        self._game, self._schema, self._options, self._policies = game, schema, dict(options), policies
        self._stable_log, self._worth, self._prefix, self._value_swing = stable_log, worth, prefix, value_swing
        self._numbers = None if numbers is None else np.array(sorted(numbers), np.int64)
        self._actions: dict[int, list[list[int]]] = {}

    def choose(self, arrivals: Arrivals, action: NDArray[np.int32]) -> None:
        """Record the actions of these rows."""
        recorded = slice(None) if self._numbers is None else np.isin(arrivals.match, self._numbers)
        for index in np.arange(len(arrivals))[recorded]:
            seats = self._actions.setdefault(int(arrivals.match[index]), [[] for _ in range(self._seats)])
            seats[int(arrivals.row[index]) % self._seats].append(int(action[index]))

    def end(self, ending: Ending) -> None:
        """Save the match if it is selected and worth it."""
        actions = self._actions.pop(ending.match, None)
        if actions is None or ending.void or not self._worth(ending):
            return
        policies = self._policies(ending.match)
        name = "-".join(
            (f"{self._prefix}{ending.match:06d}", *(re.sub(r"[^\w.]+", "_", policy) for policy in policies))
        )
        match = SavedMatch(
            version=VERSION,
            game=self._game,
            schema=self._schema,
            options=self._options,
            seed=ending.seed,
            number=ending.match,
            policies=tuple(policies),
            actions=tuple(tuple(seat) for seat in actions),
            score=tuple(float(score) for score in ending.score),
            turns=float(ending.facts.get("turns", 0.0)),
            truncated=ending.truncated,
            log_sha256=digest(self._stable_log(ending.log)),
            value_swing=self._value_swing(ending),
        )
        path = self._folder / f"{name[:120]}{SUFFIX}"
        write(path, match)
        self.saved.append(path)


def digest(log: str) -> str:
    """Return the SHA-256 of a match's log."""
    return hashlib.sha256(log.encode()).hexdigest()


def write(path: Path, match: SavedMatch) -> None:
    """Write the file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    files.replace(path, msgspec.json.format(msgspec.json.encode(match), indent=0), partial=partial)


def read(path: Path) -> SavedMatch:
    """Read a saved match. Raises ReplayError if the file is damaged."""
    try:
        with path.open("rb") as file:
            encoded = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ReplayError(f"cannot read {path}: {error.strerror}") from error
    if len(encoded) > MAX_BYTES:
        raise ReplayError(f"{path} is larger than {MAX_BYTES // 2**20} MiB; that is no saved match")
    try:
        match = msgspec.json.decode(encoded, type=SavedMatch)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ReplayError(f"{path} is no saved match: {error}") from error
    seats = len(match.policies)
    if len(match.actions) != seats or len(match.score) != seats:
        raise ReplayError(
            f"{path} names {seats} policies, {len(match.actions)} lists of actions and {len(match.score)} scores"
        )
    return match
