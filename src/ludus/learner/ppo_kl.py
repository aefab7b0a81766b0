"""PPO that is held near a policy: the loss has a term for the divergence from it.

The reference is a past self, renewed every so many updates; with a portfolio of several, the one that is nearest on the
batch at hand. Plain self-play runs in circles where no strategy is best against all; here a step away from where the
policy was costs something, so that the circles shrink. What is left of them averages out in a net that follows slowly,
where the run is to result in one.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from ludus.config.settings import LearnerConfig
from ludus.errors import CheckpointError
from ludus.learner.batch import FlatBatch, Minibatch
from ludus.learner.optimiser import Measured
from ludus.learner.ppo import Ppo, Targets
from ludus.learner.reference import Reference
from ludus.metrics import names
from ludus.spec import GameSpec
from ludus.types import SegmentBatch

UPDATES, KEPT, TRAINED = "ppo_kl.updates", "ppo_kl.portfolio", "ppo_kl.trained"


class PpoKl(Ppo):
    """The portfolio begins with the policy that the run began with; when it is full the oldest makes room."""

    REPORTED = (*Ppo.REPORTED[:-1], names.REFERENCE_KL, names.GRAD_NORM)

    def __init__(
        self, net: nn.Module, spec: GameSpec, config: LearnerConfig, generator: torch.Generator, device: torch.device
    ) -> None:
        super().__init__(net, spec, config, generator, device)
        self.portfolio = [Reference("reference.0", self.optimiser)]  # the oldest first
        self._near = self.portfolio[0]
        self._follower = Reference("result", self.optimiser) if config.ppo_kl.result_share < 1 else None
        if self._follower is not None:
            self.result = self._follower.net
        self._updates = 0

    def update(self, batch: SegmentBatch, lr: float) -> Mapping[str, float]:
        numbers = super().update(batch, lr)
        if names.SKIPPED in numbers:
            return numbers
        self._updates += 1
        if self._follower is not None:
            self._follower.follow(self.weights.vector, self._config.ppo_kl.result_share)
        joins = self._updates % self._config.ppo_kl.refresh == 0
        if joins:
            self._join()
        return {**numbers, names.REFERENCE_SWAPS: float(joins)}

    def state(self) -> dict[str, Tensor]:
        state = {**super().state(), UPDATES: torch.tensor(self._updates), KEPT: torch.tensor(len(self.portfolio))}
        for reference in self.portfolio:
            state |= reference.state()
        if self._follower is not None:
            trained = self.weights.split(self.weights.vector)
            state |= self._follower.state() | {f"{TRAINED}.{name}": part for name, part in trained.items()}
        return state

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        if UPDATES not in state:
            raise CheckpointError(f"the checkpoint lacks {UPDATES}: it is of another algorithm than ppo_kl")
        super().load_state(state)
        self._updates = int(state[UPDATES])
        kept = int(state[KEPT])
        if kept > len(state):
            raise CheckpointError(f"the checkpoint names {kept:,} references and has {len(state)} tensors")
        while len(self.portfolio) < kept:
            self.portfolio.append(Reference(f"reference.{len(self.portfolio)}", self.optimiser))
        for reference in self.portfolio:
            reference.load_state(state)
        if self._follower is not None:
            self._follower.load_state(state)
            with torch.no_grad():  # the net that a checkpoint has to play with is the one that follows
                for name, part in self.weights.split(self.weights.vector).items():
                    part.copy_(state[f"{TRAINED}.{name}"])

    def _join(self) -> None:
        if len(self.portfolio) < self._config.ppo_kl.portfolio:
            self.portfolio.append(Reference(f"reference.{len(self.portfolio)}", self.optimiser))
            return
        for older, newer in zip(self.portfolio, self.portfolio[1:], strict=False):
            older.follow(newer.weights.vector)
        self.portfolio[-1].follow(self.weights.vector)

    def _begin(self, data: FlatBatch) -> None:
        """Choose the nearest for this update."""
        if len(self.portfolio) == 1:
            self._near = self.portfolio[0]
            return
        with torch.no_grad():
            away = torch.zeros(len(self.portfolio), device=data.device)
            for part in data.in_order(self._config.minibatch):
                said, _ = part.judged(self.net)
                for index, reference in enumerate(self.portfolio):
                    away[index] += said.kl(part.judged(reference.net)[0], part.action).sum()
        self._near = self.portfolio[int(away.argmin())]

    def _loss(self, part: Minibatch, targets: Targets) -> Measured:
        said, value = part.judged(self.net)
        surrogate, numbers = self._measured(part, targets, said, value)
        with torch.no_grad():
            near, _ = part.judged(self._near.net)
        kl = part.mean(said.kl(near, part.action))
        loss = surrogate + self._config.ppo_kl.coef * kl
        return Measured(loss, torch.cat((loss.detach()[None], numbers[1:], kl.detach()[None])))
