"""Makes the policies that an actor's learner plays against: scripted ones, past selves, members of a league."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray

from ludus.actors.resolved import ResolvedRun
from ludus.errors import CheckpointError, LeagueError
from ludus.games.named_policies import named_policy
from ludus.games.registry import nets_of
from ludus.league.candidates import refuse_other_state
from ludus.league.matchmaking import MEMBER_PREFIX, PAST_PREFIX, SCRIPTED
from ludus.league.members import CHECKPOINT, League, find_member
from ludus.league.pool import Pool
from ludus.policies import nets
from ludus.policies.checkpoints.checkpoint import load_net, read_net
from ludus.policies.gpu.streams import open_stream
from ludus.policies.nets.net import Net
from ludus.policies.network import NetPolicy
from ludus.policies.weights import read_tensors
from ludus.spec import GameSpec
from ludus.types import Policy


class OpponentPolicies:
    """Makes policies for one actor. Nets draw their actions with the actor's generator."""

    def __init__(
        self, run: ResolvedRun, spec: GameSpec, pool: Pool, generator: torch.Generator, *, seeded: int, rows: int
    ) -> None:
        """Seeds of scripted policies are derived from version `seeded`."""
        self._run, self._spec, self._pool, self._generator = run, spec, pool, generator
        self._seeded, self._rows = seeded, rows

    def by_name(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> Policy:  # Any: columns of several types
        """Return the opponent of this name. `arrays` has the weights of past selves that have left the pool. Raises
        CheckpointError if it has vanished."""
        if name.startswith(SCRIPTED):
            return self.scripted(name.removeprefix(SCRIPTED))
        if name.startswith(MEMBER_PREFIX):
            return self.member(name.removeprefix(MEMBER_PREFIX))
        version = int(name.removeprefix(PAST_PREFIX))
        weights = arrays.get(name.replace(":", "."))
        if weights is None:
            return self.past(version)
        policy = self.policy(self.new_net(), version)
        policy.adopt(weights, version)
        return policy

    def scripted(self, name: str) -> Policy:
        """Return a scripted policy. Raises ConfigError for an unknown name."""
        seed = self._run.actor_seed(name, self._seeded)
        return named_policy(name, self._spec, self._run.game, seed=seed, rows=self._rows)

    def past(self, version: int) -> NetPolicy:
        """Return a past self of the pool. Raises CheckpointError if its file is missing or damaged."""
        path = self._pool.path(version)
        if not path.exists():
            raise CheckpointError(f"{path} is missing: the pool of past selves was changed from outside")
        net = self.new_net()
        load_net(net, read_tensors(path), path)
        return self.policy(net, version)

    def member(self, name: str) -> Policy:
        """Return a member of the run's league. Raises CheckpointError if it has vanished, is damaged or does not
        fit."""
        game = self._run.game
        try:
            league = League.open(Path(self._run.config.opponents.league))
            member = find_member(league, name)
            if member.kind != CHECKPOINT:
                return self.scripted(member.origin)
            net, _, state = read_net(league.path(member), self._spec, game_nets=nets_of(game))
            refuse_other_state(state, self._run.config.policy, name)
        except LeagueError as error:
            raise CheckpointError(str(error)) from error
        return self.policy(net, state.version)

    def new_net(self) -> Net:
        """Return a net of the run with initial weights."""
        game = self._run.game
        return nets.build(self._spec, self._run.config.policy, game.net, game_nets=nets_of(game))

    def policy(self, net: Net, version: int) -> NetPolicy:
        """Return a policy that plays with a net on the actor's device."""
        return NetPolicy(
            net,
            self._spec,
            version=version,
            generator=self._generator,
            stream=open_stream(self._run.actor_device.device),
            bf16=self._run.config.policy.precision == "bf16",
        )
