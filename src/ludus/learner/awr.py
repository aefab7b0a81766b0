"""Advantage-weighted regression (Peng et al. 2019): cloning in which better decisions count more.

The weight of a decision is exp(advantage / beta), at most `max_weight`. Its advantage is the return that followed minus
the value of the state, divided by the standard deviation of the batch. Returns are those of whole matches.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from ludus.learner.batch import FlatBatch, Minibatch
from ludus.learner.cloning import recorded_returns
from ludus.learner.optimiser import Measured
from ludus.learner.skeleton import Algorithm
from ludus.metrics import names
from ludus.types import SegmentBatch


class AwrTargets(NamedTuple):
    """Values for each of the N decisions of a batch."""

    returns: Tensor  # [N] discounted rewards to the end of the match
    weight: Tensor  # [N] of the recorded action, with mean 1


class AdvantageWeightedRegression(Algorithm[AwrTargets]):
    """The algorithm `awr`."""

    reported: ClassVar[tuple[str, ...]] = (
        names.LOSS_TOTAL,
        names.LOSS_POLICY,
        names.LOSS_VALUE,
        names.ENTROPY,
        names.AGREEMENT,
    )
    recorded = True

    def targets(self, batch: SegmentBatch, data: FlatBatch) -> AwrTargets:
        config = self.config.awr
        returns = recorded_returns(batch, data, self.config.gamma)
        with torch.no_grad():
            minibatches = data.in_order(max(self.config.minibatch, data.length))
            values = [minibatch.outputs(self.net)[1].expected for minibatch in minibatches]
            advantage = returns - torch.cat(values)
            advantage = advantage / (advantage.std() + 1e-8)
            weight = (advantage / config.beta).exp().clamp(max=config.max_weight)
        return AwrTargets(returns, weight / weight.mean())

    def loss(self, micro_batch: Minibatch, targets: AwrTargets) -> Measured:
        dist, value = micro_batch.outputs(self.net)
        weight = targets.weight[micro_batch.at]
        policy_loss = -micro_batch.mean(weight * dist.log_prob(micro_batch.action))
        value_loss = micro_batch.mean(value.loss(targets.returns[micro_batch.at]))
        entropy = micro_batch.mean(dist.entropy(micro_batch.action))
        loss = policy_loss + self.config.value_coef * value_loss - self.config.awr.entropy_coef * entropy
        with torch.no_grad():
            agreement = micro_batch.mean((dist.best() == micro_batch.action).float())
            return Measured(loss, torch.stack((loss, policy_loss, value_loss, entropy, agreement)))
