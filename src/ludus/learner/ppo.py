"""Proximal policy optimisation (Schulman et al. 2017), top to bottom.

The surrogate is clipped, the value loss is a plain squared error, advantages are normalised once an update over the
whole batch, and the ratio is taken against the policy that chose, so that clipping corrects a batch with some lag too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ludus.config.schema import LearnerConfig
from ludus.learner.returns import gae
from ludus.metrics import names
from ludus.policies.nets import judge, prepare
from ludus.policies.network import Staging
from ludus.policies.weights import FlatWeights
from ludus.spec import GameSpec
from ludus.types import SegmentBatch


class Ppo:
    """Owns the optimiser and the order of minibatches; the net's parameters become views of `weights`."""

    def __init__(
        self, net: nn.Module, spec: GameSpec, config: LearnerConfig, generator: torch.Generator, device: torch.device
    ) -> None:
        self.net = net.to(device).train()
        self.weights = FlatWeights(net, gradients=True)
        self.generator = generator
        self._config = config
        self._device = device
        self._staging = Staging(spec, device)
        self._parameter = nn.Parameter(self.weights.vector)
        self._parameter.grad = self.weights.gradient
        self._optimiser = torch.optim.Adam([self._parameter], lr=config.lr, eps=config.adam_eps, fused=True)
        self._optimiser.step()  # with a gradient of zero: creates the moments, changes nothing
        self._moments["step"].zero_()

    def update(self, batch: SegmentBatch, lr: float) -> Mapping[str, float]:
        """One update. A loss or gradient that is not finite leaves weights and optimiser as they were: {SKIPPED: 1}."""
        config = self._config
        self._optimiser.param_groups[0]["lr"] = lr
        with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is found by its loss
            advantage, returns = gae(
                batch.reward,
                batch.value,
                batch.next_value,
                batch.ends,
                batch.final_value,
                gamma=config.gamma,
                gae_lambda=config.gae_lambda,
            )
            normalised = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        inputs, legal = self._prepared(batch)
        data = Flat(
            inputs=inputs,
            legal=legal,
            action=self._tensor(batch.action.astype(np.int64)),
            logp=self._tensor(batch.logp),
            advantage=self._tensor(normalised),
            returns=self._tensor(returns),
        )
        before = self._remember()
        sums: dict[str, float] = {}
        minibatches = epochs = 0
        for _ in range(config.epochs):
            seen = torch.stack([self._minibatch(data, index) for index in self._shuffled(batch.decisions)])
            if not bool(torch.isfinite(seen).all()):
                self._restore(before)
                return {names.SKIPPED: 1.0}
            epochs += 1
            minibatches += len(seen)
            for name, total in zip(REPORTED, seen.sum(0).tolist(), strict=True):
                sums[name] = sums.get(name, 0.0) + total
            if config.target_kl and float(seen[:, KL_COLUMN].mean()) > config.target_kl:
                break
        return {
            **{name: total / minibatches for name, total in sums.items()},
            names.EXPLAINED_VARIANCE: _explained(batch.value, returns),
            names.EPOCHS: float(epochs),
            names.LR: lr,
        }

    def _minibatch(self, data: Flat, index: Tensor) -> Tensor:
        """One optimiser step; the numbers of REPORTED."""
        config = self._config
        at = index.to(self._device)
        inputs = {name: leaf.index_select(0, at) for name, leaf in data.inputs.items()}
        said, value = judge(self.net, inputs, data.legal.index_select(0, at))
        action, advantage = data.action[at], data.advantage[at]
        log_ratio = said.log_prob(action) - data.logp[at]
        ratio = log_ratio.exp()

        clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
        policy_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
        value_loss = (value - data.returns[at]).square().mean()
        entropy = said.entropy(action).mean()
        loss = policy_loss + config.value_coef * value_loss - config.entropy_coef * entropy

        self.weights.gradient.zero_()
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        norm = self.weights.gradient.norm()
        self.weights.gradient.mul_((config.max_grad_norm / (norm + 1e-6)).clamp(max=1.0))
        self._optimiser.step()
        with torch.no_grad():
            kl = (ratio - 1 - log_ratio).mean()  # never negative, little variance (Schulman, approximating KL)
            clip_share = ((ratio - 1).abs() > config.clip).float().mean()
            return torch.stack((loss, policy_loss, value_loss, entropy, kl, clip_share, norm)).detach()

    def _prepared(self, batch: SegmentBatch) -> tuple[dict[str, Tensor], Tensor]:
        """What the net reads of all decisions, and what was legal [N, A]: it is the same in every epoch."""
        N, rows = batch.decisions, self._config.minibatch
        obs, legal = batch.obs.reshape(N, -1), batch.legal.reshape(N, -1)
        inputs: dict[str, Tensor] = {}
        all_legal = torch.empty(N, legal.shape[1], dtype=torch.bool, device=self._device)
        for begin in range(0, N, rows):
            part = slice(begin, begin + rows)
            leaves, all_legal[part] = self._staging.put(obs[part], legal[part])
            with torch.no_grad():
                for name, leaf in prepare(self.net, leaves, all_legal[part]).items():
                    if name not in inputs:
                        inputs[name] = leaf.new_empty(N, *leaf.shape[1:])
                    inputs[name][part] = leaf
        return inputs, all_legal

    def _shuffled(self, decisions: int) -> tuple[Tensor, ...]:
        order = torch.randperm(decisions, generator=self.generator)
        return torch.split(order, self._config.minibatch)

    def _tensor(self, values: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values).reshape(-1)).to(self._device)

    @property
    def _moments(self) -> dict[str, Tensor]:
        moments: dict[str, Tensor] = self._optimiser.state[self._parameter]
        return moments

    def _remember(self) -> tuple[Tensor, dict[str, Tensor]]:
        return self.weights.vector.clone(), {name: moment.clone() for name, moment in self._moments.items()}

    def _restore(self, before: tuple[Tensor, dict[str, Tensor]]) -> None:
        vector, moments = before
        with torch.no_grad():
            self.weights.vector.copy_(vector)
            for name, moment in moments.items():
                self._moments[name].copy_(moment)

    def optimiser_state(self) -> dict[str, Tensor]:
        """Adam's moments by parameter, and its step count."""
        state = {"step": self._moments["step"]}
        for moment in ("exp_avg", "exp_avg_sq"):
            for name, part in self.weights.split(self._moments[moment]).items():
                state[f"{moment}.{name}"] = part
        return state

    def load_optimiser_state(self, state: Mapping[str, Tensor]) -> None:
        with torch.no_grad():
            self._moments["step"].copy_(state["step"])
            for moment in ("exp_avg", "exp_avg_sq"):
                prefix = f"{moment}."
                parts = {name.removeprefix(prefix): part for name, part in state.items() if name.startswith(prefix)}
                self._moments[moment].copy_(self.weights.join(parts))


class Flat(NamedTuple):
    """A batch without its time axis; N decisions."""

    inputs: Mapping[str, Tensor]  # [N, ...] each
    legal: Tensor  # [N, A]
    action: Tensor  # [N]
    logp: Tensor  # [N]
    advantage: Tensor  # [N]
    returns: Tensor  # [N]


REPORTED = (
    names.LOSS_TOTAL,
    names.LOSS_POLICY,
    names.LOSS_VALUE,
    names.ENTROPY,
    names.KL,
    names.CLIP_SHARE,
    names.GRAD_NORM,
)
KL_COLUMN = REPORTED.index(names.KL)


def _explained(value: NDArray[np.float32], returns: NDArray[np.float32]) -> float:
    variance = float(returns.var())
    return 1 - float((returns - value).var()) / variance if variance > 0 else 0.0
