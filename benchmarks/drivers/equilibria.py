"""Train on an OpenSpiel game in this process, and measure NashConv on the way."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import torch
from msgspec import Struct

from ludus.actors.actor import Actor
from ludus.actors.inline import InlineActor
from ludus.actors.resolved import resolve
from ludus.actors.sources import ActorSource
from ludus.config import load, stage_configs
from ludus.config.seed_streams import seed_for
from ludus.config.settings import LearnerConfig, RunConfig
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
from ludus.learner.loop import learning_rate
from ludus.metrics.core import Metrics
from ludus.policies import nets


class Point(Struct, frozen=True):
    """One measurement during a run."""

    update: int
    decisions: int  # learned from, each counted once
    cpu_s: float  # play and updates
    nash_conv: float  # of the policy that the run results in


def preset(name: str, *sets: str) -> RunConfig:
    """Load a preset of the game with some settings changed."""
    game = registry.load("openspiel")
    return load.load(game.presets / f"{name}.yaml", sets, options_of=lambda _: game.options)


def learners(config: RunConfig) -> list[tuple[float, LearnerConfig]]:
    """Return the learner's settings in each stage, with the share of the budget at which it begins. Stages must end by
    shares of the budget."""
    stages = stage_configs.built(config, lambda data: msgspec.convert(data, RunConfig))
    if not stages:
        return [(0.0, config.learner)]
    ends = [stage.promote.budget for stage in config.curriculum[:-1]]
    return [(begin, stage.learner) for begin, stage in zip((0.0, *ends), stages, strict=True)]


def learn(config: RunConfig, *, every: int) -> Iterator[Point]:
    """Train until the budget is used up. Yields a measurement after each `every` updates."""
    torch.set_num_threads(1)
    game = registry.load("openspiel")
    options = check(config.options, SpielOptions, "options")
    spiel, states = loading.load(options), InformationStates(options)
    spec, updates, stages = states.spec, config.budget.updates, learners(config)
    seed = seed_for(config.seed, "fleet")
    fleet = InProcessFleet(spec, lambda: SpielMatch(spiel, spec), config.fleet.matches, seed=seed)
    net = nets.build(spec, config.policy, game.net, seed=seed_for(config.seed, "weights"))
    generator = torch.Generator().manual_seed(seed_for(config.seed, "minibatches"))
    algorithm = algorithms.build(config.learner, net, spec, generator, torch.device("cpu"))
    with tempfile.TemporaryDirectory() as folder:
        pool = Pool(Path(folder), 1)
        serial = msgspec.structs.replace(config, mode="serial")
        metrics = Metrics()
        source = ActorSource([InlineActor(Actor(fleet, resolve(serial), pool), metrics)], metrics)
        source.start(algorithm.weights.numpy(), 0)
        decisions, cpu_s = 0, 0.0
        for update in range(1, updates + 1):
            began = time.process_time()
            batch = source.next(lambda: False)
            assert batch is not None
            algorithm.config = [each for begin, each in stages if begin <= (update - 1) / updates][-1]
            algorithm.update(batch, learning_rate(config.learner, update / updates))
            source.publish(algorithm.weights.numpy(), update)
            decisions += int(batch.learns.sum()) if batch.learns.size else batch.decisions
            source.release()
            cpu_s += time.process_time() - began
            if update % every == 0 or update == updates:
                yield Point(update, decisions, round(cpu_s, 2), nash_conv(algorithm.result, states))
