"""Loads a trained agent from a run or a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludus.api.evaluating import find
from ludus.api.training import Run
from ludus.games import checkpoint_game
from ludus.policies.checkpoints import checkpoint
from ludus.policies.network import NetPolicy
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices


class Agent:
    """A trained policy. It implements `ludus.types.Policy`, so it can also be used as an opponent."""

    def __init__(self, policy: NetPolicy, spec: GameSpec, path: Path) -> None:
        self.spec = spec  # description of the game: seats, number of actions, arrays of an observation
        self.path = path  # folder of the checkpoint
        self._policy = policy

    @property
    def updates(self) -> int:
        """Return the number of updates that the weights have been trained for."""
        return self._policy.version

    def act(self, arrivals: Arrivals) -> Choices:
        """Return an action for each row of a batch of observations (`Arrivals`)."""
        return self._policy.act(arrivals)

    def choose(
        self, observation: Mapping[str, ArrayLike], legal: ArrayLike | None = None, *, first: bool = False
    ) -> int:
        """Return an action for one observation.

        Args:
            observation: Arrays by name, as listed in `spec.obs.leaves`. A missing array is filled with zeros.
            legal: Mask of the legal actions, of length `spec.actions`. By default, all actions are legal.
            first: True for the first decision of a match: a recurrent agent then resets its hidden state.

        Returns:
            The index of the action, from 0 to `spec.actions - 1`.

        Raises:
            ValueError: An array has an unknown name or the wrong shape, or no action is legal.
        """
        row = np.zeros((1, self.spec.obs.nbytes), np.uint8)
        leaf_names = {leaf.name for leaf in self.spec.obs.leaves}
        for name, values in observation.items():
            if name not in leaf_names:
                raise ValueError(
                    f"{self.spec.name} has no observation {name!r}; it has {', '.join(sorted(leaf_names))}"
                )
            self.spec.obs.write(row, name, values)
        return int(self.act(self._arrivals(row, legal, first)).action[0])

    def _arrivals(self, row: NDArray[np.uint8], legal: ArrayLike | None, first: bool) -> Arrivals:
        mask = np.ones((1, self.spec.actions), np.bool_)
        if legal is not None:
            mask[0] = legal
        if not mask.any():
            raise ValueError("legal: no action is legal")
        return Arrivals(
            row=np.zeros(1, np.int32),
            match=np.zeros(1, np.int64),
            obs=row,
            legal=mask,
            reward=np.zeros(1, np.float32),
            opens=np.array([first]),
        )


def load(run: Run | str | Path, *, greedy: bool = True, seed: int = 0) -> Agent:
    """Load a trained agent.

    Args:
        run: A `Run`, the folder of a run (its latest checkpoint is used), or the folder of a checkpoint.
        greedy: Take the most likely action. If False, sample from the policy's distribution.
        seed: Seed of the random generator, used if `greedy` is False.

    Returns:
        The agent, with the weights of the checkpoint.

    Raises:
        CheckpointError: The checkpoint cannot be read.
    """
    path = find(run)
    state = checkpoint.read_state(path)
    spec = checkpoint.read_spec(path, state)
    nets = checkpoint_game.nets_for(path, spec.name)
    policy = checkpoint.load_agent(path, spec, greedy=greedy, seed=seed, game_nets=nets, state=state)
    return Agent(policy, spec, path)
