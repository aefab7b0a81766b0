"""Actor-critic with V-trace (Espeholt et al. 2018), top to bottom: for segments that older versions have chosen.

Values and probabilities of whole segments are worked out anew with the weights as they are, in every minibatch, and
the targets from them: however often or late a segment is learned from, they are those of the policy that learns.
The last decision of a segment whose match goes on is only there to say what the ones before it led to: what came after
it was judged by old weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ludus.config.schema import LearnerConfig
from ludus.learner.batch import FlatBatch, Intake, Minibatch
from ludus.learner.optimiser import Measured, Optimiser
from ludus.learner.vtrace import vtrace
from ludus.metrics import names
from ludus.spec import GameSpec
from ludus.types import SegmentBatch

LARGEST = 20.0  # of a log-ratio in the estimate of the divergence: a rare decision must not be all of the mean


class ActorCritic:
    """Implements loop.Algorithm."""

    def __init__(
        self, net: nn.Module, spec: GameSpec, config: LearnerConfig, generator: torch.Generator, device: torch.device
    ) -> None:
        self.optimiser = Optimiser(net, config, device)
        self.net, self.weights = self.optimiser.net, self.optimiser.weights
        self.generator = generator
        self._config = config
        self._intake = Intake(self.net, spec, device, config.minibatch)

    def update(self, batch: SegmentBatch, lr: float) -> Mapping[str, float]:
        """One update. A loss or gradient that is not finite leaves weights and optimiser as they were: {SKIPPED: 1}."""
        config, optimiser = self._config, self.optimiser
        optimiser.set_lr(lr)
        data = self._intake.take(batch)
        told = Told.of(batch, data)
        before = optimiser.remember()
        steps: list[Tensor] = []
        for _ in range(config.epochs):
            steps += [
                optimiser.step([minibatch], lambda part: self._loss(part, told))
                for minibatch in data.minibatches(self.generator, config.minibatch, whole_segments=True)
            ]
        seen = torch.stack(steps)
        if not bool(torch.isfinite(seen).all()):
            optimiser.restore(before)
            return {names.SKIPPED: 1.0}
        return {
            **dict(zip(REPORTED, seen.mean(0).tolist(), strict=True)),
            names.EPOCHS: float(config.epochs),
            names.LR: lr,
            **({names.BURNED_IN: data.burned_in} if data.burned_in else {}),
        }

    def state(self) -> dict[str, Tensor]:
        return self.optimiser.state()

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        self.optimiser.load_state(state)

    def _loss(self, part: Minibatch, told: Told) -> Measured:
        config = self._config
        said, value = part.judged(self.net)
        logp = said.log_prob(part.action)
        log_ratio = (logp - part.logp).detach()
        learned = told.learned[part.at] if part.counts is None else told.learned[part.at] & part.counts
        target, advantage, rho = self._traces(part, told, torch.where(learned, log_ratio, -torch.inf), value.detach())

        share = learned / learned.sum().clamp(min=1)
        mean = (share * advantage).sum()
        spread = (share * (advantage - mean).square()).sum().sqrt()
        policy_loss = -(share * rho * (advantage - mean) / (spread + 1e-8) * logp).sum()
        error = target - value
        value_loss = (share * error.square()).sum()
        entropy = part.mean(said.entropy(part.action))
        loss = policy_loss + config.value_coef * value_loss - config.entropy_coef * entropy
        with torch.no_grad():
            kl = part.mean(log_ratio.clamp(max=LARGEST).exp() - 1 - log_ratio)
            clip_share = part.mean((log_ratio.exp() > config.vtrace.rho_bar).float())
            variance = (share * (target - (share * target).sum()).square()).sum()
            explained = torch.where(variance > 0, 1 - value_loss / variance, 0.0)
            numbers = (loss, policy_loss, value_loss, entropy, kl, clip_share, (share * rho).sum(), explained)
            return Measured(loss, torch.stack(numbers))

    def _traces(self, part: Minibatch, told: Told, log_ratio: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Targets, advantages and clipped ratios of whole segments, [n] each."""
        config, T = self._config, told.length
        segments = part.at.view(-1, T)
        traces = vtrace(
            log_ratio.view(-1, T),
            told.reward[segments],
            value.view(-1, T),
            told.next_value[segments[:, 0] // T],
            told.ends[segments],
            told.final_value[segments],
            gamma=config.gamma,
            trace_lambda=config.vtrace.trace_lambda,
            rho_bar=config.vtrace.rho_bar,
            c_bar=config.vtrace.c_bar,
        )
        return traces.target.flatten(), traces.advantage.flatten(), traces.rho.flatten()


class Told(NamedTuple):
    """What the matches said of N decisions in segments of `length`."""

    length: int
    reward: Tensor  # [N]
    ends: Tensor  # [N]
    final_value: Tensor  # [N]
    next_value: Tensor  # [B]
    learned: Tensor  # [N] what came after the decision is in the segment

    @classmethod
    def of(cls, batch: SegmentBatch, data: FlatBatch) -> Told:
        learned = np.ones_like(batch.ends)
        learned[:, -1] = batch.ends[:, -1]
        return cls(
            data.length,
            data.tensor(batch.reward),
            data.tensor(batch.ends),
            data.tensor(batch.final_value),
            data.tensor(batch.next_value),
            data.tensor(learned),
        )


REPORTED = (
    names.LOSS_TOTAL,
    names.LOSS_POLICY,
    names.LOSS_VALUE,
    names.ENTROPY,
    names.KL,
    names.CLIP_SHARE,
    names.RHO,
    names.EXPLAINED_VARIANCE,
    names.GRAD_NORM,  # the optimiser's own, always last
)
