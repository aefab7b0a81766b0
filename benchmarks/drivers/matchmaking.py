"""Train against past selves, or in a league with exploiters, on an OpenSpiel game, and measure NashConv.

Every learner is an actor with its own fleet. All of them play nets of one shape, so a league is a pool of weights: the
main agent's snapshots, and exploiters that were trained against it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
import torch
from benchmarks.drivers.equilibria import Point

from ludus.actors.actor import Actor
from ludus.actors.inline import InlineActor
from ludus.actors.resolved import resolve
from ludus.actors.sources import ActorSource
from ludus.config.seed_streams import seed_for
from ludus.config.settings import OpponentsConfig, RunConfig
from ludus.config.validation import check
from ludus.fleet.inprocess import InProcessFleet
from ludus.games import registry
from ludus.games.openspiel import loading
from ludus.games.openspiel.equilibrium import InformationStates
from ludus.games.openspiel.exploitability import nash_conv
from ludus.games.openspiel.matches import SpielMatch
from ludus.games.openspiel.options import SpielOptions
from ludus.league.pool import Pool
from ludus.learner import algorithms
from ludus.learner.algorithms import AnyAlgorithm
from ludus.learner.loop import learning_rate
from ludus.metrics.core import Metrics
from ludus.policies import nets
from ludus.policies.checkpoints.checkpoint import net_tensors

Way = Literal["uniform", "pfsp", "league"]
POOL = 20  # snapshots
SNAPSHOTS = 12  # of the main agent in a run
EXPLOITER_SHARE = 0.4  # of the decisions of a league

OPPONENTS: dict[Way, OpponentsConfig] = {
    "uniform": OpponentsConfig(past=0.65, scripted=0.0, pool=POOL),
    "pfsp": OpponentsConfig(past=0.65, scripted=0.0, pool=POOL, choose="pfsp", weighting="capped", half_life=20),
    "league": OpponentsConfig(past=0.65, scripted=0.0, pool=POOL, choose="pfsp", weighting="capped", half_life=20),
}
EXPLOITER = OpponentsConfig(past=1.0, scripted=0.0, pool=1)


class Trainee:
    """A learner with its actor, its opponents and its decisions."""

    def __init__(self, config: RunConfig, folder: Path, purpose: str) -> None:
        game = registry.load("openspiel")
        options = check(config.options, SpielOptions, "options")
        spiel, self.states = loading.load(options), InformationStates(options)
        spec = self.states.spec
        seed = seed_for(config.seed, f"fleet of {purpose}")
        fleet = InProcessFleet(spec, lambda: SpielMatch(spiel, spec), config.fleet.matches, seed=seed)
        net = nets.build(spec, config.policy, game.net, seed=seed_for(config.seed, f"weights of {purpose}"))
        generator = torch.Generator().manual_seed(seed_for(config.seed, f"minibatches of {purpose}"))
        self.config = msgspec.structs.replace(config, mode="serial")
        self.algorithm: AnyAlgorithm = algorithms.build(config.learner, net, spec, generator, torch.device("cpu"))
        self.pool = Pool(folder / purpose, config.opponents.pool)
        metrics = Metrics()
        self.source = ActorSource([InlineActor(Actor(fleet, resolve(self.config), self.pool), metrics)], metrics)
        self.source.start(self.algorithm.weights.numpy(), 0)
        self.decisions = self.updates = 0

    def update(self, progress: float) -> None:
        """Learn from one batch. `progress` decides the learning rate."""
        batch = self.source.next(lambda: False)
        assert batch is not None
        self.algorithm.update(batch, learning_rate(self.config.learner, progress))
        self.source.release()
        self.updates += 1
        self.source.publish(self.algorithm.weights.numpy(), self.updates)
        self.decisions += batch.decisions

    def meet(self, other: Trainee, version: int) -> None:
        """Add the present weights of a learner to this one's opponents."""
        self.pool.add(version, net_tensors(other.algorithm.net))
        self.source.set_past(self.pool.versions())
        self.pool.sweep()


def learn(config: RunConfig, way: Way, *, points: int) -> Iterator[Point]:
    """Train until all learners together have used the decisions of `config.budget.updates` batches. Yields NashConv of
    the main agent `points` times."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        main = Trainee(msgspec.structs.replace(config, opponents=OPPONENTS[way]), Path(name), "main")
        budget = config.budget.updates * config.learner.decisions
        used = reported = rounds = 0
        cpu_s = 0.0
        while used < budget:
            began = time.process_time()
            round_end = min(budget, (rounds + 1) * budget // SNAPSHOTS)
            main_end = used + round((round_end - used) * (1 - EXPLOITER_SHARE if way == "league" else 1.0))
            while used < main_end:
                before = main.decisions
                main.update(used / budget)
                used += main.decisions - before
            main.meet(main, 2 * rounds + 1)
            if way == "league" and used < round_end:
                exploiter_config = msgspec.structs.replace(
                    config, opponents=EXPLOITER, seed=config.seed + 1000 * rounds
                )
                exploiter = Trainee(exploiter_config, Path(name), f"exploiter-{rounds}")
                exploiter.meet(main, 1)
                while used < round_end:
                    before = exploiter.decisions
                    exploiter.update(0.0)
                    used += exploiter.decisions - before
                main.meet(exploiter, 2 * rounds + 2)
            rounds += 1
            cpu_s += time.process_time() - began
            if used * points >= (reported + 1) * budget or used >= budget:
                reported = used * points // budget
                yield Point(main.updates, used, round(cpu_s, 2), nash_conv(main.algorithm.result, main.states))
