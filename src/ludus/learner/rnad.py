"""Regularised Nash dynamics (R-NaD, Perolat et al. 2022): self-play that does not cycle.

The game's rewards are changed: a seat pays eta times the log-ratio of its policy to a regularisation policy, and the
other seat earns it. Self-play converges in the changed game. The resulting policy becomes the next regularisation
policy, and so on; these policies approach an equilibrium of the original game. Logits are moved by advantages (NeuRD).
The advantages come from two-player V-trace with the values of a target net. Segments interleave the seats of a match
(rollout/interleaved.py), so that the decisions of the other seat are evaluated with the current weights, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ludus.config.settings import LearnerConfig
from ludus.errors import CheckpointError, ConfigError
from ludus.learner.batch import FlatBatch, Minibatch
from ludus.learner.optimiser import Measured
from ludus.learner.reference import Reference
from ludus.learner.regularisation import moment, neurd_loss
from ludus.learner.skeleton import Algorithm
from ludus.learner.twoplayer import two_player_vtrace
from ludus.metrics import names
from ludus.policies.distributions import Categorical, Distribution
from ludus.policies.nets.net import Net
from ludus.policies.post_processing import post_process
from ludus.policies.staging import Staging
from ludus.spec import GameSpec
from ludus.types import SegmentBatch

SEATS = 2
UPDATES, TRAINED = "rnad.updates", "rnad.trained"  # names in checkpoints
LARGEST_LOG_RATIO = 20.0  # limit in the KL estimate, so that one rare decision does not dominate the mean


class InterleavedTensors(NamedTuple):
    """Values for each of the N decisions of interleaved segments of `length`."""

    length: int
    seat: Tensor  # [N]
    opens: Tensor  # [N]
    ends: Tensor  # [N]
    reward: Tensor  # [N]
    final_value: Tensor  # [N]
    weight: Tensor  # [N] 0 for decisions that are not trained on; the mean over the batch is 1
    regularising: Tensor  # [N, A] log-probabilities of the regularisation policy
    finetunes: bool  # True if the fine-tuning phase has begun: policies are post-processed


class Rnad(Algorithm[InterleavedTensors]):
    """The algorithm `rnad`. `result` is the target net: a Polyak average of the trained net."""

    reported = (
        names.LOSS_TOTAL,
        names.LOSS_POLICY,
        names.LOSS_VALUE,
        names.ENTROPY,
        names.KL,
        names.REFERENCE_KL,
    )
    recurrent = False
    interleaved = True
    whole_segments = True
    min_segment = 4

    def __init__(
        self, net: Net, spec: GameSpec, config: LearnerConfig, generator: torch.Generator, device: torch.device
    ) -> None:
        refuse_unfit(net, spec)
        super().__init__(net, spec, config, generator, device)
        self.target = Reference("target", self.optimiser)
        self.followers = (self.target,)
        self.result = self.target.net
        self.regularisation = Reference("regularisation", self.optimiser)
        self.before = Reference("regularisation_before", self.optimiser)
        self._seats = spec.seats
        self._updates = 0

    def targets(self, batch: SegmentBatch, data: FlatBatch) -> InterleavedTensors:
        settings = self.config.rnad
        finetunes = bool(settings.finetune_from) and self._updates >= settings.finetune_from
        weight = batch.learns / np.float32(max(batch.learns.mean(), 1e-6))
        return InterleavedTensors(
            data.length,
            data.tensor(batch.seat),
            data.tensor(batch.opens),
            data.tensor(batch.ends),
            data.tensor(batch.reward),
            data.tensor(batch.final_value),
            data.tensor(weight.astype(np.float32)),
            self._regularising(data, moment(settings.schedule, self._updates).alpha),
            finetunes,
        )

    def step(self, minibatch: Minibatch, targets: InterleavedTensors) -> Tensor:
        numbers = super().step(minibatch, targets)
        self.target.follow(self.weights.vector, self.config.rnad.target_share)
        return numbers

    def loss(self, micro_batch: Minibatch, targets: InterleavedTensors) -> Measured:
        config = self.config
        dist, value = micro_batch.outputs(self.net)
        log_probs = _log_probs(dist)
        with torch.no_grad():
            pi = torch.where(micro_batch.legal, log_probs.exp(), 0.0)
            log_ratio = torch.where(micro_batch.legal, log_probs - targets.regularising[micro_batch.at], 0.0)
            distance = (pi * log_ratio).sum(1)
            value_target, gain = self._traces(micro_batch, targets, pi, log_ratio)
            correction = torch.zeros_like(pi).scatter(
                1, micro_batch.action[:, None], (gain * (-micro_batch.logp).exp())[:, None]
            )
            action_value = correction - config.rnad.eta * log_ratio  # up to a constant per row
            advantage = action_value - (pi * action_value).sum(1, keepdim=True)
        neurd = neurd_loss(log_probs, micro_batch.legal, advantage, beta=config.rnad.beta, clip=config.rnad.force_clip)
        weight = targets.weight[micro_batch.at]
        policy_loss = (neurd * weight).mean()
        value_loss = (value.loss(value_target) * weight).mean()
        loss = policy_loss + config.value_coef * value_loss
        with torch.no_grad():
            moved = dist.log_prob(micro_batch.action) - micro_batch.logp
            kl = ((moved.clamp(max=LARGEST_LOG_RATIO).exp() - 1 - moved) * weight).mean()
            entropy = (dist.entropy(micro_batch.action) * weight).mean()
            numbers = (loss, policy_loss, value_loss, entropy, kl, (distance * weight).mean())
            return Measured(loss, torch.stack(numbers))

    def finish(self, batch: SegmentBatch, targets: InterleavedTensors) -> Mapping[str, float]:
        swaps = moment(self.config.rnad.schedule, self._updates).swaps
        if swaps:
            self.before.follow(self.regularisation.weights.vector)
            self.regularisation.follow(self.target.weights.vector)
        self._updates += 1
        return {names.LEARNED: float(batch.learns.sum()), names.REFERENCE_SWAPS: float(swaps)}

    def state(self) -> dict[str, Tensor]:
        state = {**super().state(), **self.trained_state(TRAINED), UPDATES: torch.tensor(self._updates)}
        for reference in (self.target, self.regularisation, self.before):
            state |= reference.state()
        return state

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        if UPDATES not in state:
            raise CheckpointError(f"the checkpoint lacks {UPDATES}: it was saved by another algorithm than rnad")
        super().load_state(state)
        self.load_trained(TRAINED, state)
        for reference in (self.target, self.regularisation, self.before):
            reference.load_state(state)
        self._updates = int(state[UPDATES])

    def _regularising(self, data: FlatBatch, alpha: float) -> Tensor:
        """Return the log-probabilities [N, A] of the regularisation policy.

        It is a mixture of the last two regularisation policies, so that rewards change gradually after a swap.
        """
        weighted = ((self.regularisation, alpha), (self.before, 1 - alpha))
        log_probs = torch.zeros(data.legal.shape, device=data.device)
        with torch.no_grad():
            for minibatch in data.in_order(self.config.minibatch):
                for reference, weight in weighted:
                    if weight:
                        log_probs[minibatch.at] += weight * _log_probs(minibatch.outputs(reference.net)[0])
        return log_probs

    def _traces(
        self, micro_batch: Minibatch, targets: InterleavedTensors, pi: Tensor, log_ratio: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return value targets, and gains over the target net's values, [n] each."""
        settings, shape = self.config.rnad, (-1, targets.length)
        if targets.finetunes:
            pi = post_process(pi, threshold=settings.threshold, discretisation=settings.discretisation)
        at = micro_batch.at.view(shape)
        action_prob = pi.gather(1, micro_batch.action[:, None]).squeeze(1)
        traces = two_player_vtrace(
            targets.seat[at],
            targets.opens[at],
            targets.ends[at],
            targets.reward[at],
            targets.final_value[at],
            micro_batch.outputs(self.target.net)[1].expected.view(shape),
            (action_prob * (-micro_batch.logp).exp()).view(shape),
            (settings.eta * (pi * log_ratio).sum(1)).view(shape),
            seats=self._seats,
            gamma=self.config.gamma,
            trace_lambda=settings.trace_lambda,
            rho_bar=settings.rho_bar or math.inf,
            c_bar=settings.c_bar,
        )
        return traces.value.flatten(), traces.gain.flatten()


def _log_probs(dist: Distribution) -> Tensor:
    """Return the log-probability of every action. `refuse_unfit` has checked that the net outputs them."""
    if not isinstance(dist, Categorical):
        raise TypeError(f"rnad needs the probability of every action, but the net returned {type(dist).__name__}")
    return dist.log_probs


def refuse_unfit(net: Net, spec: GameSpec) -> None:
    """Raise ConfigError for games and nets that R-NaD is not defined for."""
    if spec.seats > SEATS:
        raise ConfigError(f"learner.algorithm: rnad is for two seats, but {spec.name} has {spec.seats}; use ppo")
    obs, legal = np.zeros((1, spec.obs.nbytes), np.uint8), np.ones((1, spec.actions), np.bool_)
    with torch.no_grad():
        dist, _ = net(*Staging(spec).put(obs, legal))
    if not isinstance(dist, Categorical):
        raise ConfigError(
            f"learner.algorithm: rnad needs the probability of every action, but in {spec.name} the net chooses joint "
            "actions slot by slot; use ppo_kl"
        )
