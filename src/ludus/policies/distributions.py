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
        self.log_probs = torch.where(legal, logits, MASKED).log_softmax(1)

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

    def __init__(
        self, first: Tensor, second: Tensor, left: Tensor, right: Tensor, legal: Tensor, first_legal: Tensor
    ) -> None:
        """Scores first [n, k + more], second [n, k]; left, right [n, k, r]: what two choices say about each other.

        `first_legal` [n, k] is the first slot's of `choices`.
        """
        self._k = second.shape[1]
        pairs, more = legal[:, : self._k**2], legal[:, self._k**2 :]
        self._legal = pairs.view(-1, self._k, self._k)
        self._first = Categorical(first, torch.cat((first_legal, more), dim=1) if more.shape[1] else first_legal)
        self._second, self._left, self._right = second, left, right
        self._known: tuple[Tensor, Tensor, Tensor, Categorical] | None = None

    @staticmethod
    def choices(legal: Tensor, k: int) -> Tensor:
        """What each slot may choose, whatever the other does [n, 2, k], of legal [n, k * k + more]."""
        pairs = legal[:, : k * k].float().view(-1, k, k)
        one = pairs.new_ones(k)  # a product with it takes a fourth of the time of `any`
        return torch.stack((pairs @ one, one @ pairs), dim=1) > 0

    def sample(self, generator: torch.Generator) -> Tensor:
        first = self._first.sample(generator)
        given = self._given(first)
        return self._remembered(first, given.sample(generator), given)

    def best(self) -> Tensor:
        first = self._first.best()
        given = self._given(first)
        return self._remembered(first, given.best(), given)

    def log_prob(self, action: Tensor) -> Tensor:
        first, second, given = self._parted(action)
        return self._first.log_prob(first) + torch.where(first < self._k, given.log_prob(second), 0.0)

    def entropy(self, action: Tensor) -> Tensor:
        """Exact in the first choice; the second's is that given the first choice taken."""
        first, second, given = self._parted(action)
        return self._first.entropy(first) + torch.where(first < self._k, given.entropy(second), 0.0)

    def _given(self, first: Tensor) -> Categorical:
        row = torch.arange(len(first), device=first.device)
        slot = first.clamp(max=self._k - 1)
        legal = self._legal[row, slot]
        legal = legal | ~legal.any(1, keepdim=True)  # of a row that ends with its first choice: not used, but finite
        affinity = torch.bmm(self._right, self._left[row, slot][:, :, None]).squeeze(2)
        return Categorical(self._second + affinity, legal)

    def _remembered(self, first: Tensor, second: Tensor, given: Categorical) -> Tensor:
        k = self._k
        action = torch.where(first < k, first * k + second, first - k + k * k)
        self._known = action, first, second, given
        return action

    def _parted(self, action: Tensor) -> tuple[Tensor, Tensor, Categorical]:
        """The two choices, and the second's distribution; worked out once for questions about the same actions."""
        if self._known is None or self._known[0] is not action:
            k = self._k
            first = torch.where(action < k * k, action // k, action - k * k + k)
            self._known = action, first, action % k, self._given(first)
        return self._known[1:]
