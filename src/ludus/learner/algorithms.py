"""Which algorithm learns, by one word of the configuration."""

from __future__ import annotations

import torch
from torch import nn

from ludus.config.settings import LearnerConfig, RolloutConfig
from ludus.errors import ConfigError
from ludus.learner.actor_critic import ActorCritic
from ludus.learner.loop import Algorithm
from ludus.learner.ppo import Ppo
from ludus.learner.ppo_kl import PpoKl
from ludus.learner.rnad import Rnad
from ludus.spec import GameSpec


def refuse_unfit(config: LearnerConfig, rollout: RolloutConfig) -> None:
    """Raises ConfigError for what no algorithm, or not the chosen one, can work with. Call before anything starts."""
    if config.algorithm == "vtrace" and rollout.segment < 2:
        raise ConfigError(
            f"rollout.segment: {rollout.segment} is too short for learner.algorithm: vtrace, which looks along "
            "segments; at least 2"
        )
    if config.interleaved and rollout.segment < 4:
        raise ConfigError(
            f"rollout.segment: {rollout.segment} is too short for learner.algorithm: {config.algorithm}, whose "
            "segments hold the decisions of both seats; at least 4"
        )
    replay = config.replay
    if not replay.decisions:
        return
    if config.algorithm != "vtrace":
        raise ConfigError(
            f"learner.replay.decisions: {replay.decisions} cannot be learned from again by learner.algorithm: "
            f"{config.algorithm}, whose advantages are those of the policy that chose; use vtrace, or 0 for no replay"
        )
    if replay.decisions < config.decisions:
        raise ConfigError(
            f"learner.replay.decisions: {replay.decisions} is less than one update takes; at least learner.decisions "
            f"({config.decisions}), or 0 for no replay"
        )


def build(
    config: LearnerConfig, net: nn.Module, spec: GameSpec, generator: torch.Generator, device: torch.device
) -> Algorithm:
    """Takes over the net, and the generator for the order of minibatches."""
    if config.algorithm == "vtrace":
        return ActorCritic(net, spec, config, generator, device)
    if config.algorithm == "rnad":
        return Rnad(net, spec, config, generator, device)
    if config.algorithm == "ppo_kl":
        return PpoKl(net, spec, config, generator, device)
    return Ppo(net, spec, config, generator, device)
