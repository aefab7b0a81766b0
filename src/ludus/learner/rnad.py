"""Regularised Nash dynamics (Perolat et al. 2022), top to bottom: self-play that does not cycle.

The game's rewards are changed: a seat pays eta times the log-ratio of its policy to a regularisation policy, and the
other seat earns it. Self-play converges in the changed game; then its policy becomes the regularisation policy, and so
on, towards an equilibrium of the game itself. Logits are moved by advantages (NeuRD), which come from two-player
V-trace with the values of a net that follows slowly. Segments interleave the seats of a match
(rollout/interleaved.py), so that what the other seat decided in between is judged by the weights that learn, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ludus.config.settings import LearnerConfig
from ludus.errors import CheckpointError, ConfigError
from ludus.learner.batch import FlatBatch, Intake, Minibatch
from ludus.learner.optimiser import Measured, Optimiser
from ludus.learner.reference import Reference
from ludus.learner.regularisation import moment, neurd_loss
from ludus.learner.twoplayer import two_player_vtrace
from ludus.metrics import names
from ludus.policies.distributions import Categorical, Distribution
from ludus.policies.nets import evaluate
from ludus.policies.network import Staging
from ludus.policies.post_processing import post_process
from ludus.spec import GameSpec
from ludus.types import SegmentBatch

SEATS = 2
UPDATES, TRAINED = "rnad.updates", "rnad.trained"


class Rnad:
    """Implements loop.Algorithm."""

    def __init__(
        self, net: nn.Module, spec: GameSpec, config: LearnerConfig, generator: torch.Generator, device: torch.device
    ) -> None:
        refuse_unfit(net, spec)
        self.optimiser = Optimiser(net, config, device)
        self.net, self.weights = self.optimiser.net, self.optimiser.weights
        self.generator = generator
        self.target = Reference("target", self.optimiser)
        self.result = self.target.net
        self.regularisation = Reference("regularisation", self.optimiser)
        self.before = Reference("regularisation_before", self.optimiser)
        self._seats = spec.seats
        self._config = config
        plan = self.optimiser.plan
        self._intake = Intake(self.net, spec, device, config.minibatch, pinned=plan.pinned, autocast=plan.autocast)
        self._updates = 0

    def update(self, batch: SegmentBatch, lr: float) -> Mapping[str, float]:
        """One update. A loss or gradient that is not finite leaves all weights and the optimiser as they were."""
        config, optimiser = self._config, self.optimiser
        optimiser.set_lr(lr)
        now = moment(config.rnad.schedule, self._updates)
        data = self._intake.take(batch)
        finetunes = bool(config.rnad.finetune_from) and self._updates >= config.rnad.finetune_from
        told = InterleavedTensors.of(batch, data, self._regularising(data, now.alpha), finetunes)
        before, target_before = optimiser.remember(), self.target.weights.vector.clone()
        steps: list[Tensor] = []
        for _ in range(config.epochs):
            for minibatch in data.minibatches(self.generator, config.minibatch, whole_segments=True):
                steps.append(optimiser.step([minibatch], self._loss, told))
                self.target.follow(self.weights.vector, config.rnad.target_share)
        seen = torch.stack(steps)
        if not bool(torch.isfinite(seen).all()):
            optimiser.restore(before)
            self.target.follow(target_before)
            return {names.SKIPPED: 1.0, names.NON_FINITE: optimiser.non_finite()}
        if now.swaps:
            self.before.follow(self.regularisation.weights.vector)
            self.regularisation.follow(self.target.weights.vector)
        self._updates += 1
        return {
            **dict(zip(REPORTED, seen.mean(0).tolist(), strict=True)),
            names.LEARNED: float(batch.learns.sum()),
            names.REFERENCE_SWAPS: float(now.swaps),
            names.EPOCHS: float(config.epochs),
            names.LR: lr,
            names.NON_FINITE: optimiser.non_finite(),
        }

    def state(self) -> dict[str, Tensor]:
        trained = {f"{TRAINED}.{name}": part for name, part in self.weights.split(self.weights.vector).items()}
        state = {**self.optimiser.state(), **trained, UPDATES: torch.tensor(self._updates)}
        for reference in (self.target, self.regularisation, self.before):
            state |= reference.state()
        return state

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        if UPDATES not in state:
            raise CheckpointError(f"the checkpoint lacks {UPDATES}: it is of another algorithm than rnad")
        self.optimiser.load_state(state)
        with torch.no_grad():  # the net that a checkpoint has to play with is the target
            for name, part in self.weights.split(self.weights.vector).items():
                part.copy_(state[f"{TRAINED}.{name}"])
        for reference in (self.target, self.regularisation, self.before):
            reference.load_state(state)
        self._updates = int(state[UPDATES])

    def _loss(self, part: Minibatch, told: InterleavedTensors) -> Measured:
        config = self._config
        said, value = part.judged(self.net)
        log_probs = _log_probs(said)
        with torch.no_grad():
            pi = torch.where(part.legal, log_probs.exp(), 0.0)
            log_ratio = torch.where(part.legal, log_probs - told.regularising[part.at], 0.0)
            distance = (pi * log_ratio).sum(1)
            target, gain = self._targets(part, told, pi, log_ratio)
            taken = torch.zeros_like(pi).scatter(1, part.action[:, None], (gain * (-part.logp).exp())[:, None])
            worth = taken - config.rnad.eta * log_ratio  # of each action, up to a number a row
            advantage = worth - (pi * worth).sum(1, keepdim=True)
        neurd = neurd_loss(log_probs, part.legal, advantage, beta=config.rnad.beta, clip=config.rnad.force_clip)
        learns = told.learns[part.at]
        policy_loss = (neurd * learns).mean()
        value_loss = ((value - target).square() * learns).mean()
        loss = policy_loss + config.value_coef * value_loss
        with torch.no_grad():
            moved = said.log_prob(part.action) - part.logp
            kl = ((moved.clamp(max=20.0).exp() - 1 - moved) * learns).mean()
            entropy = (said.entropy(part.action) * learns).mean()
            numbers = (loss, policy_loss, value_loss, entropy, kl, (distance * learns).mean())
            return Measured(loss, torch.stack(numbers))

    def _regularising(self, data: FlatBatch, alpha: float) -> Tensor:
        """[N, A] log-probabilities, once an update. Between two regularisation policies rewards change gradually."""
        weighted = ((self.regularisation, alpha), (self.before, 1 - alpha))
        found = torch.zeros(data.legal.shape, device=data.device)
        with torch.no_grad():
            for part in data.in_order(self._config.minibatch):
                for reference, weight in weighted:
                    if weight:
                        found[part.at] += weight * _log_probs(part.judged(reference.net)[0])
        return found

    def _targets(
        self, part: Minibatch, told: InterleavedTensors, pi: Tensor, log_ratio: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Of the values, and gains over the target net's values, [n] each."""
        settings, shape = self._config.rnad, (-1, told.length)
        if told.finetunes:
            pi = post_process(pi, threshold=settings.threshold, discretisation=settings.discretisation)
        at = part.at.view(shape)
        chosen = pi.gather(1, part.action[:, None]).squeeze(1)
        targets = two_player_vtrace(
            told.seat[at],
            told.opens[at],
            told.ends[at],
            told.reward[at],
            told.final_value[at],
            part.judged(self.target.net)[1].view(shape),
            (chosen * (-part.logp).exp()).view(shape),
            (settings.eta * (pi * log_ratio).sum(1)).view(shape),
            seats=self._seats,
            gamma=self._config.gamma,
            trace_lambda=settings.trace_lambda,
            rho_bar=settings.rho_bar or math.inf,
            c_bar=settings.c_bar,
        )
        return targets.value.flatten(), targets.gain.flatten()


