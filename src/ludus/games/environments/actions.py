"""Convert action spaces, and the masks of environments, to one flat set of actions."""

from __future__ import annotations

import math
from typing import Any

import gymnasium.spaces as spaces
import numpy as np
from numpy.typing import NDArray

from ludus.errors import ConfigError
from ludus.games.environments.faults import EnvironmentFault

MAX_ACTIONS = 1 << 16  # of one flat set; masks and logits have one entry per action and decision


class FlatActions:
    """Maps a flat action to an action of the environment, and the environment's masks to flat masks.

    A MultiDiscrete or MultiBinary space becomes all combinations of its choices, the last choice varying fastest.
    """

    def __init__(self, space: spaces.Space[Any], where: str) -> None:
        """Raises ConfigError if the space is not discrete. The message names the environment by `where`."""
        self._scalar = isinstance(space, spaces.Discrete)
        match space:
            case spaces.Discrete():
                self._sizes: tuple[int, ...] = (int(space.n),)
                start = [int(space.start)]
                self._dtype: Any = int
            case spaces.MultiDiscrete():
                self._sizes = tuple(int(size) for size in space.nvec.flat)
                start = [int(at) for at in space.start.flat]
                self._dtype, self._shape = space.dtype, space.shape
            case spaces.MultiBinary():
                self._sizes = (2,) * int(np.prod(space.shape))
                start = [0] * len(self._sizes)
                self._dtype, self._shape = space.dtype, space.shape
            case _:
                raise ConfigError(
                    f"{where}: its actions are {space}, which ludus cannot play: it plays choices among a few "
                    "(Discrete, MultiDiscrete, MultiBinary). Wrap the environment in one that offers such, "
                    "for instance with gymnasium.wrappers.DiscretizeAction"
                )
        self.count = math.prod(self._sizes)
        self._start, self._first = np.array(start, np.int64), start[0]
        if self.count > MAX_ACTIONS:
            raise ConfigError(
                f"{where}: its actions {space} have {self.count:,} combinations; at most {MAX_ACTIONS:,} are "
                "played as one set, so offer fewer with a wrapper"
            )

    def __getitem__(self, action: int) -> Any:  # Any: what the environment takes
        if self._scalar:
            return action + self._first
        components = np.array(np.unravel_index(action, self._sizes), np.int64) + self._start
        return components.astype(self._dtype).reshape(self._shape)

    def legal(self, mask: Any) -> NDArray[np.bool_]:  # Any: whatever the environment gave
        """Return the flat mask [count] for a mask of the environment. None allows every action. A space of several
        choices may also have one mask per choice, concatenated or as a tuple. Raises EnvironmentFault for a wrong
        mask."""
        if mask is None:
            return np.ones(self.count, np.bool_)
        if isinstance(mask, tuple | list) and not self._scalar and len(mask) == len(self._sizes):
            mask = np.concatenate([np.ravel(one) for one in mask])
        flat = np.ravel(np.asarray(mask))
        if flat.dtype.kind not in "iubf" or not np.isin(flat, (0, 1)).all():
            raise EnvironmentFault("the action mask has values other than 0 and 1")
        allowed = flat.astype(np.bool_)
        if not self._scalar and len(allowed) == sum(self._sizes):
            allowed = self._combined(allowed)
        if len(allowed) != self.count:
            several = "" if self._scalar else f" or {sum(self._sizes)}"
            raise EnvironmentFault(f"the action mask has {len(flat)} entries, expected {self.count}{several}")
        if not allowed.any():
            raise EnvironmentFault("the action mask allows nothing")
        return allowed

    def _combined(self, each: NDArray[np.bool_]) -> NDArray[np.bool_]:
        allowed = np.ones(1, np.bool_)
        for part in np.split(each, np.cumsum(self._sizes)[:-1]):
            allowed = np.logical_and.outer(allowed, part).ravel()
        return allowed
