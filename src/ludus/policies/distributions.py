"""Probability distributions over the legal actions of n rows. Illegal actions get the finite logit `MASKED`, so that
probability * log-probability is 0 for them, not NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self

import torch
from torch import Tensor

MASKED = -1e9


class Distribution(Protocol):
    """A distribution over the flat actions of n rows. Illegal actions have probability 0 and no gradient."""

    draws: int  # uniform random numbers needed to sample one row

    def sample(self, generator: torch.Generator) -> Tensor:
        """Sample one action per row [n] with a generator on the same device."""
        ...

    def draw(self, uniform: Tensor) -> Tensor:
        """Return one action per row [n], sampled with the uniform random numbers [draws, n]."""
        ...

    def best(self) -> Tensor:
        """Return the most likely action of each row [n], for greedy play."""
        ...

    def tempered(self, temperature: float) -> Self:
        """Return the distribution whose logits are those of this one divided by `temperature`."""
        ...

    def log_prob(self, action: Tensor) -> Tensor:
        """Return the log-probability of each action [n]."""
        ...

    def entropy(self, action: Tensor) -> Tensor:
        """Return the entropy in nats [n]: exact, or an estimate that may use the actions taken, with its gradient."""
        ...

    def kl(self, other: Self, action: Tensor) -> Tensor:
        """Return KL(self || other) in nats [n], for the same legal actions: exact, or an estimate that may use
        the actions taken."""
        ...


class Categorical:
    """One softmax over all A actions. Built from logits [n, A] and the mask of legal actions [n, A]."""

    draws = 1

    def __init__(self, logits: Tensor, legal: Tensor) -> None:
        self._masked = torch.where(legal, logits.float(), MASKED)  # in float32: MASKED does not fit into fp16
        self.log_probs = self._masked.log_softmax(1)

    def sample(self, generator: torch.Generator) -> Tensor:
        return self.draw(torch.rand(1, len(self._masked), generator=generator, device=self._masked.device))

    def draw(self, uniform: Tensor) -> Tensor:
        reach = self._masked.softmax(1).cumsum(1)  # faster than `exp` of the log-probabilities
        below_total = reach[:, -1:] * (1 - 1e-6)  # rounding must not select an action after the last legal one
        return torch.searchsorted(reach, uniform.reshape(-1, 1) * below_total, right=True).squeeze(1)

    def best(self) -> Tensor:
        return self.log_probs.argmax(1)

    def tempered(self, temperature: float) -> Categorical:
        legal = self._masked > MASKED / 2
        return Categorical(self._masked / temperature, legal)

    def log_prob(self, action: Tensor) -> Tensor:
        return self.log_probs.gather(1, action[:, None]).squeeze(1)

    def entropy(self, action: Tensor) -> Tensor:
        return -(self._masked.softmax(1) * self.log_probs).sum(1)

    def kl(self, other: Self, action: Tensor) -> Tensor:
        return (self._masked.softmax(1) * (self.log_probs - other.log_probs)).sum(1)


class Pairs:
    """A joint action of two slots, k choices each, as p(first) p(second | first); flat action = first * k + second.

    This needs two softmaxes over k choices instead of one over k * k: 94 logits per row instead of 2,209 in Showdown's
    doubles. The second slot's mask depends on the first choice. Actions from k * k on (team preview) are not pairs: the
    first choice alone determines them.
    """

    draws = 2

    def __init__(self, first: Tensor, second: Callable[[Tensor, Tensor], Tensor], legal: Tensor, may: Tensor) -> None:
        """`first` [n, k + more] are the logits of the first choice; `may` [n, k] is `first_choices(legal, k)`.

        `second` returns the logits [n, k] of the second choice, given the first choice [n] and the mask [n, k] that
        follows from it.
        """
        self._k = may.shape[1]
        pairs, more = legal[:, : self._k**2], legal[:, self._k**2 :]
        self._legal = pairs.view(-1, self._k, self._k)
        self._first = Categorical(first, torch.cat((may, more), dim=1) if more.shape[1] else may)
        self._second = second
        self._cache: tuple[Tensor, Tensor, Tensor, Categorical] | None = None

    @staticmethod
    def first_choices(legal: Tensor, k: int) -> Tensor:
        """Return the mask [n, k] of first choices that have a legal second choice, from `legal` [n, k * k + more]."""
        return legal[:, : k * k].view(torch.uint8).view(-1, k, k).amax(2).bool()  # faster than `any`

    def sample(self, generator: torch.Generator) -> Tensor:
        return self.draw(torch.rand(2, len(self._legal), generator=generator, device=self._legal.device))

    def draw(self, uniform: Tensor) -> Tensor:
        first = self._first.draw(uniform[0])
        second_dist = self._second_dist(first)
        return self._remembered(first, second_dist.draw(uniform[1]), second_dist)

    def tempered(self, temperature: float) -> Pairs:
        result = Pairs.__new__(Pairs)
        result._k, result._legal, result._cache = self._k, self._legal, None
        result._first = self._first.tempered(temperature)
        second = self._second
        result._second = lambda slot, legal: second(slot, legal) / temperature
        return result

    def best(self) -> Tensor:
        first = self._first.best()
        second_dist = self._second_dist(first)
        return self._remembered(first, second_dist.best(), second_dist)

    def log_prob(self, action: Tensor) -> Tensor:
        first, second, second_dist = self._parted(action)
        return self._first.log_prob(first) + torch.where(first < self._k, second_dist.log_prob(second), 0.0)

    def entropy(self, action: Tensor) -> Tensor:
        """Return the entropy [n]: exact for the first choice, conditional on the first choice taken for the second.
        If the actions were drawn from this distribution, both the entropy and its gradient are unbiased."""
        first, second, second_dist = self._parted(action)
        after = torch.where(first < self._k, second_dist.entropy(second), 0.0)
        return self._first.entropy(first) + self._with_score_term(first, after)

    def kl(self, other: Self, action: Tensor) -> Tensor:
        """Return KL(self || other) [n]: exact for the first choice, conditional on the first choice taken for the
        second. If the actions were drawn from this distribution, both the KL and its gradient are unbiased."""
        first, _, second_dist = self._parted(action)
        _, _, others = other._parted(action)
        after = torch.where(first < self._k, second_dist.kl(others, first), 0.0)
        return self._first.kl(other._first, first) + self._with_score_term(first, after)

    def _with_score_term(self, first: Tensor, after: Tensor) -> Tensor:
        """Return `after` [n] with an unbiased gradient. It is a quantity that depends on the sampled first choice.

        The gradient of the expectation of `after` over first choices has two parts: the gradient of `after` itself, and
        the score-function (REINFORCE) term after * grad log p(first). Here the value stays `after`, and its gradient
        contains both. The mean of the other rows serves as a baseline in the score-function term: it reduces the
        variance and adds no bias.
        """
        if not torch.is_grad_enabled():
            return after
        constant, n = after.detach(), len(after)
        others = (constant.sum() - constant) / (n - 1) if n > 1 else torch.zeros_like(constant)
        log_prob = self._first.log_prob(first)
        return after + (log_prob - log_prob.detach()) * (constant - others)

    def _second_dist(self, first: Tensor) -> Categorical:
        """Return the distribution of the second choice, given the first [n]."""
        row = torch.arange(len(first), device=first.device)
        slot = first.clamp(max=self._k - 1)
        legal = self._legal[row, slot]
        return Categorical(self._second(slot, legal), legal)  # finite, and unused, if no second choice is legal

    def _remembered(self, first: Tensor, second: Tensor, second_dist: Categorical) -> Tensor:
        """Return the flat actions [n] of both choices, and cache them for `_parted`."""
        k = self._k
        action = torch.where(first < k, first * k + second, first - k + k * k)
        self._cache = action, first, second, second_dist
        return action

    def _parted(self, action: Tensor) -> tuple[Tensor, Tensor, Categorical]:
        """Split actions [n] into first and second choices, and return both with the distribution of the second. The
        result for the last `action` tensor is cached."""
        if self._cache is None or self._cache[0] is not action:
            k = self._k
            first = torch.where(action < k * k, action // k, action - k * k + k)
            self._cache = action, first, action % k, self._second_dist(first)
        return self._cache[1:]
