"""Train against past selves, or in a league with exploiters, on an OpenSpiel game, and measure NashConv.

Every learner is an actor with its own fleet. All of them play nets of one shape, so a league is a pool of weights: the
main agent's snapshots, and exploiters that were trained against them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import torch
from benchmarks.drivers.mixtures import GameTree, Reals
from msgspec import Struct

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
from ludus.games.openspiel.exploitability import probabilities
from ludus.games.openspiel.matches import SpielMatch
from ludus.games.openspiel.options import SpielOptions
from ludus.league.equilibrium import nash_average
from ludus.league.matchmaking import PAST_PREFIX, OpponentNews
from ludus.league.pool import Pool
from ludus.learner import algorithms
from ludus.learner.algorithms import AnyAlgorithm
from ludus.learner.loop import learning_rate
from ludus.metrics.core import Metrics
from ludus.policies import nets
from ludus.policies.checkpoints.checkpoint import net_tensors

Way = Literal["uniform", "pfsp", "league"]
POOL = 32  # snapshots and exploiters
ROUNDS = 12  # in each of them, the main agent adds a snapshot, and in a league an exploiter follows

OPPONENTS: dict[Way, OpponentsConfig] = {
    "uniform": OpponentsConfig(past=0.65, scripted=0.0, pool=POOL),
    "pfsp": OpponentsConfig(past=0.65, scripted=0.0, pool=POOL, choose="pfsp", weighting="capped", half_life=20),
    "league": OpponentsConfig(past=0.65, scripted=0.0, pool=POOL, choose="pfsp", weighting="capped", half_life=20),
}
EXPLOITER = OpponentsConfig(past=1.0, scripted=0.0, pool=POOL, choose="nash")


class LeaguePlan(Struct, frozen=True):
    """How a league's exploiters train."""

    share: float = 0.4  # of the decisions that exploiters use
    meet: Literal["main", "league"] = "main"  # the latest main agent, or all members by their Nash weights
    clone: bool = False  # begin with the main agent's weights


PLAN = LeaguePlan()


class Point(Struct, frozen=True):
    """One measurement during a run."""

    update: int  # of the main agent
    decisions: int  # of all learners, each counted once
    cpu_s: float  # play and updates
    nash_conv: float  # of the main agent
    uniform_mixture: float  # NashConv of the mixture that draws each snapshot of the main agent equally often
    nash_mixture: float  # NashConv of the mixture that no member beats: of snapshots, exploiters and main agent
    members: int  # that have weight in it


class Trainee:
    """A learner with its actor, its opponents and its decisions."""

    def __init__(self, config: RunConfig, tree: GameTree, pool: Pool, purpose: str) -> None:
        options = check(config.options, SpielOptions, "options")
        spiel, spec = loading.load(options), tree.states.spec
        seed = seed_for(config.seed, f"fleet of {purpose}")
        fleet = InProcessFleet(spec, lambda: SpielMatch(spiel, spec), config.fleet.matches, seed=seed)
        game = registry.load("openspiel")
        net = nets.build(spec, config.policy, game.net, seed=seed_for(config.seed, f"weights of {purpose}"))
        generator = torch.Generator().manual_seed(seed_for(config.seed, f"minibatches of {purpose}"))
        self.config = msgspec.structs.replace(config, mode="serial")
        self.algorithm: AnyAlgorithm = algorithms.build(config.learner, net, spec, generator, torch.device("cpu"))
        metrics = Metrics()
        self.source = ActorSource([InlineActor(Actor(fleet, resolve(self.config), pool), metrics)], metrics)
        self.updates = 0

    def begin(self, weights_of: Trainee | None) -> None:
        """Start playing, with the weights of another learner if one is given."""
        if weights_of is not None:
            self.algorithm.weights.load(weights_of.algorithm.weights.numpy())
        self.source.start(self.algorithm.weights.numpy(), 0)

    def update(self, progress: float) -> int:
        """Learn from one batch and return its decisions. `progress` decides the learning rate."""
        batch = self.source.next(lambda: False)
        assert batch is not None
        self.algorithm.update(batch, learning_rate(self.config.learner, progress))
        self.source.release()
        self.updates += 1
        self.source.publish(self.algorithm.weights.numpy(), self.updates)
        return batch.decisions


