"""Changes of several variants against one of them, and their intervals, from trainings with common seeds.

A linear model: the strength of a training is an effect of its variant, plus an effect of its seed, plus noise of the
same size for all variants. The noise is estimated from all trainings at once, so intervals are useful with three seeds,
too: eight variants leave 14 degrees of freedom, a single pair of variants only 2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ludus.metrics.intervals import student_quantile


@dataclass(frozen=True, slots=True)
class PairedChange:
    mean: float
    interval: tuple[float, float] | None  # Student's, 95%; None: too few trainings to tell


def changes(strengths: Mapping[tuple[str, int], float], base: str) -> dict[str, PairedChange]:
    """Return the change of each variant against `base`, from strengths by variant and seed.

    Seeds without a training of `base` are left out, and so are variants that have no other seed.
    """
    paired = {key: value for key, value in strengths.items() if (base, key[1]) in strengths}
    variants = [base, *dict.fromkeys(variant for variant, _ in paired if variant != base)]
    seeds = list(dict.fromkeys(seed for _, seed in paired))
    if not paired:
        return {}
    # columns: one for each seed, then one for each variant except base
    design = np.zeros((len(paired), len(seeds) + len(variants) - 1))
    for row, (variant, seed) in enumerate(paired):
        design[row, seeds.index(seed)] = 1
        if variant != base:
            design[row, len(seeds) + variants.index(variant) - 1] = 1
    values = np.array(list(paired.values()))
    parts, *_ = np.linalg.lstsq(design, values, rcond=None)
    degrees = len(paired) - design.shape[1]
    variance = float(((values - design @ parts) ** 2).sum()) / degrees if degrees else math.nan
    spread = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * variance)
    by_variant = {base: PairedChange(0.0, None if degrees == 0 else (0.0, 0.0))}
    for number, variant in enumerate(variants[1:], len(seeds)):
        mean = float(parts[number])
        half = student_quantile(degrees) * float(spread[number]) if degrees else 0.0
        by_variant[variant] = PairedChange(mean, (mean - half, mean + half) if degrees else None)
    return by_variant
