"""Proximal policy optimisation (Schulman et al. 2017).

The objective is clipped, the value loss is not, and advantages are normalised once per update over
the whole batch. Ratios are taken against the policy that made the decision, so that clipping also corrects a small lag.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludus.learner.batch import FlatBatch, Minibatch
from ludus.learner.optimiser import Measured
from ludus.learner.returns import gae
from ludus.learner.skeleton import Algorithm
from ludus.metrics import names
from ludus.policies.distributions import Distribution
from ludus.policies.nets.values import Values
from ludus.types import SegmentBatch


class PpoTargets(NamedTuple):
    """Values for each of the N decisions of a batch."""

    advantage: Tensor  # [N] normalised
    returns: Tensor  # [N]


class Ppo(Algorithm[PpoTargets]):
    """PPO with generalised advantage estimation."""

    reported: ClassVar[tuple[str, ...]] = (
        names.LOSS_TOTAL,
        names.LOSS_POLICY,
        names.LOSS_VALUE,
        names.ENTROPY,
        names.KL,
        names.CLIP_SHARE,
    )

    def targets(self, batch: SegmentBatch, data: FlatBatch) -> PpoTargets:
        config = self.config
        with np.errstate(invalid="ignore", over="ignore"):  # a loss that is not finite is detected after the steps
            advantage, returns = gae(
                batch.reward,
                batch.value,
                batch.next_value,
                batch.ends,
                batch.final_value,
                gamma=config.gamma,
                gae_lambda=config.ppo.gae_lambda,
            )
            normalised = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        return PpoTargets(data.tensor(normalised), data.tensor(returns))

    def loss(self, micro_batch: Minibatch, targets: PpoTargets) -> Measured:
        return self.clipped_loss(micro_batch, targets, *micro_batch.outputs(self.net))

    def clipped_loss(self, micro_batch: Minibatch, targets: PpoTargets, dist: Distribution, value: Values) -> Measured:
        """Return PPO's loss for these outputs of the net, and the numbers to report."""
        config = self.config
        advantage = targets.advantage[micro_batch.at]
        log_ratio = dist.log_prob(micro_batch.action) - micro_batch.logp
        ratio = log_ratio.exp()

        clip = config.ppo.clip
        clipped = ratio.clamp(1 - clip, 1 + clip)
        policy_loss = -micro_batch.mean(torch.min(ratio * advantage, clipped * advantage))
        value_loss = micro_batch.mean(value.loss(targets.returns[micro_batch.at]))
        entropy = micro_batch.mean(dist.entropy(micro_batch.action))
        loss = policy_loss + config.value_coef * value_loss - config.entropy_coef * entropy
        with torch.no_grad():
            kl = micro_batch.mean(ratio - 1 - log_ratio)  # never negative, low variance (Schulman, "Approximating KL")
            clip_share = micro_batch.mean(((ratio - 1).abs() > clip).float())
            return Measured(loss, torch.stack((loss, policy_loss, value_loss, entropy, kl, clip_share)))

    def stops(self, numbers: Tensor) -> bool:
        if not bool(torch.isfinite(numbers).all()):
            return True
        target_kl = self.config.ppo.target_kl
        return bool(target_kl) and float(numbers[:, self.reported.index(names.KL)].mean()) > target_kl

    def finish(self, batch: SegmentBatch, targets: PpoTargets) -> Mapping[str, float]:
        returns: NDArray[np.float32] = targets.returns.cpu().numpy()
        variance = float(returns.var())
        error = float((returns - batch.value.reshape(-1)).var())
        return {names.EXPLAINED_VARIANCE: 1 - error / variance if variance > 0 else 0.0}
