"""Independent streams from one seed: each purpose has its own, so that a draw more here changes nothing there."""

from __future__ import annotations

import zlib

import numpy as np


def restarted(version: int, restarts: int) -> int:
    """Return the `version` to pass to `seed_for` after an actor was restarted. It differs from every policy version and
    from those of other restarts, so the new matches repeat no earlier ones."""
    return version + (restarts << 32)


def seed_for(seed: int, purpose: str, version: int = 0) -> int:
    """A seed below 2^53 for this purpose. `version` gives a run resumed without its matches seeds it did not use."""
    sequence = np.random.SeedSequence([seed, zlib.crc32(purpose.encode()), version])
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(11))
