"""The algorithms, by name. docs/learning.md shows how to add one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch

from ludus.config.settings import DataConfig, LearnerConfig, RolloutConfig
from ludus.errors import ConfigError
from ludus.learner.skeleton import Algorithm
from ludus.policies.nets.net import Net
from ludus.spec import GameSpec
from ludus.suggestions import did_you_mean

ALGORITHMS = {
    "ppo": "ludus.learner.ppo:Ppo",
    "ppo_kl": "ludus.learner.ppo_kl:PpoKl",
    "vtrace": "ludus.learner.actor_critic:ActorCritic",
    "rnad": "ludus.learner.rnad:Rnad",
    "bc": "ludus.learner.cloning:BehaviourCloning",
    "awr": "ludus.learner.awr:AdvantageWeightedRegression",
}
"""`learner.algorithm` -> the module and the class of the algorithm, imported when a run uses it."""

AnyAlgorithm = Algorithm[Any]  # Any: each algorithm has its own type of targets


def find(name: str) -> type[AnyAlgorithm]:
    """Return the class of an algorithm. Raises ConfigError for an unknown name."""
    if name not in ALGORITHMS:
        raise ConfigError(f"learner.algorithm: unknown algorithm {name!r}; {did_you_mean(name, ALGORITHMS)}")
    module, _, class_name = ALGORITHMS[name].partition(":")
    algorithm: type[AnyAlgorithm] = getattr(import_module(module), class_name)
    return algorithm


def refuse_unfit(config: LearnerConfig, rollout: RolloutConfig) -> None:
    """Raise ConfigError if the algorithm is unknown or cannot work with the configuration."""
    algorithm, replay = find(config.algorithm), config.replay
    if rollout.segment < algorithm.min_segment:
        raise ConfigError(
            f"rollout.segment: {rollout.segment} is too short for learner.algorithm: {config.algorithm}; at least "
            f"{algorithm.min_segment}"
        )
    if not replay.decisions:
        return
    if not algorithm.replay:
        able = ", ".join(name for name in ALGORITHMS if find(name).replay)
        raise ConfigError(
            f"learner.replay.decisions: {replay.decisions} cannot be used with learner.algorithm: {config.algorithm}, "
            f"which trains on fresh segments only; use {able}, or 0 for no replay"
        )
    if replay.decisions < config.decisions:
        raise ConfigError(
            f"learner.replay.decisions: {replay.decisions} is less than one update takes; at least learner.decisions "
            f"({config.decisions}), or 0 for no replay"
        )


def refuse_unfit_data(config: LearnerConfig, data: DataConfig) -> None:
    """Raise ConfigError if the algorithm needs a dataset and none is named, or cannot use the one that is named."""
    algorithm, name = find(config.algorithm), config.algorithm
    if not data.folder:
        if algorithm.recorded or data.live:
            setting = f"learner.algorithm: {name}" if algorithm.recorded else f"data.live: {data.live:g}"
            raise ConfigError(
                f"{setting} learns from a dataset; name one: --set data.folder=DIR (`ludus generate` records one)"
            )
        return
    if not algorithm.recorded and not data.live:
        able = ", ".join(each for each in ALGORITHMS if find(each).recorded)
        raise ConfigError(
            f"data.folder: learner.algorithm: {name} learns from matches of its own; use {able}, or set data.live, the "
            "share of the updates that learn from such matches (0.8, say)"
        )
    if data.live and not algorithm.played:
        raise ConfigError(
            f"data.live: {data.live:g} adds matches that the agent plays itself, in which {name} would imitate its own "
            "choices; set data.live=0, or learner.algorithm=awr"
        )
    if data.live and algorithm.interleaved:
        raise ConfigError(f"data.live: {data.live:g}, but {name} cannot learn from datasets; use ppo, ppo_kl or vtrace")
    if data.live and config.replay.decisions:
        raise ConfigError("data.live: cannot be used together with learner.replay; set learner.replay.decisions to 0")


def build(
    config: LearnerConfig, net: Net, spec: GameSpec, generator: torch.Generator, device: torch.device
) -> AnyAlgorithm:
    """Return the algorithm that the configuration names, for this net. `generator` draws the order of minibatches."""
    return find(config.algorithm)(net, spec, config, generator, device)
