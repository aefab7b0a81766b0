"""Segments on the learner's device: what the net reads is prepared once, minibatches are taken from it.

Axes: B segments of T decisions, N = B * T decisions in a row: decision t of segment b is number b * T + t.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ludus.learner.pinned import PinnedStaging
from ludus.policies.distributions import Distribution
from ludus.policies.nets import judge, prepare
from ludus.policies.network import Staging
from ludus.spec import GameSpec
from ludus.types import SegmentBatch


@dataclass(frozen=True, slots=True)
class Minibatch:
    """n decisions."""

    at: Tensor  # [n] their numbers in the batch
    inputs: Mapping[str, Tensor]  # [n, ...] each
    legal: Tensor  # [n, A]
    action: Tensor  # [n]
    logp: Tensor  # [n] under the policy that chose
    length: int = 1  # decisions that must stay together: T where these are whole segments

    @property
    def decisions(self) -> int:
        return len(self.at)

    def split(self, parts: int) -> list[Minibatch]:
        """So many parts, or fewer where there are not as many segments, about as large as each other."""
        units = self.decisions // self.length
        sizes = [len(part) * self.length for part in np.array_split(np.arange(units), min(parts, units))]
        inputs = {name: torch.split(leaf, sizes) for name, leaf in self.inputs.items()}
        columns = (torch.split(column, sizes) for column in (self.at, self.legal, self.action, self.logp))
        return [
            Minibatch(at, {name: leaf[index] for name, leaf in inputs.items()}, legal, action, logp, self.length)
            for index, (at, legal, action, logp) in enumerate(zip(*columns, strict=True))
        ]

    def judged(self, net: nn.Module) -> tuple[Distribution, Tensor]:
        """What a net says of these decisions, and the values it sees [n], in float32 whatever it computes in."""
        said, value = judge(net, self.inputs, self.legal)
        return said, value.float()


class FlatBatch:
    """All decisions of a SegmentBatch, on the device."""

    def __init__(self, batch: SegmentBatch, inputs: Mapping[str, Tensor], legal: Tensor) -> None:
        self.segments: int = batch.action.shape[0]
        self.length: int = batch.action.shape[1]
        self.inputs = inputs  # [N, ...] each
        self.legal = legal  # [N, A]
        self.device = legal.device
        self.action = self.tensor(batch.action.astype(np.int64))  # [N]
        self.logp = self.tensor(batch.logp)  # [N]

    @property
    def decisions(self) -> int:
        return self.segments * self.length

    def tensor(self, values: NDArray[np.generic]) -> Tensor:
        """A copy of numbers by decision [B, T], as the minibatches need them [N]."""
        return torch.from_numpy(values.flatten()).to(self.device)

    def minibatches(
        self, generator: torch.Generator, decisions: int, *, whole_segments: bool = False
    ) -> Iterator[Minibatch]:
        """All of it once, shuffled, so many decisions at a time, the last time perhaps fewer.

        Whole segments: as many as do not exceed that, but at least one.
        """
        units, size = self.decisions, decisions
        if whole_segments:
            units, size = self.segments, max(1, decisions // self.length)
        order = torch.randperm(units, generator=generator).to(self.device, non_blocking=True)  # one copy an epoch
        for part in torch.split(order, size):
            yield self.take_segments(part) if whole_segments else self.take(part)

    def in_order(self, decisions: int) -> Iterator[Minibatch]:
        """All of it once, as whole segments, first to last: to judge it anew without learning."""
        order = torch.arange(self.segments, device=self.device)
        for segments in torch.split(order, max(1, decisions // self.length)):
            yield self.take_segments(segments)

    def take(self, at: Tensor, length: int = 1) -> Minibatch:
        """The decisions of these numbers [n], of which `length` must stay together."""
        return Minibatch(
            at=at,
            inputs={name: leaf.index_select(0, at) for name, leaf in self.inputs.items()},
            legal=self.legal.index_select(0, at),
            action=self.action[at],
            logp=self.logp[at],
            length=length,
        )

    def take_segments(self, index: Tensor) -> Minibatch:
        """All decisions of these segments [b]."""
        within = torch.arange(self.length, device=self.device)
        return self.take((index[:, None] * self.length + within).flatten(), self.length)


class Intake:
    """Brings batches onto the device, `rows` decisions at a time; `pinned` is for CUDA devices alone."""

    def __init__(
        self, net: nn.Module, spec: GameSpec, device: torch.device, rows: int, *, pinned: bool = False
    ) -> None:
        self._net = net
        self._device = device
        self._rows = rows
        self._staging = PinnedStaging(spec, device, rows) if pinned else Staging(spec, device)

    def take(self, batch: SegmentBatch) -> FlatBatch:
        """It holds nothing of the SegmentBatch, which may be filled anew."""
        N = batch.decisions
        obs, legal = batch.obs.reshape(N, -1), batch.legal.reshape(N, -1)
        inputs: dict[str, Tensor] = {}
        all_legal = torch.empty(N, legal.shape[1], dtype=torch.bool, device=self._device)
        for begin in range(0, N, self._rows):
            part = slice(begin, begin + self._rows)
            leaves, all_legal[part] = self._staging.put(obs[part], legal[part])
            with torch.no_grad():
                for name, leaf in prepare(self._net, leaves, all_legal[part]).items():
                    if name not in inputs:
                        inputs[name] = leaf.new_empty(N, *leaf.shape[1:])
                    inputs[name][part] = leaf
        return FlatBatch(batch, inputs, all_legal)
