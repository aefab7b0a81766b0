"""Decides from interleaved measurements whether one commit is slower than another. Pure.

A trial starts a process of each contestant and measures them in rotation: base, head and control, which runs the code
of base once more. A trial yields two ratios: head to base, and control to base. The second one shows the error of the
measurement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

TOLERANCE = 0.03  # of a slowdown that is not reported
CONFIDENCE = 0.99  # of intervals; high, because a gate asks about several benchmarks on every change
RESAMPLES = 4000
FEWEST_TRIALS = 6  # for an interval
MOST_TRIALS = 200  # that are asked for: beyond them, a slowdown needs another benchmark
BASE, HEAD, CONTROL = "base", "head", "control"
# Forwards and backwards, so that each is measured as often after each other one, and none twice in a row, which would
# leave it warm caches. A machine that becomes faster or slower meanwhile affects all three alike.
ORDER = ((BASE, HEAD, CONTROL) * 3 + (HEAD, BASE, CONTROL) * 3) * 2


Floats = NDArray[np.float64]


class Answer(Enum):
    SLOWER = "slower"
    NOT_SLOWER = "not slower"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class Interval:
    """A ratio of costs with its confidence interval. Above 1: slower than base."""

    ratio: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.ratio:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True, slots=True)
class Verdict:
    answer: Answer
    head: Interval
    control: Interval
    trials: int
    more_trials: int = 0  # that are probably needed for an answer; 0 if there is one

    @property
    def sentence(self) -> str:
        change = self.head.ratio - 1
        if self.answer is Answer.SLOWER:
            return f"slower by {change:.1%} ({self.head.low - 1:.1%} to {self.head.high - 1:.1%})"
        if self.answer is Answer.NOT_SLOWER:
            faster = f", faster by {-change:.1%}" if self.head.high < 1 else ""
            return f"not slower than {TOLERANCE:.0%}{faster}"
        most = "at least " if self.more_trials >= MOST_TRIALS else ""
        return f"cannot tell: {most}{self.more_trials} more trials"


def trial_ratios(costs: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Return the ratios to base of one trial, by contestant. `costs` are (contestant, cost of a unit of work).

    The lowest cost of a contestant counts: whatever else happens on a machine only adds to it. Raises ValueError for a
    cost that is not positive.
    """
    lowest: dict[str, float] = {}
    for name, cost in costs:
        if not (math.isfinite(cost) and cost > 0):
            raise ValueError(f"{name} has a cost of {cost}, expected a positive number")
        lowest[name] = min(cost, lowest.get(name, math.inf))
    return {name: cost / lowest[BASE] for name, cost in lowest.items() if name != BASE}


def interval(ratios: Sequence[float], *, confidence: float = CONFIDENCE, seed: int = 1) -> Interval:
    """Return the trimmed mean of the trials' ratios and its bootstrap interval, computed on logarithms.

    A trial is the unit that is drawn: measurements within one share their processes, so they are not independent.
    """
    logs = np.log(np.asarray(ratios, np.float64))
    drawn = np.random.default_rng(seed).integers(0, len(logs), (RESAMPLES, len(logs)))
    means = _trimmed_means(logs[drawn])
    tail = 50 * (1 - confidence)
    # the bootstrap is too narrow for few trials, by about this factor
    widening = math.sqrt(len(logs) / max(len(logs) - 1, 1))
    centre = float(_trimmed_means(logs[None])[0])
    low, high = (centre + widening * (float(edge) - centre) for edge in np.percentile(means, (tail, 100 - tail)))
    return Interval(math.exp(centre), math.exp(low), math.exp(high))


def verdict(ratios: Mapping[str, Sequence[float]], *, tolerance: float = TOLERANCE) -> Verdict:
    """Return what the trials so far say. `ratios` has the lists of HEAD and CONTROL.

    - slower: the interval is above 1, and the ratio is above 1 + tolerance;
    - not slower: the whole interval is below 1 + tolerance;
    - cannot tell: everything else, and always with fewer than `FEWEST_TRIALS` trials.

    The interval is widened by the bias of the control: the distance of its interval from 1.
    """
    trials = len(ratios[HEAD])
    if trials < 2:
        nothing = Interval(1.0, 0.0, math.inf)
        return Verdict(Answer.CANNOT_TELL, nothing, nothing, trials, FEWEST_TRIALS - trials)
    head, control = interval(ratios[HEAD]), interval(ratios[CONTROL])
    bias = max(control.low - 1, 1 - control.high, 0.0)
    low, high = head.low - bias, head.high + bias
    if trials < FEWEST_TRIALS:
        return Verdict(Answer.CANNOT_TELL, head, control, trials, FEWEST_TRIALS - trials)
    if low > 1 and head.ratio > 1 + tolerance:
        return Verdict(Answer.SLOWER, head, control, trials)
    if high <= 1 + tolerance:
        return Verdict(Answer.NOT_SLOWER, head, control, trials)
    return Verdict(Answer.CANNOT_TELL, head, control, trials, _more_trials(head, bias, trials, tolerance))


def counted_verdict(base: int, head: int, again: int, *, tolerance: float = TOLERANCE) -> Verdict:
    """Return what instruction counts say. `again` is base counted once more: their difference is the error."""
    error = abs(again / base - 1)
    ratio = head / base
    answer = Answer.SLOWER if ratio - error > 1 + tolerance else Answer.NOT_SLOWER
    if answer is Answer.NOT_SLOWER and ratio + error > 1 + tolerance:
        answer = Answer.CANNOT_TELL
    control = Interval(again / base, 1 - error, 1 + error)
    more = MOST_TRIALS if answer is Answer.CANNOT_TELL else 0
    return Verdict(answer, Interval(ratio, ratio - error, ratio + error), control, 1, more)


def _more_trials(head: Interval, bias: float, trials: int, tolerance: float) -> int:
    """Return how many more trials would probably bring the interval to one side. Its width falls with their root."""
    limit = 1 + tolerance
    half = max((head.high - head.low) / 2, 1e-6)
    distance = head.ratio - 1 if head.ratio > limit else limit - head.ratio
    wanted = max(distance - bias, half / math.sqrt(MOST_TRIALS))
    return min(max(math.ceil(trials * (half / wanted) ** 2) - trials, 2), MOST_TRIALS)


def _trimmed_means(logs: Floats) -> Floats:
    """Return the means of the rows without their lowest and highest sixth: trials that something else disturbed."""
    cut = logs.shape[1] // 6
    ordered = np.sort(logs, axis=1)
    means: Floats = ordered[:, cut : logs.shape[1] - cut].mean(axis=1)
    return means
