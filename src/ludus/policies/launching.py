"""Several policies for one batch of arrivals: devices are at work for all of them before anybody is waited for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from ludus.types import Arrivals, Choices, Policy

Wait = Callable[[], Choices]
Launch = Callable[[Arrivals], Wait]


def launch(policy: Policy) -> Launch | None:
    """How to let a policy begin to choose, where it can; its choices must be waited for before its next launch."""
    return cast(Launch | None, getattr(policy, "launch", None))


def act(parts: Sequence[tuple[Policy, Arrivals]]) -> list[Choices]:
    """What each policy chooses for its own rows. Those that choose in this process do so while devices are at work."""
    waits = [begin(rows) if (begin := launch(policy)) is not None else None for policy, rows in parts]
    acted = [policy.act(rows) if wait is None else None for wait, (policy, rows) in zip(waits, parts, strict=True)]
    return [wait() if wait is not None else cast(Choices, done) for wait, done in zip(waits, acted, strict=True)]
