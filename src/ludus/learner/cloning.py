"""Behaviour cloning: the policy learns to choose the recorded actions, the value learns the return that followed.

A value that fits the clone is what fine-tuning with PPO needs from the first update on.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from ludus.learner.batch import FlatBatch, Minibatch
from ludus.learner.optimiser import Measured
from ludus.learner.returns import gae
from ludus.learner.skeleton import Algorithm
from ludus.metrics import names
from ludus.types import SegmentBatch


class CloneTargets(NamedTuple):
    """Values for each of the N decisions of a batch."""

    returns: Tensor  # [N] discounted rewards to the end of the match


def recorded_returns(batch: SegmentBatch, data: FlatBatch, gamma: float) -> Tensor:
    """Return the discounted rewards to the end of the match [N]. Sources of recorded decisions set `next_value` to the
    return of the decision after the segment, and all values to 0, so GAE with lambda 1 is exact."""
    values = batch.value * 0
    _, returns = gae(batch.reward, values, batch.next_value, batch.ends, batch.final_value, gamma=gamma, gae_lambda=1.0)
    return data.tensor(returns)


class BehaviourCloning(Algorithm[CloneTargets]):
    """The algorithm `bc`: the cross-entropy of the recorded actions."""

    reported: ClassVar[tuple[str, ...]] = (
        names.LOSS_TOTAL,
        names.LOSS_POLICY,
        names.LOSS_VALUE,
        names.ENTROPY,
        names.AGREEMENT,
    )
    recorded = True
    played = False  # it would clone itself

    def targets(self, batch: SegmentBatch, data: FlatBatch) -> CloneTargets:
        return CloneTargets(recorded_returns(batch, data, self.config.gamma))

    def loss(self, micro_batch: Minibatch, targets: CloneTargets) -> Measured:
        dist, value = micro_batch.outputs(self.net)
        policy_loss = -micro_batch.mean(dist.log_prob(micro_batch.action))
        value_loss = micro_batch.mean(value.loss(targets.returns[micro_batch.at]))
        entropy = micro_batch.mean(dist.entropy(micro_batch.action))
        loss = policy_loss + self.config.value_coef * value_loss - self.config.bc.entropy_coef * entropy
        with torch.no_grad():
            agreement = micro_batch.mean((dist.best() == micro_batch.action).float())
            return Measured(loss, torch.stack((loss, policy_loss, value_loss, entropy, agreement)))
