"""Derives an independent seed for each purpose from the seed of a run, so that one purpose does not affect others."""

from __future__ import annotations

import zlib

import numpy as np


def restarted(version: int, restarts: int) -> int:
    """Return the `version` to pass to `seed_for` after an actor was restarted. It differs from every policy version and
    from those of other restarts, so the new matches repeat no earlier ones."""
    return version + (restarts << 32)


def seed_for(seed: int, purpose: str, version: int = 0) -> int:
    """Return a seed below 2^53 for this purpose. Another `version` gives another seed: a run that is resumed without
    its matches passes its policy version, so that new matches do not repeat earlier ones."""
    sequence = np.random.SeedSequence([seed, zlib.crc32(purpose.encode()), version])
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(11))
