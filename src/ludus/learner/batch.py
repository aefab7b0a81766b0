"""A batch of segments on the learner's device, from which minibatches are taken.

Axes: B segments of T decisions are flattened to N = B * T decisions; decision t of segment b has index b * T + t.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludus.learner.pinned import PinnedStaging
from ludus.policies.distributions import Distribution
from ludus.policies.nets.net import Net
from ludus.policies.nets.recurrence import Core
from ludus.policies.nets.unrolling import Unrolling, burned_in
from ludus.policies.nets.values import Values
from ludus.policies.staging import Staging
from ludus.spec import GameSpec
from ludus.types import SegmentBatch


@dataclass(frozen=True, slots=True)
class Minibatch:
    """A minibatch, or a micro-batch of it: n decisions of a batch. For recurrent nets they are whole segments."""

    at: Tensor  # [n] their indices in the batch
    inputs: Mapping[str, Tensor]  # [n, ...] each
    legal: Tensor  # [n, A]
    action: Tensor  # [n]
    logp: Tensor  # [n] log-probability of the action under the policy that chose it
    length: int = 1  # decisions that `split` must not separate: T for whole segments, else 1
    unrolling: Unrolling | None = None  # how the recurrent layer runs over these segments; None without one

    @property
    def decisions(self) -> int:
        """The number of decisions to train on: all, except the burn-in of a recurrent net."""
        return len(self.at) if self.unrolling is None else self.unrolling.learned

    @property
    def counts(self) -> Tensor | None:
        """Which decisions to train on, bool [n]; None means all."""
        return None if self.unrolling is None else self.unrolling.counts

    def mean(self, values: Tensor) -> Tensor:
        """Return the mean of `values` [n] over the decisions to train on."""
        counts = self.counts
        return values.mean() if counts is None else torch.where(counts, values, 0.0).sum() / self.decisions

    def split(self, count: int) -> list[Minibatch]:
        """Split into `count` micro-batches of about equal size, or fewer if there are not enough segments."""
        units = len(self.at) // self.length
        chunks = np.array_split(np.arange(units), min(count, units))
        cuts = [slice(chunk[0], chunk[-1] + 1) for chunk in chunks]
        sizes = [(cut.stop - cut.start) * self.length for cut in cuts]
        inputs = {name: torch.split(leaf, sizes) for name, leaf in self.inputs.items()}
        columns = (torch.split(column, sizes) for column in (self.at, self.legal, self.action, self.logp))
        return [
            Minibatch(
                at,
                {name: leaf[index] for name, leaf in inputs.items()},
                legal,
                action,
                logp,
                self.length,
                None if self.unrolling is None else self.unrolling.part(cuts[index]),
            )
            for index, (at, legal, action, logp) in enumerate(zip(*columns, strict=True))
        ]

    def outputs(self, net: Net) -> tuple[Distribution, Values]:
        """Return the net's distribution over the actions of these decisions, and their values in float32."""
        core, unrolling = net.core, self.unrolling
        recall = None if core is None or unrolling is None else partial(unrolling.recall, core)
        dist, value = net.outputs(self.inputs, self.legal, recall)
        return dist, Values(value, net.bins)


