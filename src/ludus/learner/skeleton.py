"""The skeleton of all algorithms: an update is `epochs` passes over a batch, one optimiser step per minibatch.

An algorithm is a subclass of `Algorithm` with a loss of its own, in a file of its own, and a line in algorithms.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Generic, TypeVar

import torch
from torch import Tensor

from ludus.config.settings import LearnerConfig
from ludus.learner.batch import FlatBatch, Intake, Minibatch
from ludus.learner.optimiser import Measured, Optimiser
from ludus.learner.reference import Reference
from ludus.learner.stepping import Steps
from ludus.metrics import names
from ludus.policies.gpu.streams import open_stream
from ludus.policies.nets.net import Net
from ludus.spec import GameSpec
from ludus.types import SegmentBatch

Targets = TypeVar("Targets")


class Algorithm(ABC, Generic[Targets]):
    """Trains a net on batches of segments.

    A subclass implements `targets` and `loss`, and sets `reported`. The other class attributes declare what it needs
    from the run; a configuration that does not provide it is refused before the run starts.
    """

    reported: ClassVar[tuple[str, ...]]
    """Names, from metrics.names, of the numbers that `loss` returns, in the same order."""

    recurrent: ClassVar[bool] = True
    """True if it can train nets with a hidden state."""

    interleaved: ClassVar[bool] = False
    """True if a segment must hold the decisions of all seats of a match (rollout/interleaved.py)."""

    whole_segments: ClassVar[bool] = False
    """True if minibatches must consist of whole segments. Those of recurrent nets always do."""

    replay: ClassVar[bool] = False
    """True if it can train on segments again from a replay buffer, however old the policy that chose the actions."""

    recorded: ClassVar[bool] = False
    """True if it learns from a dataset (`data.folder`) instead of matches of its own."""

    played: ClassVar[bool] = True
    """True if it can learn from matches that the run plays."""

    min_segment: ClassVar[int] = 1
    """The shortest `rollout.segment` that it can train on."""

    def __init__(
        self,
        net: Net,
        spec: GameSpec,
        config: LearnerConfig,
        generator: torch.Generator,
        device: torch.device,
        *,
        optimiser: Optimiser | None = None,
    ) -> None:
        """Move `net` to `device` and prepare to train it. `generator` draws the order of minibatches. `optimiser` is
        that of another algorithm which trains the same net; without it, this one makes its own."""
        self.config = config
        self.optimiser = optimiser or Optimiser(net, config, device)
        self.net, self.weights = self.optimiser.net, self.optimiser.weights
        self.result = self.net  # the net that is saved, evaluated and played: this one, or a Polyak average of it
        self.followers: tuple[Reference, ...] = ()  # references that `step` moves; a skipped update restores them
        self.generator = generator
        plan = self.optimiser.plan
        self._steps = Steps(self.step, open_stream(device) if plan.graphs else None)
        self._intake = Intake(self.net, spec, device, config.minibatch, pinned=plan.pinned, autocast=plan.autocast)

    @abstractmethod
    def targets(self, batch: SegmentBatch, data: FlatBatch) -> Targets:
        """Return the targets that `loss` needs besides the micro-batch. Called once per update, before the first step.

        `data` is the batch on the device; `data.tensor` copies further columns there. Return a named tuple of tensors
        and hashable values; steps with other targets are not captured as CUDA graphs.
        """

    @abstractmethod
    def loss(self, micro_batch: Minibatch, targets: Targets) -> Measured:
        """Return the mean loss over the decisions of a micro-batch, and the numbers to report.

        Without gradient accumulation, the micro-batch is the whole minibatch. `targets` has values for the whole batch:
        index them by `micro_batch.at`. The loss may be compiled or captured as a CUDA graph, so everything that changes
        between calls must be an argument, or a tensor that is changed in place.
        """

    def step(self, minibatch: Minibatch, targets: Targets) -> Tensor:
        """Take one optimiser step. Returns the reported numbers, and last the gradient's norm [k + 1].

        It may run as a captured CUDA graph, which repeats the kernels of one call: change tensors in place, and let
        nothing else depend on anything but the arguments.
        """
        return self.optimiser.step([minibatch], self.loss, targets)

    def stops(self, numbers: Tensor) -> bool:
        """Return True to end the update after this epoch.

        `numbers` are the numbers that its steps returned [steps, k + 1].
        """
        return False

    def finish(self, batch: SegmentBatch, targets: Targets) -> Mapping[str, float]:
        """Return further numbers to report, by name. Called after the last step of an update that was not skipped."""
        return {}

    def update(self, batch: SegmentBatch, lr: float) -> Mapping[str, float]:
        """Make one update and returns the numbers to report, by name.

        If a loss or gradient is not finite, restores weights and optimiser and returns {names.SKIPPED: 1, ...}.
        """
        config, optimiser = self.config, self.optimiser
        optimiser.set_lr(lr)
        data = self._intake.take(batch)
        targets = self.targets(batch, data)
        self._steps.begin(data, targets)
        before, followers_before = optimiser.remember(), [each.weights.vector.clone() for each in self.followers]
        epochs: list[Tensor] = []
        for _ in range(config.epochs):
            indices = data.shuffled(self.generator, config.minibatch, whole_segments=self.whole_segments)
            numbers = [self._steps.take(index, whole_segments=self.whole_segments) for index in indices]
            epochs.append(torch.stack(numbers))
            if self.stops(epochs[-1]):
                break
        steps = torch.cat(epochs)
        if not bool(torch.isfinite(steps).all()):
            optimiser.restore(before)
            for follower, vector in zip(self.followers, followers_before, strict=True):
                follower.follow(vector)
            return {names.SKIPPED: 1.0, names.NON_FINITE: optimiser.non_finite(steps)}
        return {
            **dict(zip((*self.reported, names.GRAD_NORM), steps.mean(0).tolist(), strict=True)),
            names.EPOCHS: float(len(epochs)),
            names.LR: lr,
            **({names.BURNED_IN: data.burned_in} if data.burned_in else {}),
            names.NON_FINITE: optimiser.non_finite(steps),
            **self.finish(batch, targets),
        }

    def state(self) -> dict[str, Tensor]:
        """Return the tensors that a checkpoint holds besides the net `result`: Adam's moments, and others."""
        return self.optimiser.state()

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Restore a saved `state`. Raises CheckpointError if it belongs to another net or algorithm."""
        self.optimiser.load_state(state)

    def trained_state(self, prefix: str) -> dict[str, Tensor]:
        """Return the weights that are trained, for the `state` of an algorithm whose `result` is another net."""
        return {f"{prefix}.{name}": tensor for name, tensor in self.weights.split(self.weights.vector).items()}

    def load_trained(self, prefix: str, state: Mapping[str, Tensor]) -> None:
        """Restore the weights that `trained_state` returned."""
        with torch.no_grad():
            for name, tensor in self.weights.split(self.weights.vector).items():
                tensor.copy_(state[f"{prefix}.{name}"])
