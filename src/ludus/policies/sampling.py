"""Sampling: turns the distribution of a net into actions. Used by the inference paths."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludus.policies.distributions import Distribution


class SampledBatch(NamedTuple):
    """The output of an inference path for n rows."""

    action: NDArray[np.int32]  # [n]
    logp: NDArray[np.float32]  # [n]
    value: NDArray[np.float32]  # [n]
    hidden_state: NDArray[np.float32] | None = None  # [n, size] before the decision; None for a net without one


class Sampler:
    """Draws actions with a generator, or takes the most probable ones if `greedy`.

    With a `temperature` other than 1, only `action` may be used: inference paths that draw with `uniform` ignore it.
    """

    def __init__(self, generator: torch.Generator, *, greedy: bool = False, temperature: float = 1.0) -> None:
        self.generator = generator
        self.greedy = greedy
        self.temperature = temperature

    def action(self, dist: Distribution) -> Tensor:
        """Return one action per row [n]."""
        if self.greedy:
            return dist.best()
        return (dist if self.temperature == 1 else dist.tempered(self.temperature)).sample(self.generator)

    def uniform(self, draws: int, rows: int) -> NDArray[np.float32] | None:
        """Return uniform random numbers [draws, rows] for `Distribution.draw`; None if greedy."""
        if self.greedy:
            return None
        numbers: NDArray[np.float32] = torch.rand(draws, rows, generator=self.generator).numpy()
        return numbers