class FlatBatch:
    """All decisions of a SegmentBatch, on the device."""

    def __init__(
        self, batch: SegmentBatch, inputs: Mapping[str, Tensor], legal: Tensor, core: Core | None = None
    ) -> None:
        """`core` is the recurrent layer of the net that is trained; None if it has none."""
        self.segments: int = batch.action.shape[0]
        self.length: int = batch.action.shape[1]
        self.inputs = inputs  # [N, ...] each
        self.legal = legal  # [N, A]
        self.device = legal.device
        self.action = self.tensor(batch.action.astype(np.int64))  # [N]
        self.logp = self.tensor(batch.logp)  # [N]
        self._core = core
        if core is not None:
            self._opens = batch.opens.copy()
            self._hidden_state = torch.from_numpy(batch.hidden_state.copy()).to(self.device)

    @property
    def decisions(self) -> int:
        return self.segments * self.length

    @property
    def burned_in(self) -> float:
        """The share of decisions that are burn-in: they update the hidden state and are not trained on."""
        return 0.0 if self._core is None else burned_in(self._opens, self._core.burn_in)

    def tensors(self) -> dict[str, Tensor]:
        """Return all columns by name, without those of a recurrent net."""
        return {**self.inputs, "legal": self.legal, "action": self.action, "logp": self.logp}

    def copy(self) -> FlatBatch:
        """Return a batch with copies of the columns in `tensors`. Batches of recurrent nets cannot be copied."""
        twin = copy.copy(self)
        twin.inputs = {name: leaf.clone() for name, leaf in self.inputs.items()}
        twin.legal, twin.action, twin.logp = self.legal.clone(), self.action.clone(), self.logp.clone()
        return twin

    def overwrite(self, other: FlatBatch) -> None:
        """Copy the columns of another batch of the same shape into those of this one."""
        theirs = other.tensors()
        for name, column in self.tensors().items():
            column.copy_(theirs[name])

    def tensor(self, values: NDArray[np.generic]) -> Tensor:
        """Copy an array [B, T] to the device, flattened to [N]."""
        return torch.from_numpy(values.flatten()).to(self.device)

    def minibatches(
        self, generator: torch.Generator, decisions: int, *, whole_segments: bool = False
    ) -> Iterator[Minibatch]:
        """Yield one epoch: every decision once, shuffled, in minibatches of `decisions`. The last one may be smaller.

        With `whole_segments`, and always for recurrent nets, a minibatch consists of whole segments: as many as fit
        into `decisions`, but at least one.
        """
        for index in self.shuffled(generator, decisions, whole_segments=whole_segments):
            yield self.pick(index, whole_segments=whole_segments)

    def shuffled(
        self, generator: torch.Generator, decisions: int, *, whole_segments: bool = False
    ) -> tuple[Tensor, ...]:
        """Return the indices of `minibatches`, from which `pick` makes them."""
        units, size = self.decisions, decisions
        if whole_segments or self._core is not None:
            units, size = self.segments, max(1, decisions // self.length)
        order = torch.randperm(units, generator=generator).to(self.device, non_blocking=True)  # one copy per epoch
        return torch.split(order, size)

    def pick(self, index: Tensor, *, whole_segments: bool = False) -> Minibatch:
        """Return the minibatch with an index of `shuffled`."""
        return self.take_segments(index) if whole_segments or self._core is not None else self.take(index)

    def in_order(self, decisions: int) -> Iterator[Minibatch]:
        """Yield every segment once, in order, in minibatches of about `decisions`. Used for forward passes only."""
        order = torch.arange(self.segments, device=self.device)
        for segments in torch.split(order, max(1, decisions // self.length)):
            yield self.take_segments(segments)

    def take(self, at: Tensor, length: int = 1, unrolling: Unrolling | None = None) -> Minibatch:
        """Return the decisions at these indices [n] as a minibatch; see `Minibatch.length` for `length`."""
        return Minibatch(
            at=at,
            inputs={name: leaf.index_select(0, at) for name, leaf in self.inputs.items()},
            legal=self.legal.index_select(0, at),
            action=self.action.index_select(0, at),
            logp=self.logp.index_select(0, at),
            length=length,
            unrolling=unrolling,
        )

    def take_segments(self, index: Tensor) -> Minibatch:
        """Return all decisions of the segments at these indices [b] as a minibatch."""
        within = torch.arange(self.length, device=self.device)
        unrolling = None
        if self._core is not None:
            opens, state = self._opens[index.cpu().numpy()], self._hidden_state[index]
            unrolling = Unrolling(opens, state, self._core.sequence_length, self._core.burn_in)
        return self.take((index[:, None] * self.length + within).flatten(), self.length, unrolling)


class Intake:
    """Copies batches to the device, `rows` decisions at a time, and lets the net preprocess them (`Net.prepare`) once.

    `pinned` uses page-locked memory and needs a CUDA device. `autocast` is the precision in which the net will compute;
    `Net.prepare` runs in it, too.
    """

    def __init__(
        self,
        net: Net,
        spec: GameSpec,
        device: torch.device,
        rows: int,
        *,
        pinned: bool = False,
        autocast: torch.dtype | None = None,
    ) -> None:
        self._net = net
        self._autocast = autocast
        self._device = device
        self._rows = rows
        self._staging = PinnedStaging(spec, device, rows) if pinned else Staging(spec, device)

    def take(self, batch: SegmentBatch) -> FlatBatch:
        """Return a copy of the batch on the device. The SegmentBatch may be overwritten afterwards."""
        N = batch.decisions
        obs, legal = batch.obs.reshape(N, -1), batch.legal.reshape(N, -1)
        inputs: dict[str, Tensor] = {}
        all_legal = torch.empty(N, legal.shape[1], dtype=torch.bool, device=self._device)
        for begin in range(0, N, self._rows):
            rows = slice(begin, begin + self._rows)
            leaves, all_legal[rows] = self._staging.put(obs[rows], legal[rows])
            lower = torch.autocast(self._device.type, self._autocast, enabled=self._autocast is not None)
            with torch.no_grad(), lower:
                for name, leaf in self._net.prepare(leaves, all_legal[rows]).items():
                    if name not in inputs:
                        inputs[name] = leaf.new_empty(N, *leaf.shape[1:])
                    inputs[name][rows] = leaf
        return FlatBatch(batch, inputs, all_legal, self._net.core)
