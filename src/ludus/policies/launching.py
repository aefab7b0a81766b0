"""Runs several policies on one batch of arrivals: starts all policies that play on CUDA before it waits for any."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from ludus.types import Arrivals, Choices, Policy

Wait = Callable[[], Choices]


class LaunchingPolicy(ABC):
    """A policy that can choose actions in the background. Implements `types.Policy`."""

    @property
    @abstractmethod
    def launches(self) -> bool:
        """True if `launch` returns before the actions are chosen. If False, `launch` has no advantage over `act`."""

    @abstractmethod
    def launch(self, arrivals: Arrivals) -> Wait:
        """Start to choose actions. Returns a function that waits for them and returns them; call it before the next
        `launch`."""

    @abstractmethod
    def act(self, arrivals: Arrivals) -> Choices:
        """Choose actions, one per row."""


def act(parts: Sequence[tuple[Policy, Arrivals]]) -> list[Choices]:
    """Return the choices of each policy for its own rows, in the order of `parts`. Policies without `launches` act
    while the launched ones compute."""
    launched = {
        index: policy.launch(rows)
        for index, (policy, rows) in enumerate(parts)
        if isinstance(policy, LaunchingPolicy) and policy.launches
    }
    choices = {index: policy.act(rows) for index, (policy, rows) in enumerate(parts) if index not in launched}
    return [launched[index]() if index in launched else choices[index] for index in range(len(parts))]
