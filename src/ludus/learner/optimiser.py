"""Adam on a net's weights, which are stored as one flat vector. Algorithms pass in the loss.

The compute plan (compute.py) decides about mixed precision, gradient accumulation and torch.compile. Weights, gradients
and moments are always float32.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, Self, TypeVar, TypeVarTuple

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

from ludus.config.settings import LearnerConfig
from ludus.errors import CheckpointError
from ludus.learner.compiling import Compiler, reason
from ludus.learner.compute import plan
from ludus.policies.nets.net import Net
from ludus.policies.weights import FlatWeights

BETA2 = 0.999  # of Adam
MOMENTS = ("exp_avg", "exp_avg_sq")
SCALE, GROWN = "loss_scale", "loss_scale_grown"

log = logging.getLogger(__name__)


class Divisible(Protocol):
    """A minibatch or a micro-batch."""

    @property
    def decisions(self) -> int: ...

    def split(self, count: int) -> Sequence[Self]:
        """Split into `count` micro-batches of about equal size, or fewer if there are not enough decisions."""
        ...


MicroBatch = TypeVar("MicroBatch", bound=Divisible)
Given = TypeVarTuple("Given")


class Measured(NamedTuple):
    """The mean loss over the decisions of a micro-batch, and the numbers to report as metrics [k]."""

    loss: Tensor
    numbers: Tensor


class Before(NamedTuple):
    """Copies of the weights and of Adam's moments before an update."""

    vector: Tensor
    moments: dict[str, Tensor]


class Scaling(NamedTuple):
    """Loss scaling for fp16: a GradScaler, and the torch.optim.Adam that it needs.

    Created only if needed: the first torch.optim.Adam imports torch's compiler, which takes seconds.
    """

    scaler: torch.amp.GradScaler
    adam: torch.optim.Adam


def beta1(config: LearnerConfig) -> float:
    """Return the decay of Adam's mean of gradients, resolving `auto`."""
    if config.adam_beta1 == "auto":
        return 0.0 if config.algorithm == "rnad" else 0.9
    return config.adam_beta1


