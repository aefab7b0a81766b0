"""A trained agent, loaded from a run or a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludus.api.evaluating import find, nets_for
from ludus.api.training import Run
from ludus.policies.checkpoints import checkpoint
from ludus.policies.network import NetPolicy
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices


class Agent:
    """A policy with the description of the game it was trained for. It is a `ludus.types.Policy`."""

    def __init__(self, policy: NetPolicy, spec: GameSpec, path: Path) -> None:
        self.spec = spec
        self.path = path  # of the checkpoint
        self._policy = policy

    @property
    def updates(self) -> int:
        """Updates after which the checkpoint was written."""
        return self._policy.version

    def act(self, arrivals: Arrivals) -> Choices:
        """Choose for many rows at once, as a fleet delivers them."""
        return self._policy.act(arrivals)

    def choose(
        self, observation: Mapping[str, ArrayLike], legal: ArrayLike | None = None, *, first: bool = False
    ) -> int:
        """Choose one action for one observation.

        observation: an array for each leaf of `spec.obs`; leaves that are left out are zero.
        legal: [A] which actions are legal; default: all.
        first: whether this is the first decision of a match. A recurrent agent then forgets the match before.
        """
        row = np.zeros((1, self.spec.obs.nbytes), np.uint8)
        known = {leaf.name for leaf in self.spec.obs.leaves}
        for name, values in observation.items():
            if name not in known:
                raise ValueError(f"{self.spec.name} has no observation {name!r}; it has {', '.join(sorted(known))}")
            self.spec.obs.write(row, name, values)
        return int(self.act(self._arrivals(row, legal, first)).action[0])

    def _arrivals(self, row: NDArray[np.uint8], legal: ArrayLike | None, first: bool) -> Arrivals:
        mask = np.ones((1, self.spec.actions), np.bool_)
        if legal is not None:
            mask[0] = legal
        if not mask.any():
            raise ValueError("no action is legal")
        return Arrivals(
            row=np.zeros(1, np.int32),
            match=np.zeros(1, np.int64),
            obs=row,
            legal=mask,
            reward=np.zeros(1, np.float32),
            opens=np.array([first]),
        )


def load(run: Run | str | Path, *, greedy: bool = True, seed: int = 0) -> Agent:
    """Load the agent of a run (its latest checkpoint) or of one checkpoint.

    greedy: choose the most likely action; otherwise sample, from a generator with this `seed`. Raises CheckpointError.
    """
    path = find(run)
    spec = checkpoint.read_spec(path)
    agent = checkpoint.load_agent(path, spec, greedy=greedy, seed=seed, game_nets=nets_for(path, spec.name))
    return Agent(agent, spec, path)
