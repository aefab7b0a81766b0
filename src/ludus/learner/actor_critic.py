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

from ludus.config.settings import LearnerConfig
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
        self.result = self.net
        self.generator = generator
        self._config = config
        plan = self.optimiser.plan
        self._intake = Intake(self.net, spec, device, config.minibatch, pinned=plan.pinned, autocast=plan.autocast)

    def update(self, batch: SegmentBatch, lr: float) -> Mapping[str, float]:
        """One update. A loss or gradient that is not finite leaves weights and optimiser as they were: {SKIPPED: 1}."""
        config, optimiser = self._config, self.optimiser
        optimiser.set_lr(lr)
        data = self._intake.take(batch)
        told = SegmentTensors.of(batch, data)
        before = optimiser.remember()
        steps: list[Tensor] = []
        for _ in range(config.epochs):
            steps += [
                optimiser.step([minibatch], self._loss, told, self._spread(minibatch, told))
                for minibatch in data.minibatches(self.generator, config.minibatch, whole_segments=True)
            ]
        seen = torch.stack(steps)
        if not bool(torch.isfinite(seen).all()):
            optimiser.restore(before)
            return {names.SKIPPED: 1.0, names.NON_FINITE: optimiser.non_finite()}
        return {
            **dict(zip(REPORTED, seen.mean(0).tolist(), strict=True)),
            names.EPOCHS: float(config.epochs),
            names.LR: lr,
            **({names.BURNED_IN: data.burned_in} if data.burned_in else {}),
            names.NON_FINITE: optimiser.non_finite(),
        }

    def state(self) -> dict[str, Tensor]:
        return self.optimiser.state()

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        self.optimiser.load_state(state)

    def _loss(self, part: Minibatch, told: SegmentTensors, spread: Tensor | None) -> Measured:
        """`spread`: mean and deviation of the advantages of the whole minibatch, where this is only a part of it."""
        config = self._config
        said, value = part.judged(self.net)
        logp = said.log_prob(part.action)
        log_ratio = (logp - part.logp).detach()
        learned = told.learned_of(part)
        target, advantage, rho = self._traces(part, told, torch.where(learned, log_ratio, -torch.inf), value.detach())
        mean, deviation = _spread(advantage, learned) if spread is None else spread

        gain = rho * (advantage - mean) / (deviation + 1e-8) * logp
        policy_loss = -part.mean(torch.where(learned, gain, 0.0))
        value_loss = part.mean(torch.where(learned, (target - value).square(), 0.0))
        entropy = part.mean(said.entropy(part.action))
        loss = policy_loss + config.value_coef * value_loss - config.entropy_coef * entropy
        with torch.no_grad():
            kl = part.mean(log_ratio.clamp(max=LARGEST).exp() - 1 - log_ratio)
            clip_share = part.mean((log_ratio.exp() > config.vtrace.rho_bar).float())
            counted = part.mean(log_ratio.exp().clamp(max=config.vtrace.rho_bar))
            numbers = (loss, policy_loss, value_loss, entropy, kl, clip_share, counted)
            return Measured(loss, torch.stack((*numbers, _explained(target, value, learned))))

    def _spread(self, minibatch: Minibatch, told: SegmentTensors) -> Tensor | None:
        """Mean and deviation of its advantages [2], judged beforehand where it is learned from in parts; else None."""
        if self.optimiser.plan.accumulate == 1:
            return None
        advantages, learned = [], []
        with torch.no_grad():
            for part in minibatch.split(self.optimiser.plan.accumulate):
                said, value = part.judged(self.net)
                learned.append(told.learned_of(part))
                log_ratio = torch.where(learned[-1], said.log_prob(part.action) - part.logp, -torch.inf)
                advantages.append(self._traces(part, told, log_ratio, value)[1])
            return _spread(torch.cat(advantages), torch.cat(learned))

    def _traces(
        self, part: Minibatch, told: SegmentTensors, log_ratio: Tensor, value: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
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


class SegmentTensors(NamedTuple):
    """What the matches said of N decisions in segments of `length`."""

    length: int
    reward: Tensor  # [N]
    ends: Tensor  # [N]
    final_value: Tensor  # [N]
    next_value: Tensor  # [B]
    followed: Tensor  # [N] what came after the decision is in the segment

    def learned_of(self, part: Minibatch) -> Tensor:
        """Which of its decisions are learned from [n]."""
        followed = self.followed[part.at]
        return followed if part.counts is None else followed & part.counts

    @classmethod
    def of(cls, batch: SegmentBatch, data: FlatBatch) -> SegmentTensors:
        followed = np.ones_like(batch.ends)
        followed[:, -1] = batch.ends[:, -1]
        return cls(
            data.length,
            data.tensor(batch.reward),
            data.tensor(batch.ends),
            data.tensor(batch.final_value),
            data.tensor(batch.next_value),
            data.tensor(followed),
        )


def _spread(advantage: Tensor, learned: Tensor) -> Tensor:
    """Mean and deviation [2] over what is learned from."""
    share = learned / learned.sum().clamp(min=1)
    mean = (share * advantage).sum()
    return torch.stack((mean, (share * (advantage - mean).square()).sum().sqrt()))


def _explained(target: Tensor, value: Tensor, learned: Tensor) -> Tensor:
    share = learned / learned.sum().clamp(min=1)
    variance = (share * (target - (share * target).sum()).square()).sum()
    return torch.where(variance > 0, 1 - (share * (target - value).square()).sum() / variance, 0.0)


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
