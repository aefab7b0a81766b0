"""Names that earlier versions used in the files of a checkpoint, so that their checkpoints still load. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from ludus.config import renamed

OLD_COLUMN, COLUMN = ".memory", ".hidden_state"  # how the name of an array ends


def current_state(state: object) -> object:
    """Returns the decoded state.json with every setting under its current name. Other data than a mapping is returned
    as it is, for the caller to refuse."""
    return renamed.moved(state) if isinstance(state, Mapping) else state


def current_arrays(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:  # Any: columns of several types
    """Returns the arrays of matches.safetensors or replay.safetensors under the current names of their columns."""
    return {
        name.removesuffix(OLD_COLUMN) + COLUMN if name.endswith(OLD_COLUMN) else name: array
        for name, array in arrays.items()
    }
