"""PPO with a KL penalty: the loss has a term for the divergence of the policy from a reference policy.

The reference is a past self, replaced every `refresh` updates. With a portfolio of several, each update uses the one
that is closest on its batch. Plain self-play cycles in games without a best pure strategy; the penalty makes each step
away from the previous policy costly, so that the cycles shrink. With `result_share` below 1, the net that is saved is a
Polyak average of the trained net, which averages out the remaining cycles.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ludus.config.settings import LearnerConfig
from ludus.errors import CheckpointError
from ludus.learner.batch import FlatBatch, Minibatch
from ludus.learner.optimiser import Measured
from ludus.learner.ppo import Ppo, PpoTargets
from ludus.learner.reference import Reference
from ludus.metrics import names
from ludus.policies.nets.net import Net
from ludus.spec import GameSpec
from ludus.types import SegmentBatch

UPDATES, REFERENCES, TRAINED = "ppo_kl.updates", "ppo_kl.portfolio", "ppo_kl.trained"  # names in checkpoints


class PpoKl(Ppo):
    """The algorithm `ppo_kl`.

    The first reference is the initial policy. When the portfolio is full, a new reference replaces the oldest.
    """

    reported = (*Ppo.reported, names.REFERENCE_KL)

    def __init__(
        self, net: Net, spec: GameSpec, config: LearnerConfig, generator: torch.Generator, device: torch.device
    ) -> None:
        super().__init__(net, spec, config, generator, device)
        self.portfolio = [Reference("reference.0", self.optimiser)]  # the oldest first
        self._closest = Reference("closest", self.optimiser)  # a copy: captured graphs read its weights by address
        self._average = Reference("result", self.optimiser) if config.ppo_kl.result_share < 1 else None
        if self._average is not None:
            self.result = self._average.net
        self._updates = 0

    def targets(self, batch: SegmentBatch, data: FlatBatch) -> PpoTargets:
        self._closest.follow(self._find_closest(data).weights.vector)
        return super().targets(batch, data)

    def loss(self, micro_batch: Minibatch, targets: PpoTargets) -> Measured:
        dist, value = micro_batch.outputs(self.net)
        ppo_loss, numbers = self.clipped_loss(micro_batch, targets, dist, value)
        with torch.no_grad():
            reference_dist, _ = micro_batch.outputs(self._closest.net)
        kl = micro_batch.mean(dist.kl(reference_dist, micro_batch.action))
        loss = ppo_loss + self.config.ppo_kl.coef * kl
        return Measured(loss, torch.cat((loss.detach()[None], numbers[1:], kl.detach()[None])))

    def finish(self, batch: SegmentBatch, targets: PpoTargets) -> Mapping[str, float]:
        self._updates += 1
        if self._average is not None:
            self._average.follow(self.weights.vector, self.config.ppo_kl.result_share)
        refreshes = self._updates % self.config.ppo_kl.refresh == 0
        if refreshes:
            self._add_reference()
        return {**super().finish(batch, targets), names.REFERENCE_SWAPS: float(refreshes)}

    def state(self) -> dict[str, Tensor]:
        state = {**super().state(), UPDATES: torch.tensor(self._updates), REFERENCES: torch.tensor(len(self.portfolio))}
        for reference in self.portfolio:
            state |= reference.state()
        if self._average is not None:
            state |= self._average.state() | self.trained_state(TRAINED)
        return state

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        if UPDATES not in state:
            raise CheckpointError(f"the checkpoint lacks {UPDATES}: it was saved by another algorithm than ppo_kl")
        super().load_state(state)
        self._updates = int(state[UPDATES])
        references = int(state[REFERENCES])
        if references > len(state):
            raise CheckpointError(f"the checkpoint names {references:,} references and has {len(state)} tensors")
        while len(self.portfolio) < references:
            self.portfolio.append(Reference(f"reference.{len(self.portfolio)}", self.optimiser))
        for reference in self.portfolio:
            reference.load_state(state)
        if self._average is not None:
            self._average.load_state(state)
            self.load_trained(TRAINED, state)

    def _find_closest(self, data: FlatBatch) -> Reference:
        """Return the reference with the smallest KL divergence from the policy on this batch."""
        if len(self.portfolio) == 1:
            return self.portfolio[0]
        with torch.no_grad():
            divergence = torch.zeros(len(self.portfolio), device=data.device)
            for minibatch in data.in_order(self.config.minibatch):
                dist, _ = minibatch.outputs(self.net)
                for index, reference in enumerate(self.portfolio):
                    divergence[index] += dist.kl(minibatch.outputs(reference.net)[0], minibatch.action).sum()
        return self.portfolio[int(divergence.argmin())]

    def _add_reference(self) -> None:
        if len(self.portfolio) < self.config.ppo_kl.portfolio:
            self.portfolio.append(Reference(f"reference.{len(self.portfolio)}", self.optimiser))
            return
        for older, newer in zip(self.portfolio, self.portfolio[1:], strict=False):
            older.follow(newer.weights.vector)
        self.portfolio[-1].follow(self.weights.vector)
