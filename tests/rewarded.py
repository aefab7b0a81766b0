"""Matches of one decision in which the action that is shown earns 1: what an update must learn from."""

from __future__ import annotations

import numpy as np

from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec, ObsSpec
from ludus.types import SegmentBatch

SPEC = GameSpec("fake", 1, 3, ObsSpec.pack({"x": ("float32", (3,))}), 1)
SEGMENTS, LENGTH = 16, 8


def batch(seed: int = 0) -> SegmentBatch:
    random = np.random.default_rng(seed)
    filled = SegmentLayout(SPEC, SEGMENTS, LENGTH).allocate()
    shown = random.integers(0, 3, (SEGMENTS, LENGTH))
    SPEC.obs.leaf(filled.obs, "x")[:] = np.eye(3, dtype=np.float32)[shown]
    filled.legal[:] = True
    filled.action[:] = random.integers(0, 3, (SEGMENTS, LENGTH))
    filled.logp[:] = -np.log(3)
    filled.reward[:] = filled.action == shown
    filled.ends[:] = True
    return filled


def with_poison(segments: SegmentBatch, field: str, poison: float) -> SegmentBatch:
    """Put one number that is not finite into a column of a batch."""
    if field == "obs":
        SPEC.obs.leaf(segments.obs, "x")[3, 4] = poison
    else:
        getattr(segments, field)[3, 4] = -poison if field == "logp" else poison
    return segments
