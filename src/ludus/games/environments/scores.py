"""Scores of a match, derived from the returns of its seats. Pure."""

from __future__ import annotations

from collections.abc import Sequence

TIED = 0.5


def by_returns(returns: Sequence[float]) -> tuple[float, ...]:
    """Return for each seat the share of other seats with a lower return; a tie counts half. With two seats this is 1,
    0.5 or 0; a single seat gets 0.5."""
    others = len(returns) - 1
    if not others:
        return (TIED,)
    return tuple(
        (sum((own > other) + TIED * (own == other) for other in returns) - TIED) / others  # it ties with itself
        for own in returns
    )
