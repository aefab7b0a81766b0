"""Proximal policy optimisation (Schulman et al. 2017), top to bottom.

The surrogate is clipped, the value loss is a plain squared error, advantages are normalised once an update over the
whole batch, and the ratio is taken against the policy that chose, so that clipping corrects a batch with some lag too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ludus.config.settings import LearnerConfig
from ludus.learner.batch import FlatBatch, Intake, Minibatch
from ludus.learner.optimiser import Measured, Optimiser
from ludus.learner.returns import gae
from ludus.metrics import names
from ludus.policies.distributions import Distribution
from ludus.spec import GameSpec
from ludus.types import SegmentBatch


class Ppo:
    """Implements loop.Algorithm."""

    REPORTED: tuple[str, ...] = (
        names.LOSS_TOTAL,
        names.LOSS_POLICY,
        names.LOSS_VALUE,
        names.ENTROPY,
        names.KL,
        names.CLIP_SHARE,
        names.GRAD_NORM,  # the optimiser's own, always last
    )

    def __init__(
        self, net: nn.Module, spec: GameSpec, config: LearnerConfig, generator: torch.Generator, device: torch.device
    ) -> None:
        self.optimiser = Optimiser(net, config, device)
        self.net, self.weights = self.optimiser.net, self.optimiser.weights
        self.result = self.net
        self.generator = generator
        self._config = config
        plan = self.optimiser.plan
        self._intake = Intake(self.net, spec, device, config.minibatch, pinned=plan.pinned, autocast=plan.autocast)

    def update(self, batch: SegmentBatch, lr: float) -> Mapping[str, float]:
        """One update. A loss or gradient that is not finite leaves weights and optimiser as they were: {SKIPPED: 1}."""
        config, optimiser = self._config, self.optimiser
        optimiser.set_lr(lr)
        with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is found by its loss
            advantage, returns = gae(
                batch.reward,
                batch.value,
                batch.next_value,
                batch.ends,
                batch.final_value,
                gamma=config.gamma,
                gae_lambda=config.gae_lambda,
            )
            normalised = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        data = self._intake.take(batch)
        targets = Targets(data.tensor(normalised), data.tensor(returns))
        self._begin(data)
        before = optimiser.remember()
        sums: dict[str, float] = {}
        minibatches = epochs = 0
        for _ in range(config.epochs):
            steps = [
                optimiser.step([minibatch], self._loss, targets)
                for minibatch in data.minibatches(self.generator, config.minibatch)
            ]
            seen = torch.stack(steps)
            if not bool(torch.isfinite(seen).all()):
                optimiser.restore(before)
                return {names.SKIPPED: 1.0, names.NON_FINITE: optimiser.non_finite()}
            epochs += 1
            minibatches += len(seen)
            for name, total in zip(self.REPORTED, seen.sum(0).tolist(), strict=True):
                sums[name] = sums.get(name, 0.0) + total
            if config.target_kl and float(seen[:, self.REPORTED.index(names.KL)].mean()) > config.target_kl:
                break
        return {
            **{name: total / minibatches for name, total in sums.items()},
            names.EXPLAINED_VARIANCE: _explained(batch.value, returns),
            names.EPOCHS: float(epochs),
            names.LR: lr,
            **({names.BURNED_IN: data.burned_in} if data.burned_in else {}),
            names.NON_FINITE: optimiser.non_finite(),
        }

    def state(self) -> dict[str, Tensor]:
        return self.optimiser.state()

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        self.optimiser.load_state(state)

    def _begin(self, data: FlatBatch) -> None:
        """Before the first step of an update; for algorithms that are this and more."""

    def _loss(self, part: Minibatch, targets: Targets) -> Measured:
        return self._measured(part, targets, *part.judged(self.net))

    def _measured(self, part: Minibatch, targets: Targets, said: Distribution, value: Tensor) -> Measured:
        config = self._config
        advantage = targets.advantage[part.at]
        log_ratio = said.log_prob(part.action) - part.logp
        ratio = log_ratio.exp()

        clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
        policy_loss = -part.mean(torch.min(ratio * advantage, clipped * advantage))
        value_loss = part.mean((value - targets.returns[part.at]).square())
        entropy = part.mean(said.entropy(part.action))
        loss = policy_loss + config.value_coef * value_loss - config.entropy_coef * entropy
        with torch.no_grad():
            kl = part.mean(ratio - 1 - log_ratio)  # never negative, little variance (Schulman, approximating KL)
            clip_share = part.mean(((ratio - 1).abs() > config.clip).float())
            return Measured(loss, torch.stack((loss, policy_loss, value_loss, entropy, kl, clip_share)))


class Targets(NamedTuple):
    """What the net is drawn to, by decision."""

    advantage: Tensor  # [N] normalised
    returns: Tensor  # [N]


def _explained(value: NDArray[np.float32], returns: NDArray[np.float32]) -> float:
    variance = float(returns.var())
    return 1 - float((returns - value).var()) / variance if variance > 0 else 0.0
