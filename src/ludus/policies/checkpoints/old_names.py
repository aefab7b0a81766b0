"""Translates names that earlier versions of ludus wrote into checkpoints, so that their checkpoints still load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from ludus.config import renamed

OLD_COLUMN, COLUMN = ".memory", ".hidden_state"  # suffixes of the names of arrays


def current_state(state: object) -> object:
    """Return the decoded state.json with every setting under its current name. Data that is not a mapping is returned
    unchanged; the caller refuses it."""
    return renamed.moved(state) if isinstance(state, Mapping) else state


def current_arrays(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:  # Any: columns of several types
    """Return the arrays of matches.safetensors or replay.safetensors under the current names of their columns."""
    return {
        name.removesuffix(OLD_COLUMN) + COLUMN if name.endswith(OLD_COLUMN) else name: array
        for name, array in arrays.items()
    }
