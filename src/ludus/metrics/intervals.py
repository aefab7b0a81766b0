"""Confidence intervals of win rates and means."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev

Z_95 = 1.959963984540054  # two-sided


def wilson(wins: int, matches: int, z: float = Z_95) -> tuple[float, float]:
    """Return Wilson's 95% score interval of a share; (0, 1) without matches."""
    if not 0 <= wins <= matches:
        raise ValueError(f"{wins} wins in {matches} matches")
    if matches == 0:
        return 0.0, 1.0
    share, weight = wins / matches, z * z / matches
    centre = share + weight / 2
    spread = z * sqrt(share * (1 - share) / matches + weight / (4 * matches))
    low, high = (centre - spread) / (1 + weight), (centre + spread) / (1 + weight)
    return max(0.0, min(low, share)), min(1.0, max(high, share))  # rounding must not exclude the share itself


def normal(values: Sequence[float], z: float = Z_95) -> tuple[float, float]:
    """Return the 95% interval of a mean by the normal approximation. With fewer than two values it has no width."""
    if len(values) < 2:
        return (values[0], values[0]) if values else (0.0, 0.0)
    mean, spread = fmean(values), z * stdev(values) / sqrt(len(values))
    return mean - spread, mean + spread


# quantiles of Student's distribution for a two-sided 95% interval, from 1 degree of freedom on
_STUDENT_95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


def student(values: Sequence[float]) -> tuple[float, float] | None:
    """Return Student's 95% interval of a mean, which holds for few values, too. None with fewer than two values."""
    if len(values) < 2:
        return None
    return normal(values, student_quantile(len(values) - 1))


def student_quantile(degrees: int) -> float:
    """Return how many standard errors Student's 95% interval reaches to each side, by its degrees of freedom."""
    return _STUDENT_95[degrees - 1] if degrees <= len(_STUDENT_95) else Z_95
