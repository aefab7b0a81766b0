"""Which algorithm learns, by one word of the configuration."""

from __future__ import annotations

import torch
from torch import nn

from ludus.config.schema import LearnerConfig
from ludus.learner.loop import Algorithm
from ludus.learner.ppo import Ppo
from ludus.spec import GameSpec


def build(
    config: LearnerConfig, net: nn.Module, spec: GameSpec, generator: torch.Generator, device: torch.device
) -> Algorithm:
    """Takes over the net, and the generator for the order of minibatches."""
    return Ppo(net, spec, config, generator, device)
