"""What a net says about the legal actions of n rows. Masked logits are finite, so that 0 * log 0 is 0 and not NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self

import torch
from torch import Tensor

MASKED = -1e9


class Distribution(Protocol):
    """Over the flat actions of n rows; illegal ones have probability 0 and no gradient."""

    draws: int  # uniform numbers that decide one row

    def sample(self, generator: torch.Generator) -> Tensor:
        """One action a row [n], by uniform numbers of a generator on the same device."""
        ...

    def draw(self, uniform: Tensor) -> Tensor:
        """One action a row [n], as uniform numbers [draws, n] decide."""
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

    def kl(self, other: Self, action: Tensor) -> Tensor:
        """Divergence of this from another over the same legal actions, in nats [n]: exact, or an estimate that may use
        the actions taken."""
        ...


class Categorical:
    """One softmax over all actions [n, A]."""

    draws = 1

    def __init__(self, logits: Tensor, legal: Tensor) -> None:
        self._masked = torch.where(legal, logits.float(), MASKED)  # which fp16 cannot say
        self.log_probs = self._masked.log_softmax(1)

    def sample(self, generator: torch.Generator) -> Tensor:
        return self.draw(torch.rand(1, len(self._masked), generator=generator, device=self._masked.device))

    def draw(self, uniform: Tensor) -> Tensor:
        reach = self._masked.softmax(1).cumsum(1)  # `exp` of what is masked takes many times as long
        below_total = reach[:, -1:] * (1 - 1e-6)  # rounding must not lead past the last legal action
        return torch.searchsorted(reach, uniform.reshape(-1, 1) * below_total, right=True).squeeze(1)

    def best(self) -> Tensor:
        return self.log_probs.argmax(1)

    def log_prob(self, action: Tensor) -> Tensor:
        return self.log_probs.gather(1, action[:, None]).squeeze(1)

    def entropy(self, action: Tensor) -> Tensor:
        return -(self._masked.softmax(1) * self.log_probs).sum(1)

    def kl(self, other: Self, action: Tensor) -> Tensor:
        return (self._masked.softmax(1) * (self.log_probs - other.log_probs)).sum(1)


class Pairs:
    """A joint action of two slots, k choices each, as p(first) p(second | first); flat action = first * k + second.

    Two softmaxes over k choices instead of one over k * k: in doubles 94 numbers a row instead of 2,209. What is legal
    for the second slot is exact given the first. Actions past k * k are no pairs (team preview) and end with the first.
    """

    draws = 2

    def __init__(self, first: Tensor, second: Callable[[Tensor, Tensor], Tensor], legal: Tensor, may: Tensor) -> None:
        """Scores of the first choice [n, k + more]; `may` [n, k] is `first_choices` of what is legal.

        `second` gives the scores [n, k] of the second choice, for a first [n] and what is legal then [n, k].
        """
        self._k = may.shape[1]
        pairs, more = legal[:, : self._k**2], legal[:, self._k**2 :]
        self._legal = pairs.view(-1, self._k, self._k)
        self._first = Categorical(first, torch.cat((may, more), dim=1) if more.shape[1] else may)
        self._second = second
        self._known: tuple[Tensor, Tensor, Tensor, Categorical] | None = None

    @staticmethod
    def first_choices(legal: Tensor, k: int) -> Tensor:
        """What the first slot may choose, whatever the second does [n, k], of legal [n, k * k + more]."""
        return legal[:, : k * k].view(torch.uint8).view(-1, k, k).amax(2).bool()  # half the time of `any`

    def sample(self, generator: torch.Generator) -> Tensor:
        return self.draw(torch.rand(2, len(self._legal), generator=generator, device=self._legal.device))

    def draw(self, uniform: Tensor) -> Tensor:
        first = self._first.draw(uniform[0])
        given = self._given(first)
        return self._remembered(first, given.draw(uniform[1]), given)

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

    def kl(self, other: Self, action: Tensor) -> Tensor:
        """Exact in the first choice; the second's is that given the first choice taken."""
        first, _, given = self._parted(action)
        _, _, others = other._parted(action)
        return self._first.kl(other._first, first) + torch.where(first < self._k, given.kl(others, first), 0.0)

    def _given(self, first: Tensor) -> Categorical:
        row = torch.arange(len(first), device=first.device)
        slot = first.clamp(max=self._k - 1)
        legal = self._legal[row, slot]
        return Categorical(self._second(slot, legal), legal)  # where none is legal it is not used, but finite

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
