"""Derives the seeds of matches with splitmix64. They have 53 bits, so that JavaScript represents them exactly."""

from __future__ import annotations

_MASK = (1 << 64) - 1


def match_seed(seed: int, number: int) -> int:
    """Return the seed of match `number` in a host with `seed`. Fleets derive the seeds of hosts the same way."""
    z = (seed + (number + 1) * 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return (z ^ (z >> 31)) >> 11
