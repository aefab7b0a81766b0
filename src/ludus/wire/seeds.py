"""One seed becomes many: splitmix64, the upper 53 bits, so that JavaScript holds every seed exactly."""

from __future__ import annotations

_MASK = (1 << 64) - 1


def match_seed(seed: int, number: int) -> int:
    """Seed of match `number` in a host with `seed`; the fleet derives the seeds of its hosts the same way."""
    z = (seed + (number + 1) * 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return (z ^ (z >> 31)) >> 11
