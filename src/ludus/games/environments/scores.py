"""Who won, where all that is known is what each seat earned. Pure."""

from __future__ import annotations

from collections.abc import Sequence

TIED = 0.5


def by_returns(returns: Sequence[float]) -> tuple[float, ...]:
    """The share of the others that each seat has beaten, ties a half: with two seats 1, 0 or 0.5. Alone: a tie."""
    others = len(returns) - 1
    if not others:
        return (TIED,)
    return tuple(
        (sum((own > other) + TIED * (own == other) for other in returns) - TIED) / others  # it ties with itself
        for own in returns
    )
