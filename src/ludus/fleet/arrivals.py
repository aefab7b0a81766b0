"""What came from several hosts, as one table of rows. Pure; every batch passes through here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ludus.spec import GameSpec
from ludus.types import Arrivals, Ending
from ludus.wire.frames import ArrivalsBody

Item = TypeVar("Item", bound=np.generic)


def nothing(spec: GameSpec) -> Arrivals:
    return Arrivals(
        np.empty(0, np.int32),
        np.empty(0, np.int64),
        np.empty((0, spec.obs.nbytes), np.uint8),
        np.empty((0, spec.actions), np.bool_),
        np.empty(0, np.float32),
        np.empty(0, np.bool_),
    )


def gathered(
    row: Sequence[NDArray[np.int32]],
    match: Sequence[NDArray[np.int64]],
    came: Sequence[ArrivalsBody],
    endings: Sequence[Ending],
    actions: int,
) -> Arrivals:
    """At least one body, with the fleet's own numbers for its rows and matches."""
    _, _, reward, opens, legal, obs, _ = zip(*came, strict=True)
    return Arrivals(
        _joined(row),
        _joined(match),
        _joined(obs),
        np.unpackbits(_joined(legal), axis=1, count=actions, bitorder="little").view(np.bool_),
        _joined(reward),
        _joined(opens).view(np.bool_),
        tuple(endings),
    )


def _joined(parts: Sequence[NDArray[Item]]) -> NDArray[Item]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
