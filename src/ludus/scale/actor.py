"""An actor: policies and rollout on a fleet. It runs in the learner's process or in one of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
import numpy as np
import torch
from msgspec import Struct
from numpy.typing import NDArray

from ludus.config.check import check
from ludus.config.schema import RunConfig
from ludus.errors import CheckpointError
from ludus.fleet.fleet import HostFleet
from ludus.games.registry import Game
from ludus.league.matchmaking import PAST, SCRIPTED, MatchmakerState, SharedMatchmaker
from ludus.league.pool import Pool
from ludus.metrics import names
from ludus.metrics.core import Delta, Metrics
from ludus.policies import nets
from ludus.policies.bank import PolicyBank
from ludus.policies.checkpoint import encode_generator, load_net, restore_generator
from ludus.policies.network import NetPolicy
from ludus.policies.weights import read_tensors
from ludus.rollout.loop import Rollout, WaitingFleet
from ludus.rollout.segments import SegmentLayout, Segments
from ludus.seeds import derive
from ludus.spec import GameSpec
from ludus.types import Policy, SegmentBatch


class ActorState(Struct, frozen=True):
    """What a resumed run needs to go on: everything drawn so far, and how matches ended."""

    sampling: str
    matchmaker: MatchmakerState


class Health(Protocol):
    @property
    def alive(self) -> int: ...

    @property
    def restarts(self) -> int: ...


class ActorFleet(WaitingFleet, Protocol):
    hosts: int

    @property
    def health(self) -> Health: ...


class Actor:
    """Plays on a fleet that somebody else opens and closes. `version` > 0: that of the checkpoint it goes on from."""

    def __init__(
        self,
        fleet: ActorFleet,
        config: RunConfig,
        *,
        prefers: str,
        scripted: Mapping[str, Callable[[GameSpec, int], Policy]],
        pool: Pool,
        version: int = 0,
    ) -> None:
        torch.set_num_threads(config.policy.threads)
        self.spec = fleet.spec
        self.metrics = Metrics("actor")
        self._fleet = fleet
        self._config = config
        self._prefers = prefers
        self._pool = pool
        self._generator = torch.Generator().manual_seed(derive(config.seed, "sampling", version))
        learner = NetPolicy(
            nets.build(fleet.spec, config.policy, prefers), fleet.spec, version=version, generator=self._generator
        )
        self._matchmaker = SharedMatchmaker(
            config.opponents,
            seats=fleet.spec.seats,
            scripted=tuple(scripted),
            seed=derive(config.seed, "matchmaking", version),
        )
        self._bank = PolicyBank(learner, self._matchmaker, rows=fleet.rows, seats=fleet.spec.seats)
        for name in self._matchmaker.scripted:
            policy = scripted[name](fleet.spec, derive(config.seed, name, version))
            self._bank.enter(SCRIPTED + name, policy)
        segments = Segments(fleet.spec, fleet.rows, config.rollout.segment)
        self._rollout = Rollout(fleet, self._bank, segments, self.metrics, lockstep=config.mode == "serial")

    @property
    def layout(self) -> SegmentLayout:
        """Of the batches that `play` fills."""
        length = self._config.rollout.segment
        return SegmentLayout(self.spec, max(1, self._config.learner.decisions // length), length)

    @property
    def version(self) -> int:
        return self._bank.learner.version

    @property
    def floats(self) -> int:
        """The length of the weights' vector."""
        return self._bank.learner.weights.vector.numel()

    def adopt(self, weights: NDArray[np.float32], version: int) -> None:
        self._bank.learner.adopt(weights, version)

    def play(self, batch: SegmentBatch, stopped: Callable[[], bool]) -> bool:
        """Fill the batch: True. False when `stopped`."""
        return self._rollout.play(batch, stopped)

    def set_past(self, versions: Sequence[int]) -> None:
        """Load the past selves that are new, let the matchmaker choose among them, forget the others."""
        wanted = {f"{PAST}{version}": version for version in versions}
        for name in wanted.keys() - set(self._bank.names):
            self._bank.enter(name, self._load(wanted[name]))
        self._matchmaker.set_past(wanted.values())
        self._bank.retire(name for name in self._bank.names if name.startswith(PAST) and name not in wanted)

    def state(self) -> ActorState:
        return ActorState(encode_generator(self._generator), self._matchmaker.state())

    def restore(self, state: ActorState) -> None:
        """Call after `set_past`."""
        restore_generator(self._generator, state.sampling)
        self._matchmaker.restore(state.matchmaker)

    def drain(self) -> Delta:
        """What happened since the last call."""
        health = self._fleet.health
        self.metrics.set(names.HOSTS_ALIVE, health.alive)
        self.metrics.set(names.HOSTS_TOTAL, self._fleet.hosts)
        self.metrics.set(names.HOSTS_RESTARTS, health.restarts)
        for opponent, rate in self._matchmaker.rates.items():
            self.metrics.set(names.TRAIN_WIN_RATE(opponent), rate.score)
        return self.metrics.drain()

    def _load(self, version: int) -> NetPolicy:
        path = self._pool.path(version)
        if not path.exists():
            raise CheckpointError(f"{path} is missing: the pool of past selves was changed from outside")
        net = nets.build(self.spec, self._config.policy, self._prefers)
        load_net(net, read_tensors(path), path)
        return NetPolicy(net, self.spec, version=version, generator=self._generator)


def open_fleet(config: RunConfig, game: Game, log_dir: Path, version: int) -> HostFleet:
    """The hosts of a run; a resumed run plays matches that its first part did not."""
    options = check(config.options, game.options, "options")
    return HostFleet(
        game.command(options),
        config.fleet,
        options=msgspec.to_builtins(options),
        seed=derive(config.seed, "fleet", version),
        log_dir=log_dir,
    )
