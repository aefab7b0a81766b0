"""What a net says about the legal actions of n rows. Masked logits are finite, so that 0 * log 0 is 0 and not NaN."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

MASKED = -1e9


class Distribution(Protocol):
    """Over the flat actions of n rows; illegal ones have probability 0 and no gradient."""

    def sample(self, generator: torch.Generator) -> Tensor:
        """One action a row [n], by a fixed count of uniform numbers a row."""
        ...

    def best(self) -> Tensor:
        """The action to take when not exploring [n]."""
        ...

    def log_prob(self, action: Tensor) -> Tensor:
        """[n]"""
        ...

    def entropy(self, action: Tensor) -> Tensor:
        """In nats [n]: exact, or an unbiased estimate that may use the actions taken."""
        ...


class Categorical:
    """One softmax over all actions [n, A]."""

    def __init__(self, logits: Tensor, legal: Tensor) -> None:
        self.log_probs = logits.masked_fill(~legal, MASKED).log_softmax(1)

    def sample(self, generator: torch.Generator) -> Tensor:
        reach = self.log_probs.exp().cumsum(1)
        below_total = reach[:, -1:] * (1 - 1e-6)  # rounding must not lead past the last legal action
        uniform = torch.rand(len(reach), 1, generator=generator, device=reach.device)
        return torch.searchsorted(reach, uniform * below_total, right=True).squeeze(1)

    def best(self) -> Tensor:
        return self.log_probs.argmax(1)

    def log_prob(self, action: Tensor) -> Tensor:
        return self.log_probs.gather(1, action[:, None]).squeeze(1)

    def entropy(self, action: Tensor) -> Tensor:
        return -(self.log_probs.exp() * self.log_probs).sum(1)


class Pairs:
    """A joint action of two slots, k choices each, as p(first) p(second | first); flat action = first * k + second.

    Two softmaxes over k choices instead of one over k * k: in doubles 94 numbers a row instead of 2,209. What is legal
    for the second slot is exact given the first. Actions past k * k are no pairs (team preview) and end with the first.
    """

    def __init__(self, first: Tensor, second: Tensor, left: Tensor, right: Tensor, legal: Tensor) -> None:
        """Scores first [n, k + more], second [n, k]; left, right [n, k, r]: what two choices say about each other."""
        self._k = second.shape[1]
        pairs, more = legal[:, : self._k**2], legal[:, self._k**2 :]
        self._legal = pairs.reshape(-1, self._k, self._k)
        self._first = Categorical(first, torch.cat((self._legal.any(2), more), dim=1))
        self._second, self._left, self._right = second, left, right

    def sample(self, generator: torch.Generator) -> Tensor:
        first = self._first.sample(generator)
        return self._joined(first, self._given(first).sample(generator))

    def best(self) -> Tensor:
        first = self._first.best()
        return self._joined(first, self._given(first).best())

    def log_prob(self, action: Tensor) -> Tensor:
        first, second = self._parted(action)
        more = self._given(first).log_prob(second)
        return self._first.log_prob(first) + torch.where(first < self._k, more, 0.0)

    def entropy(self, action: Tensor) -> Tensor:
        """Exact in the first choice; the second's is that given the first choice taken."""
        first, _ = self._parted(action)
        more = self._given(first).entropy(first)
        return self._first.entropy(first) + torch.where(first < self._k, more, 0.0)

    def _given(self, first: Tensor) -> Categorical:
        row = torch.arange(len(first), device=first.device)
        slot = first.clamp(max=self._k - 1)
        legal = self._legal[row, slot]
        legal = legal | ~legal.any(1, keepdim=True)  # of a row that ends with its first choice: not used, but finite
        affinity = torch.bmm(self._right, self._left[row, slot][:, :, None]).squeeze(2)
        return Categorical(self._second + affinity, legal)

    def _joined(self, first: Tensor, second: Tensor) -> Tensor:
        k = self._k
        return torch.where(first < k, first * k + second, first - k + k * k)

    def _parted(self, action: Tensor) -> tuple[Tensor, Tensor]:
        k = self._k
        first = torch.where(action < k * k, action // k, action - k * k + k)
        return first, action % k
