"""Actor-critic with V-trace (Espeholt et al. 2018), for off-policy segments.

In every minibatch, the values and probabilities of whole segments are recomputed with the current weights. The targets
are computed from them, so they fit the current policy, however old a segment is. If a match continues beyond a segment,
the last decision of the segment is not trained on: the value of the state after it is known only from old weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ludus.learner.batch import FlatBatch, Minibatch
from ludus.learner.optimiser import Measured
from ludus.learner.skeleton import Algorithm
from ludus.learner.vtrace import vtrace
from ludus.metrics import names
from ludus.types import SegmentBatch

LARGEST_LOG_RATIO = 20.0  # limit in the KL estimate, so that one rare decision does not dominate the mean


class SegmentTensors(NamedTuple):
    """Rewards and endings of N decisions in B segments of `length`."""

    length: int
    reward: Tensor  # [N]
    ends: Tensor  # [N]
    final_value: Tensor  # [N]
    next_value: Tensor  # [B]
    followed: Tensor  # [N] True if the outcome of the decision is in its segment

    def trained_on(self, micro_batch: Minibatch) -> Tensor:
        """Return which decisions of a minibatch are trained on [n]."""
        followed = self.followed[micro_batch.at]
        return followed if micro_batch.counts is None else followed & micro_batch.counts


class ActorCritic(Algorithm[SegmentTensors]):
    """The algorithm `vtrace`: actor-critic with V-trace targets, which can train on replayed segments."""

    reported = (
        names.LOSS_TOTAL,
        names.LOSS_POLICY,
        names.LOSS_VALUE,
        names.ENTROPY,
        names.KL,
        names.CLIP_SHARE,
        names.RHO,
        names.EXPLAINED_VARIANCE,
    )
    whole_segments = True
    replay = True
    min_segment = 2

    def targets(self, batch: SegmentBatch, data: FlatBatch) -> SegmentTensors:
        followed = np.ones_like(batch.ends)
        followed[:, -1] = batch.ends[:, -1]
        return SegmentTensors(
            data.length,
            data.tensor(batch.reward),
            data.tensor(batch.ends),
            data.tensor(batch.final_value),
            data.tensor(batch.next_value),
            data.tensor(followed),
        )

    def step(self, minibatch: Minibatch, targets: SegmentTensors) -> Tensor:
        return self.optimiser.step([minibatch], self.loss, targets, self._moments(minibatch, targets))

    def loss(self, micro_batch: Minibatch, targets: SegmentTensors, moments: Tensor | None = None) -> Measured:
        """Return the loss and the numbers to report.

        `moments` are the mean and standard deviation [2] of the advantages of the whole minibatch. If they are None,
        the micro-batch is the whole minibatch, and they are computed here.
        """
        config = self.config
        dist, value = micro_batch.outputs(self.net)
        logp = dist.log_prob(micro_batch.action)
        log_ratio = (logp - micro_batch.logp).detach()
        trained = targets.trained_on(micro_batch)
        target, advantage, rho = self._traces(
            micro_batch, targets, torch.where(trained, log_ratio, -torch.inf), value.expected.detach()
        )
        mean, deviation = _moments(advantage, trained) if moments is None else moments

        gain = rho * (advantage - mean) / (deviation + 1e-8) * logp
        policy_loss = -micro_batch.mean(torch.where(trained, gain, 0.0))
        value_loss = micro_batch.mean(torch.where(trained, value.loss(target), 0.0))
        entropy = micro_batch.mean(dist.entropy(micro_batch.action))
        loss = policy_loss + config.value_coef * value_loss - config.entropy_coef * entropy
        with torch.no_grad():
            kl = micro_batch.mean(log_ratio.clamp(max=LARGEST_LOG_RATIO).exp() - 1 - log_ratio)
            clip_share = micro_batch.mean((log_ratio.exp() > config.vtrace.rho_bar).float())
            mean_rho = micro_batch.mean(log_ratio.exp().clamp(max=config.vtrace.rho_bar))
            numbers = (loss, policy_loss, value_loss, entropy, kl, clip_share, mean_rho)
            return Measured(loss, torch.stack((*numbers, _explained(target, value.expected, trained))))

    def _moments(self, minibatch: Minibatch, targets: SegmentTensors) -> Tensor | None:
        """Return the mean and standard deviation [2] of the advantages of a minibatch, from an extra forward pass.

        Returns None without gradient accumulation: `loss` then computes them.
        """
        if self.optimiser.plan.accumulate == 1:
            return None
        advantages, trained = [], []
        with torch.no_grad():
            for micro_batch in minibatch.split(self.optimiser.plan.accumulate):
                dist, value = micro_batch.outputs(self.net)
                trained.append(targets.trained_on(micro_batch))
                log_ratio = torch.where(trained[-1], dist.log_prob(micro_batch.action) - micro_batch.logp, -torch.inf)
                advantages.append(self._traces(micro_batch, targets, log_ratio, value.expected)[1])
            return _moments(torch.cat(advantages), torch.cat(trained))

    def _traces(
        self, micro_batch: Minibatch, targets: SegmentTensors, log_ratio: Tensor, value: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return value targets, advantages and clipped ratios of whole segments, [n] each."""
        config, T = self.config, targets.length
        segments = micro_batch.at.view(-1, T)
        traces = vtrace(
            log_ratio.view(-1, T),
            targets.reward[segments],
            value.view(-1, T),
            targets.next_value[segments[:, 0] // T],
            targets.ends[segments],
            targets.final_value[segments],
            gamma=config.gamma,
            trace_lambda=config.vtrace.trace_lambda,
            rho_bar=config.vtrace.rho_bar,
            c_bar=config.vtrace.c_bar,
        )
        return traces.target.flatten(), traces.advantage.flatten(), traces.rho.flatten()


def _moments(advantage: Tensor, trained: Tensor) -> Tensor:
    """Return mean and standard deviation [2] over the decisions that are trained on."""
    share = trained / trained.sum().clamp(min=1)
    mean = (share * advantage).sum()
    return torch.stack((mean, (share * (advantage - mean).square()).sum().sqrt()))


def _explained(target: Tensor, value: Tensor, trained: Tensor) -> Tensor:
    """Return the explained variance of the values, over the decisions that are trained on."""
    share = trained / trained.sum().clamp(min=1)
    variance = (share * (target - (share * target).sum()).square()).sum()
    return torch.where(variance > 0, 1 - (share * (target - value).square()).sum() / variance, 0.0)