class Members:
    """The members of a league, with their exact policies, and the mixtures of them."""

    def __init__(self, tree: GameTree, pool: Pool) -> None:
        self.tree, self.pool = tree, pool
        self._policies: dict[int, Reals] = {}  # by version in the pool
        self._snapshots: list[int] = []

    def add(self, version: int, trainee: Trainee, *, is_snapshot: bool) -> None:
        """Add the present weights of a learner."""
        self.pool.add(version, net_tensors(trainee.algorithm.net))
        self._policies[version] = self.policy_of(trainee)
        if is_snapshot:
            self._snapshots.append(version)

    def policy_of(self, trainee: Trainee) -> Reals:
        """Return the exact policy of a learner."""
        return self.tree.policy(probabilities(trainee.algorithm.result, self.tree.states.spec))

    def nash(self) -> dict[int, float]:
        """Return the weights of the members in the mixture that none of them beats, by version."""
        payoff = self.tree.payoff(list(self._policies.values()))
        weights = nash_average(0.5 + payoff / max(2 * float(np.abs(payoff).max()), 1e-9))
        return dict(zip(self._policies, weights.tolist(), strict=True))

    def measured(self, trainee: Trainee, decisions: int, cpu_s: float) -> Point:
        """Return NashConv of the main agent and of both mixtures."""
        tree, nash = self.tree, self.nash()
        snapshots = [self._policies[version] for version in self._snapshots]
        uniform = tree.mixture(snapshots, np.full(len(snapshots), 1 / len(snapshots)))
        mixture = tree.mixture(list(self._policies.values()), np.array(list(nash.values())))
        return Point(
            trainee.updates,
            decisions,
            round(cpu_s, 2),
            tree.nash_conv(self.policy_of(trainee)),
            tree.nash_conv(uniform),
            tree.nash_conv(mixture),
            sum(weight > 0.01 for weight in nash.values()),
        )


def learn(config: RunConfig, way: Way, *, points: int, plan: LeaguePlan = PLAN) -> Iterator[Point]:
    """Train until all learners together have used the decisions of `config.budget.updates` batches. Yields `points`
    measurements."""
    torch.set_num_threads(1)
    tree = GameTree(check(config.options, SpielOptions, "options"))
    budget = config.budget.updates * config.learner.decisions
    with tempfile.TemporaryDirectory() as name:
        pool = Pool(Path(name), POOL)
        main = Trainee(msgspec.structs.replace(config, opponents=OPPONENTS[way]), tree, pool, "main")
        main.begin(None)
        members = Members(tree, pool)
        used = reported = rounds = 0
        cpu_s = 0.0
        while used < budget:
            began = time.process_time()
            round_end = min(budget, (rounds + 1) * budget // ROUNDS)
            main_end = used + round((round_end - used) * (1 - plan.share if way == "league" else 1.0))
            while used < main_end:
                used += main.update(used / budget)
            members.add(2 * rounds + 1, main, is_snapshot=True)
            if way == "league" and used < round_end:
                exploiter = _exploiter(config, plan, members, main, rounds)
                while used < round_end:
                    used += exploiter.update(0.0)
                members.add(2 * rounds + 2, exploiter, is_snapshot=False)
            main.source.set_past(pool.versions())
            rounds += 1
            cpu_s += time.process_time() - began
            if used * points >= (reported + 1) * budget or used >= budget:
                reported = used * points // budget
                yield members.measured(main, used, cpu_s)


def _exploiter(config: RunConfig, plan: LeaguePlan, members: Members, main: Trainee, rounds: int) -> Trainee:
    """Return a learner whose opponents are the latest main agent or the whole league."""
    seeded = msgspec.structs.replace(config, opponents=EXPLOITER, seed=config.seed + 1000 * rounds)
    exploiter = Trainee(seeded, members.tree, members.pool, f"exploiter-{rounds}")
    exploiter.begin(main if plan.clone else None)
    if plan.meet == "main":
        exploiter.source.set_past([2 * rounds + 1])
    else:
        exploiter.source.set_past(members.pool.versions())
        weights = {f"{PAST_PREFIX}{version}": weight for version, weight in members.nash().items()}
        exploiter.source.tell(OpponentNews(weights=weights))
    return exploiter
