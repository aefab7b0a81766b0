"""Adam over a net's weights as one flat vector. Knows no algorithm: it is given losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor, nn

from ludus.config.schema import LearnerConfig
from ludus.errors import CheckpointError
from ludus.policies.weights import FlatWeights

MOMENTS = ("exp_avg", "exp_avg_sq")


class Sized(Protocol):
    """A minibatch, or a part of one."""

    @property
    def decisions(self) -> int: ...


Part = TypeVar("Part", bound=Sized)


class Measured(NamedTuple):
    """A loss, the mean over a part's decisions, and whatever numbers are reported of it [k]."""

    loss: Tensor
    numbers: Tensor


class Before(NamedTuple):
    """The weights and the moments as they were."""

    vector: Tensor
    moments: dict[str, Tensor]


class Optimiser:
    """Owns the net that learns; the net's parameters become views of `weights`."""

    def __init__(self, net: nn.Module, config: LearnerConfig, device: torch.device) -> None:
        self.net = net.to(device).train()
        self.device = device
        self.weights = FlatWeights(net, gradients=True)
        self._config = config
        self._parameter = nn.Parameter(self.weights.vector)
        self._parameter.grad = self.weights.gradient
        self._adam = torch.optim.Adam([self._parameter], lr=config.lr, eps=config.adam_eps, fused=True)
        self._adam.step()  # with a gradient of zero: creates the moments, changes nothing
        self._moments["step"].zero_()

    def set_lr(self, lr: float) -> None:
        self._adam.param_groups[0]["lr"] = lr

    def step(self, parts: Sequence[Part], loss: Callable[[Part], Measured]) -> Tensor:
        """One step down the mean loss over the decisions of all parts.

        The mean of the reported numbers, and last the gradient's norm before clipping [k + 1].
        """
        decisions = sum(part.decisions for part in parts)
        self.weights.gradient.zero_()
        numbers: Tensor | None = None
        for part in parts:
            measured = loss(part)
            if len(parts) > 1:
                share = part.decisions / decisions
                measured = Measured(measured.loss * share, measured.numbers * share)
            measured.loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            numbers = measured.numbers if numbers is None else numbers + measured.numbers
        assert numbers is not None
        norm = self.weights.gradient.norm()
        self.weights.gradient.mul_((self._config.max_grad_norm / (norm + 1e-6)).clamp(max=1.0))
        self._adam.step()
        return torch.cat((numbers.detach(), norm[None]))

    def remember(self) -> Before:
        """What `restore` needs to undo all steps from here on."""
        return Before(self.weights.vector.clone(), {name: moment.clone() for name, moment in self._moments.items()})

    def restore(self, before: Before) -> None:
        with torch.no_grad():
            self.weights.vector.copy_(before.vector)
            for name, moment in before.moments.items():
                self._moments[name].copy_(moment)

    def state(self) -> dict[str, Tensor]:
        """Adam's moments by parameter, and its step count."""
        state = {"step": self._moments["step"]}
        for moment in MOMENTS:
            for name, part in self.weights.split(self._moments[moment]).items():
                state[f"{moment}.{name}"] = part
        return state

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Go on from what `state` gave; names of others are passed over. Raises CheckpointError for a missing one."""
        missing = [name for name in self.state() if name not in state]
        if missing:
            raise CheckpointError(f"the optimiser's state lacks {', '.join(missing[:3])}: it is of another net")
        with torch.no_grad():
            self._moments["step"].copy_(state["step"])
            for moment in MOMENTS:
                prefix = f"{moment}."
                parts = {name.removeprefix(prefix): part for name, part in state.items() if name.startswith(prefix)}
                self._moments[moment].copy_(self.weights.join(parts))

    @property
    def _moments(self) -> dict[str, Tensor]:
        moments: dict[str, Tensor] = self._adam.state[self._parameter]
        return moments
