"""Computes hours, cost and interruptions of a group of machines. Pure.

Speed grows linearly with hosts. A spot machine is interrupted at a constant rate; each time it loses the work since
the last checkpoint (half an interval on average) and the time until its replacement plays. Machines are paid for from
their start on. One learner serves all machines, so the speed never exceeds its limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ludus.diagnostics.scaling import Spread
from ludus.plan.prices import Offer


@dataclass(frozen=True, slots=True)
class Speed:
    """Speed of one host and limit of one learner, in decisions or matches per second."""

    per_host: Spread
    learner_limit: Spread | None = None  # None: unknown


@dataclass(frozen=True, slots=True)
class Losses:
    """Time in which a machine is paid for and nothing is gained."""

    start_h: float  # until a machine plays, at first and after each interruption
    checkpoint_h: float  # interval between two checkpoints

    def useful_share(self, offer: Offer) -> float:
        """Return the share of the rented time whose work is kept. At most 1, and 0 if a machine never gets anywhere."""
        rate = offer.interruptions_per_hour
        return max(0.0, 1 - rate * self.checkpoint_h / 2) / (1 + rate * self.start_h)

    def interruptions(self, offer: Offer, hours: float) -> float:
        """Return the expected number of interruptions of one machine that is rented for `hours`."""
        rate = offer.interruptions_per_hour
        return hours * rate / (1 + rate * self.start_h)


@dataclass(frozen=True, slots=True)
class Group:
    offer: Offer
    count: int

    @property
    def price(self) -> float:
        """Return the price of an hour of all its machines."""
        return self.count * self.offer.price

    def __str__(self) -> str:
        return f"{self.count} x {self.offer}"


def merged(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Return one group for each offer, in order of appearance."""
    counts: dict[Offer, int] = {}
    for group in groups:
        counts[group.offer] = counts.get(group.offer, 0) + group.count
    return tuple(Group(offer, count) for offer, count in counts.items() if count)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The hours and cost of a group of machines for the work. `low` of hours and cost belongs to the highest measured
    speed."""

    groups: tuple[Group, ...]
    per_s: Spread
    hours: Spread
    cost: Spread
    interruptions: Spread  # expected number, of all spot machines together
    lost_machine_hours: Spread  # rented, without result, because of interruptions
    lost_cost: Spread
    learner_is_limit: bool  # at the median speed, the machines play faster than one learner learns

    @property
    def machines(self) -> int:
        return sum(group.count for group in self.groups)


def estimate(work: float, groups: Sequence[Group], speed: Speed, losses: Losses) -> Estimate | None:
    """Return what these machines need for `work` decisions or matches, or None if they would never finish."""
    per_s = played_per_s(groups, speed, losses)
    limit = speed.learner_limit
    learned = per_s if limit is None else _lower(per_s, limit)
    if learned.low <= 0:
        return None
    hours = Spread(*(losses.start_h + work / rate / 3600 for rate in (learned.median, learned.high, learned.low)))
    price = sum(group.price for group in groups)

    def over_hours(of_hours: float) -> Spread:
        """Return the spread of something that grows by `of_hours` each hour."""
        return Spread(hours.median * of_hours, hours.low * of_hours, hours.high * of_hours)

    idle = [(group, 1 - losses.useful_share(group.offer)) for group in groups]
    return Estimate(
        groups=merged(groups),
        per_s=learned,
        hours=hours,
        cost=over_hours(price),
        interruptions=over_hours(sum(group.count * losses.interruptions(group.offer, 1.0) for group in groups)),
        lost_machine_hours=over_hours(sum(share * group.count for group, share in idle)),
        lost_cost=over_hours(sum(share * group.price for group, share in idle)),
        learner_is_limit=limit is not None and per_s.median > limit.median,
    )


def played_per_s(groups: Sequence[Group], speed: Speed, losses: Losses) -> Spread:
    """Return the speed of all machines together, after losses, without the limit of the learner."""
    hosts = sum(group.count * host_equivalents(group.offer, losses) for group in groups)
    per_host = speed.per_host
    return Spread(hosts * per_host.median, hosts * per_host.low, hosts * per_host.high)


def host_equivalents(offer: Offer, losses: Losses) -> float:
    """Return the number of uninterrupted measured hosts that one such machine replaces."""
    return offer.kind.hosts_used * offer.kind.speed * losses.useful_share(offer)


def saturating_machines(offer: Offer, speed: Speed, losses: Losses) -> float:
    """Return the number of such machines that keep one learner busy all the time; infinite if that is unknown."""
    own = host_equivalents(offer, losses) * speed.per_host.median
    return math.inf if speed.learner_limit is None or own <= 0 else speed.learner_limit.median / own


def _lower(one: Spread, other: Spread) -> Spread:
    return Spread(min(one.median, other.median), min(one.low, other.low), min(one.high, other.high))