def _log_probs(said: Distribution) -> Tensor:
    """Of every action. `refuse_unfit` asked the net that learns; a net may still say another thing of other rows."""
    if not isinstance(said, Categorical):
        raise TypeError(f"rnad needs the probability of every action, but the net said {type(said).__name__}")
    return said.log_probs


class InterleavedTensors(NamedTuple):
    """What the matches said of N decisions in interleaved segments of `length`."""

    length: int
    seat: Tensor  # [N]
    opens: Tensor  # [N]
    ends: Tensor  # [N]
    reward: Tensor  # [N]
    final_value: Tensor  # [N]
    learns: Tensor  # [N] 0 where nothing is learned, elsewhere such that the mean over the batch is 1
    regularising: Tensor  # [N, A] log-probabilities of the policy that a seat pays for being away from
    finetunes: bool  # policies are post-processed

    @classmethod
    def of(cls, batch: SegmentBatch, data: FlatBatch, regularising: Tensor, finetunes: bool) -> InterleavedTensors:
        learns = batch.learns / np.float32(max(batch.learns.mean(), 1e-6))
        return cls(
            data.length,
            data.tensor(batch.seat),
            data.tensor(batch.opens),
            data.tensor(batch.ends),
            data.tensor(batch.reward),
            data.tensor(batch.final_value),
            data.tensor(learns.astype(np.float32)),
            regularising,
            finetunes,
        )


REPORTED = (
    names.LOSS_TOTAL,
    names.LOSS_POLICY,
    names.LOSS_VALUE,
    names.ENTROPY,
    names.KL,
    names.REFERENCE_KL,
    names.GRAD_NORM,  # the optimiser's own, always last
)


def refuse_unfit(net: nn.Module, spec: GameSpec) -> None:
    """Raises ConfigError for games and nets that R-NaD is not defined for."""
    if spec.seats > SEATS:
        raise ConfigError(f"learner.algorithm: rnad is for two seats, but {spec.name} has {spec.seats}; use ppo")
    obs, legal = np.zeros((1, spec.obs.nbytes), np.uint8), np.ones((1, spec.actions), np.bool_)
    with torch.no_grad():
        said, _ = evaluate(net, *Staging(spec).put(obs, legal))
    if not isinstance(said, Categorical):
        raise ConfigError(
            f"learner.algorithm: rnad needs the probability of every action, but in {spec.name} the net chooses joint "
            "actions slot by slot; use ppo_kl"
        )
