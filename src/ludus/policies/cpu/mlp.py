"""The chooser of `MlpNet`: the same actions as its `forward`, with less per-op overhead.

While playing, batches have 1 to 64 rows, for which PyTorch's per-op overhead exceeds the arithmetic. This
implementation uses numpy, computes both heads in one product, and reads adjacent float leaves without converting them.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ludus.policies.cpu.drawing import Floats, Whole, draw
from ludus.policies.cpu.expectation import Expectation
from ludus.policies.distributions import MASKED
from ludus.policies.nets.recurrence import Recall, recalled
from ludus.spec import GameSpec, ObsSpec

if TYPE_CHECKING:
    from ludus.policies.nets.mlp import MlpNet


ONE_THREAD = 1 << 18  # up to this many multiplications, numpy's BLAS stays in the calling thread


class MlpChooser:
    """Implements `Chooser` for an MLP, with the weights that the net had at the last `refresh`."""

    draws = 1

    def __init__(self, net: MlpNet, spec: GameSpec) -> None:
        self._net = net
        self._input_reader = _Reading(net, spec.obs)
        self._actions = spec.actions
        self.refresh()

    def refresh(self) -> None:
        with torch.no_grad():
            linear = [part for part in self._net.body if isinstance(part, nn.Linear)]
            self._layers = [_Product(layer.weight, layer.bias) for layer in linear]
            heads = (self._net.policy, self._net.value)
            self._expected = Expectation(self._net.bins)
            self._heads = _Product(torch.cat([head.weight for head in heads]), torch.cat([head.bias for head in heads]))

    def takes(self, legal: NDArray[np.bool_]) -> bool:
        return True

    def choose(
        self, obs: NDArray[np.uint8], legal: NDArray[np.bool_], uniform: Floats | None, recall: Recall | None = None
    ) -> tuple[Whole, Floats, Floats]:
        hidden = self._input_reader(obs)
        for layer in self._layers:
            hidden = layer(hidden)
            np.maximum(hidden, 0, out=hidden)
        if self._net.core is not None:
            with torch.no_grad():
                hidden = recalled(self._net.core, torch.from_numpy(hidden), recall).numpy()
        outputs = self._heads(hidden)
        logits = np.where(legal, outputs[:, : self._actions], np.float32(MASKED))
        action, logp = draw(logits, None if uniform is None else uniform[0])
        return action, logp, self._expected(outputs[:, self._actions :])


class _Product:
    """Computes x @ weight.t() + bias. Small products use numpy. Larger ones use PyTorch, because numpy would start more
    threads than `policy.threads` allows."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self._weight, self._bias = weight.detach().t().contiguous(), bias.detach().clone()
        self._arrays: tuple[Floats, Floats] = (self._weight.numpy(), self._bias.numpy())
        self._rows = ONE_THREAD // self._weight.numel()

    def __call__(self, x: Floats) -> Floats:
        if len(x) > self._rows:
            with torch.no_grad():
                product: Floats = torch.addmm(self._bias, torch.from_numpy(x), self._weight).numpy()
            return product
        weight, bias = self._arrays
        product = x @ weight
        product += bias
        return product


class _Reading:
    """Returns the inputs [n, numbers] of the net for packed rows [n, nbytes], as `MlpNet.prepare` does: the real-valued
    leaves, then the integer leaves."""

    def __init__(self, net: MlpNet, obs: ObsSpec) -> None:
        self._obs = obs
        self._floats, self._integers = net.floats, net.integers
        floats = [leaf for leaf in obs.leaves if leaf.is_real]
        self._width = sum(prod(leaf.shape) for leaf in floats)
        adjoining = all(a.offset + a.nbytes == b.offset for a, b in pairwise(floats))
        as_they_are = all(leaf.dtype == "float32" for leaf in floats)
        self._at = floats[0].offset if floats and adjoining and as_they_are else None
        self._alone = not self._integers

    def __call__(self, rows: NDArray[np.uint8]) -> Floats:
        if self._at is not None and self._alone:
            end = self._at + 4 * self._width
            return np.ascontiguousarray(rows[:, self._at : end]).view(np.float32)
        rows = np.ascontiguousarray(rows)
        columns = [self._obs.reals(rows, name).reshape(len(rows), -1) for name in self._floats]
        if self._integers:
            whole = np.concatenate(
                [self._obs.reals(rows, name).reshape(len(rows), -1) for name in self._integers], axis=1
            )
            columns.append(np.log1p(np.abs(whole)) * np.sign(whole))
        return np.concatenate(columns, axis=1, dtype=np.float32)
