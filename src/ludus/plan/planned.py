"""A whole plan, computed from a measurement and prices: what `ludus plan` prints. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ludus.diagnostics.scaling import Spread
from ludus.plan import mixes
from ludus.plan.estimate import Estimate, Group, Losses, Speed, estimate, host_equivalents, saturating_machines
from ludus.plan.measurement import MeasuredSpeed, Unit, scaled
from ludus.plan.prices import Offer, Prices

COUNTS = (1, 2, 4, 10, 20, 40)  # numbers of machines in the table


@dataclass(frozen=True, slots=True)
class Goal:
    amount: float
    unit: Unit
    deadline_h: float | None
    spot: bool


@dataclass(frozen=True, slots=True)
class MachinePlan:
    goal: Goal
    speed: Speed
    losses: Losses
    single: tuple[Estimate, ...]  # one machine of each kind, on demand
    growing: tuple[Estimate, ...]  # more and more machines of the cheapest kind: one on demand, and workers
    worker: Offer  # the offer of these workers
    saturating: tuple[tuple[Offer, float], ...]  # machines of each kind that saturate one learner; infinite: unknown
    best: Estimate | None  # the cheapest mix for the deadline; None: there is no deadline, or no mix meets it
    shortest_h: float | None  # with one saturated learner; None: unknown


def make(goal: Goal, measurement: MeasuredSpeed, prices: Prices, checkpoint_h: float) -> MachinePlan:
    """Compute a plan. Raises ConfigError if matches are wanted and were not measured."""
    speed = speed_of(measurement, goal.unit)
    losses = Losses(prices.start_minutes / 60, checkpoint_h)
    offers = mixes.offers(prices, spot=goal.spot)
    on_demand = [offer for offer in offers if not offer.is_spot]
    single = [estimate(goal.amount, [Group(offer, 1)], speed, losses) for offer in on_demand]
    best = mixes.cheapest(goal.amount, offers, speed, losses, goal.deadline_h) if goal.deadline_h else None
    worker = min(offers, key=lambda offer: _price_of_a_host(offer, losses))
    return MachinePlan(
        goal=goal,
        speed=speed,
        losses=losses,
        single=tuple(each for each in single if each is not None),
        growing=tuple(_growing(goal, worker, speed, losses)),
        worker=worker,
        saturating=tuple((offer, saturating_machines(offer, speed, losses)) for offer in on_demand),
        best=best,
        shortest_h=mixes.shortest_h(goal.amount, speed),
    )


def speed_of(measurement: MeasuredSpeed, unit: Unit) -> Speed:
    """Return the speed of one host of the measured machine, and the limit of its learner."""
    per_host: Spread = scaled(measurement.per_s(unit), 1 / measurement.hosts)
    return Speed(per_host, measurement.learner_limit(unit))


def _price_of_a_host(offer: Offer, losses: Losses) -> float:
    """Return the price of an hour of one host that is never interrupted."""
    hosts = host_equivalents(offer, losses)
    return offer.price / hosts if hosts > 0 else math.inf


def _growing(goal: Goal, worker: Offer, speed: Speed, losses: Losses) -> list[Estimate]:
    """Return estimates for up to `COUNTS` machines of one kind, ending with the first count that saturates the learner.

    The first machine is on demand, because the learner is there.
    """
    head = Group(Offer(worker.kind, is_spot=False), 1)
    estimates: list[Estimate] = []
    for count in COUNTS:
        each = estimate(goal.amount, [head, Group(worker, count - 1)], speed, losses)
        if each is None or count > worker.kind.most:
            break
        estimates.append(each)
        if each.learner_is_limit:
            break
    return estimates