class Optimiser:
    """Trains a net with Adam. Moves the net to `device`; its parameters become views of the flat `weights`."""

    def __init__(self, net: Net, config: LearnerConfig, device: torch.device) -> None:
        self.net = net.to(device).train()
        self.device = device
        self.weights = FlatWeights(net, gradients=True)
        self.plan = plan(config, device, remembers=net.core is not None)
        self._config = config
        self._beta1 = beta1(config)
        self._compiler = Compiler() if self.plan.compiled else None
        self._overflows: list[Tensor] = []  # for each step since `remember`, whether loss scaling skipped it
        self._parameter = nn.Parameter(self.weights.vector)
        self._parameter.grad = self.weights.gradient
        self._lr: float | Tensor = config.lr
        if self.plan.graphs:  # they read it by address
            self._lr = torch.full((), config.lr, device=device)
        self._moments = {name: torch.zeros_like(self.weights.vector) for name in MOMENTS}
        self._moments["step"] = torch.zeros((), device=device if self.plan.fused else "cpu")  # where torch expects it
        self._scaling = self._scaled() if self.plan.scaled else None

    def _scaled(self) -> Scaling:
        adam = torch.optim.Adam(
            [self._parameter],
            lr=self._lr,
            betas=(self._beta1, BETA2),
            eps=self._config.adam_eps,
            fused=self.plan.fused,
        )
        adam.state[self._parameter] = self._moments
        return Scaling(torch.amp.GradScaler(self.device.type), adam)

    def set_lr(self, lr: float) -> None:
        if isinstance(self._lr, Tensor):
            self._lr.fill_(lr)
        else:
            self._lr = lr
        if self._scaling is not None:
            self._scaling.adam.param_groups[0]["lr"] = lr

    def step(
        self, micro_batches: Sequence[MicroBatch], loss: Callable[[MicroBatch, *Given], Measured], *inputs: *Given
    ) -> Tensor:
        """Take one optimiser step on `loss(micro_batch, *inputs)`, averaged over the decisions of all micro-batches.

        With gradient accumulation, each of the given micro-batches is split into smaller ones first. Returns the means
        of the reported numbers and, last, the gradient's norm before clipping [k + 1]. If fp16 loss scaling overflows,
        the step is skipped and the norm is reported as 0.
        """
        if self.plan.accumulate > 1:
            micro_batches = [piece for whole in micro_batches for piece in whole.split(self.plan.accumulate)]
        numbers = self._backward(micro_batches, loss, *inputs)
        if self._scaling is not None:
            self._scaling.scaler.unscale_(self._scaling.adam)
        norm = self.weights.gradient.norm()
        self.weights.gradient.mul_((self._config.max_grad_norm / (norm + 1e-6)).clamp(max=1.0))
        if self._scaling is None:
            self._descend()
        else:
            self._scaling.scaler.step(self._scaling.adam)
            self._scaling.scaler.update()
            self._overflows.append(~norm.isfinite())
            norm = torch.where(norm.isfinite(), norm, 0.0)
        return torch.cat((numbers.detach(), norm[None]))

    def non_finite(self, steps: Tensor) -> float:
        """Return the number of steps since `remember` whose gradient was not finite, given what they returned."""
        overflows = int(torch.stack(self._overflows).sum()) if self._overflows else 0
        return float(overflows + int((~steps[:, -1].isfinite()).sum()))

    def _descend(self) -> None:
        """Take a step like `torch.optim.Adam.step`, without its per-call overhead, which dominates for small nets."""
        moments = self._moments
        with torch.no_grad():
            adam(
                [self._parameter],
                [self.weights.gradient],
                [moments["exp_avg"]],
                [moments["exp_avg_sq"]],
                [],
                [moments["step"]],
                foreach=False,
                fused=self.plan.fused,
                amsgrad=False,
                beta1=self._beta1,
                beta2=BETA2,
                lr=self._lr,
                weight_decay=0.0,
                eps=self._config.adam_eps,
                maximize=False,
            )

    def _backward(
        self, micro_batches: Sequence[MicroBatch], loss: Callable[[MicroBatch, *Given], Measured], *inputs: *Given
    ) -> Tensor:
        if self._compiler is not None:
            try:
                return self._gradient(micro_batches, self._compiler.of(loss), *inputs)
            except Exception as error:  # torch.compile raises many types; the loss may work without it
                self._compiler = None
                log.warning("learner.compute.compile: training continues without torch.compile: %s", reason(error))
        return self._gradient(micro_batches, loss, *inputs)

    def _gradient(
        self, micro_batches: Sequence[MicroBatch], loss: Callable[[MicroBatch, *Given], Measured], *inputs: *Given
    ) -> Tensor:
        """Compute the gradient of the mean loss over all decisions (scaled, if losses are scaled).

        Returns the means of the reported numbers [k].
        """
        decisions = sum(micro_batch.decisions for micro_batch in micro_batches)
        self.weights.gradient.zero_()
        numbers: list[Tensor] = []
        for micro_batch in micro_batches:
            with torch.autocast(self.device.type, self.plan.autocast, enabled=self.plan.autocast is not None):
                measured = loss(micro_batch, *inputs)
            total, means = measured
            if len(micro_batches) > 1:
                share = micro_batch.decisions / decisions
                total, means = total * share, means * share
            if self._scaling is not None:
                total = self._scaling.scaler.scale(total)
            total.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            numbers.append(means)
        return numbers[0] if len(numbers) == 1 else torch.stack(numbers).sum(0)

    def remember(self) -> Before:
        """Return copies of weights and moments, with which `restore` can undo all later steps.

        Call once per update, before its first step.
        """
        self._overflows.clear()
        return Before(self.weights.vector.clone(), {name: moment.clone() for name, moment in self._moments.items()})

    def restore(self, before: Before) -> None:
        """Undo all steps since `remember` returned `before`."""
        with torch.no_grad():
            self.weights.vector.copy_(before.vector)
            for name, moment in before.moments.items():
                self._moments[name].copy_(moment)

    def state(self) -> dict[str, Tensor]:
        """Return Adam's moments by parameter name, its step count and, for fp16, the loss scale."""
        state = {"step": self._moments["step"]}
        for moment in MOMENTS:
            for name, tensor in self.weights.split(self._moments[moment]).items():
                state[f"{moment}.{name}"] = tensor
        if self._scaling is not None:
            scaling = self._scaling.scaler.state_dict()
            state[SCALE], state[GROWN] = torch.tensor(scaling["scale"]), torch.tensor(scaling["_growth_tracker"])
        return state

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Restore a saved `state`. Ignores unknown names; raises CheckpointError if a name is missing.

        The loss scale may be missing, if the checkpoint was saved in another precision: it then starts at its default.
        """
        missing = [name for name in self.state() if name not in state and name not in (SCALE, GROWN)]
        if missing:
            raise CheckpointError(f"the optimiser's state lacks {', '.join(missing[:3])}: it belongs to another net")
        with torch.no_grad():
            self._moments["step"].copy_(state["step"])
            for moment in MOMENTS:
                prefix = f"{moment}."
                tensors = {
                    name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)
                }
                self._moments[moment].copy_(self.weights.join(tensors))
        if self._scaling is not None and SCALE in state:
            scaler = self._scaling.scaler
            scaling = {**scaler.state_dict(), "scale": float(state[SCALE]), "_growth_tracker": int(state[GROWN])}
            scaler.load_state_dict(scaling)
