"""Successive halving: which configurations are measured how often, and which of them go on. Pure.

Round by round, the slower half is left out and the rest is measured more often, so most of the time goes to the
configurations that may be the best. Within a round all configurations are measured once, then all again, so that a
change of the machine's speed affects all alike.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

FINALISTS = 2  # configurations in the last round
MOST_REPEATS = 5  # of one configuration in one round

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Round:
    configurations: int
    repeats: int  # trials of each

    @property
    def trials(self) -> int:
        return self.configurations * self.repeats


def rounds(configurations: int, trials: int) -> tuple[Round, ...]:
    """Return the rounds for at most this many trials; () if there are no trials or no configurations.

    If the trials do not suffice to halve all configurations, the first round has fewer of them. Trials that are left
    are given to the rounds in equal parts, so that later rounds, which have fewer configurations, repeat more often.
    """
    if configurations < 1 or trials < 1:
        return ()
    firsts = range(configurations, min(configurations, FINALISTS) - 1, -1)
    sizes = next((sizes for sizes in map(halved, firsts) if sum(sizes) <= trials), [])
    if not sizes:  # not even the last round fits
        return (Round(min(configurations, trials), 1),)
    share = trials // len(sizes)
    repeats = [min(max(1, share // size), MOST_REPEATS) for size in sizes]
    while sum(size * times for size, times in zip(sizes, repeats, strict=True)) > trials:
        at = next(at for at, times in enumerate(repeats) if times > 1)  # earlier rounds give way first
        repeats[at] -= 1
    return tuple(Round(size, times) for size, times in zip(sizes, repeats, strict=True))


def halved(configurations: int) -> list[int]:
    """Return the number of configurations in each round, down to the finalists."""
    sizes = [configurations]
    while sizes[-1] > FINALISTS:
        sizes.append(max(FINALISTS, (sizes[-1] + 1) // 2))
    return sizes


def ranked(rates: Mapping[Key, Sequence[float]]) -> list[Key]:
    """Return the configurations that have a rate, by their median, the highest first. Equal ones keep their order."""
    medians = {key: statistics.median(values) for key, values in rates.items() if values}
    return sorted(medians, key=lambda key: -medians[key])
