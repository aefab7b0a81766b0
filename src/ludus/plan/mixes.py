"""The cheapest mix of machines for a deadline. Pure.

A mix is one head, always on demand because learner and checkpoints are there, and workers of at most two kinds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from ludus.plan.estimate import Estimate, Group, Losses, Speed, estimate, host_equivalents
from ludus.plan.prices import Offer, Prices

MOST_WORKERS = 500  # of one kind
NOTABLE = 0.01  # of the cost; a worker that saves less is not added


def offers(prices: Prices, *, spot: bool) -> list[Offer]:
    """Return what workers can be: with `spot`, also the spot market where a kind has a price there."""
    on_demand = [Offer(kind, is_spot=False) for kind in prices.machines]
    return on_demand + [Offer(kind, is_spot=True) for kind in prices.machines if spot and kind.spot is not None]


def cheapest(work: float, workers: Sequence[Offer], speed: Speed, losses: Losses, deadline_h: float) -> Estimate | None:
    """Return a mix that costs little and meets the deadline even at the lowest measured speed.

    Mixes with just enough machines are searched, and the best for each head is improved by adding workers.

    Returns None if no mix meets it: one learner is too slow, or there are too few machines. Of mixes that cost the
    same, the one with the fewest machines is returned.
    """
    playing_h = deadline_h - losses.start_h
    limit = speed.learner_limit
    if playing_h <= 0 or (limit is not None and limit.low < work / (playing_h * 3600)):
        return None
    needed_hosts = work / (playing_h * 3600) / speed.per_host.low
    hosts_of = {offer: host_equivalents(offer, losses) for offer in workers}
    best_of: dict[Offer, Estimate] = {}  # by head
    for groups in _candidates(needed_hosts, hosts_of):
        each, head = estimate(work, groups, speed, losses), groups[0].offer
        if each is None or not _meets(each, deadline_h):
            continue
        if head not in best_of or _cost(each) < _cost(best_of[head]):
            best_of[head] = each
    mixes = [
        _with_more_workers(each, workers, lambda groups: estimate(work, groups, speed, losses))
        for each in best_of.values()
    ]
    return min(mixes, key=_cost, default=None)


def _with_more_workers(
    mix: Estimate, workers: Sequence[Offer], estimated: Callable[[Sequence[Group]], Estimate | None]
) -> Estimate:
    """Add workers as long as each saves a notable part of the cost: the head is paid for a shorter time."""
    while True:
        larger = [estimated([*mix.groups, Group(worker, 1)]) for worker in workers]
        best = min((each for each in larger if each is not None and _can_be_had(each)), key=_cost, default=mix)
        if best.cost.high > (1 - NOTABLE) * mix.cost.high:
            return mix
        mix = best


def _cost(each: Estimate) -> tuple[float, int]:
    return each.cost.high, each.machines


def _meets(each: Estimate, deadline_h: float) -> bool:
    return each.hours.high <= deadline_h * (1 + 1e-9) and _can_be_had(each)


def shortest_h(work: float, speed: Speed) -> float | None:
    """Return the hours in which one busy learner does the work at the lowest measured speed; None if unknown."""
    return None if speed.learner_limit is None else work / speed.learner_limit.low / 3600


def _can_be_had(each: Estimate) -> bool:
    counts: dict[str, int] = {}
    for group in each.groups:
        counts[group.offer.kind.name] = counts.get(group.offer.kind.name, 0) + group.count
    return all(counts[group.offer.kind.name] <= group.offer.kind.most for group in each.groups)


def _candidates(needed_hosts: float, hosts_of: Mapping[Offer, float]) -> Iterator[tuple[Group, ...]]:
    """Yield mixes with just enough machines: a head, any number of one kind of worker, the rest of another."""
    for head in (offer for offer in hosts_of if not offer.is_spot):
        left_hosts = needed_hosts - hosts_of[head]
        yield (Group(head, 1),)
        for main, hosts in hosts_of.items():
            enough = _machines(left_hosts, hosts)
            if enough <= min(MOST_WORKERS, main.kind.most):
                yield (Group(head, 1), Group(main, enough))
            for count in range(min(enough, MOST_WORKERS, main.kind.most + 1)):
                yield from _filled((Group(head, 1), Group(main, count)), left_hosts - count * hosts, hosts_of)


def _filled(
    groups: tuple[Group, Group], left_hosts: float, hosts_of: Mapping[Offer, float]
) -> Iterator[tuple[Group, ...]]:
    for filler, hosts in hosts_of.items():
        count = _machines(left_hosts, hosts)
        if filler != groups[1].offer and count <= min(MOST_WORKERS, filler.kind.most):
            yield (*groups, Group(filler, count))


def _machines(hosts: float, hosts_each: float) -> int:
    """Return the number of machines that replace so many measured hosts; beyond all limits if they never do."""
    return max(0, math.ceil(hosts / hosts_each - 1e-9)) if hosts_each > 0 else MOST_WORKERS + 1
