from __future__ import annotations

import math
import random

import pytest

from ludus.diagnostics.scaling import Spread
from ludus.plan import mixes
from ludus.plan.estimate import Group, Losses, Speed, estimate, merged, saturating_machines
from ludus.plan.measurement import scaled
from ludus.plan.prices import MachineKind, Offer, Prices

SPEED = Speed(Spread(100.0, 80.0, 120.0))
LOSSES = Losses(start_h=0.1, checkpoint_h=0.5)


def kind(name: str = "m", **changes: object) -> MachineKind:
    fields: dict[str, object] = {"cores": 4, "on_demand": 1.0, "spot": 0.4, "interruptions_per_day": 2.0, **changes}
    return MachineKind(name=name, **fields)  # type: ignore[arg-type]  # of many types


ON_DEMAND, SPOT = Offer(kind(), is_spot=False), Offer(kind(), is_spot=True)


def test_hours_and_cost_have_the_range_of_the_measurement() -> None:
    plan = estimate(400 * 3600, [Group(ON_DEMAND, 1)], SPEED, LOSSES)
    assert plan is not None
    assert plan.hours.median == pytest.approx(0.1 + 1)
    assert (plan.hours.low, plan.hours.high) == pytest.approx((0.1 + 1 / 1.2, 0.1 + 1 / 0.8))
    assert plan.cost.high == pytest.approx(plan.hours.high)  # a machine costs 1.0 an hour
    assert plan.interruptions.high == plan.lost_machine_hours.high == 0.0


def test_interruptions_agree_with_a_simulation_of_them() -> None:
    """Rent one spot machine for a long time, interrupt it at random, and count what is kept."""
    random_numbers = random.Random(5)
    rate = SPOT.interruptions_per_hour
    rented_h = kept_h = 0.0
    interruptions = 0
    while rented_h < 200_000:
        playing_h = random_numbers.expovariate(rate)
        kept_h += LOSSES.checkpoint_h * math.floor(playing_h / LOSSES.checkpoint_h)
        rented_h += playing_h + LOSSES.start_h
        interruptions += 1
    assert LOSSES.useful_share(SPOT) == pytest.approx(kept_h / rented_h, rel=0.02)
    assert LOSSES.interruptions(SPOT, rented_h) == pytest.approx(interruptions, rel=0.02)


def test_a_machine_that_is_always_interrupted_never_finishes() -> None:
    hopeless = Offer(kind(interruptions_per_day=1000.0), is_spot=True)
    assert estimate(1.0, [Group(hopeless, 9)], SPEED, LOSSES) is None


def test_the_learner_limits_the_speed_of_many_machines() -> None:
    speed = Speed(SPEED.per_host, scaled(SPEED.per_host, 10.0))
    assert saturating_machines(ON_DEMAND, speed, LOSSES) == pytest.approx(2.5)
    two, three = (estimate(1e6, [Group(ON_DEMAND, count)], speed, LOSSES) for count in (2, 3))
    assert two is not None
    assert three is not None
    assert (two.per_s.median, two.learner_is_limit) == (800, False)
    assert (three.per_s.median, three.learner_is_limit) == (1000, True)
    assert math.isinf(saturating_machines(ON_DEMAND, SPEED, LOSSES))


def test_machines_of_one_offer_are_one_group() -> None:
    assert merged([Group(ON_DEMAND, 1), Group(SPOT, 0), Group(ON_DEMAND, 3)]) == (Group(ON_DEMAND, 4),)


def offers(*kinds: MachineKind, spot: bool = True) -> list[Offer]:
    return mixes.offers(Prices("2026-01-31", kinds), spot=spot)


def test_the_cheapest_mix_agrees_with_a_search_over_all_of_them() -> None:
    kinds = (kind("small", cores=2, on_demand=0.5, spot=0.3), kind("large", cores=8, on_demand=1.5, spot=0.9))
    all_offers = offers(*kinds)
    for work in (2e6, 6e6, 1.5e7):
        found = mixes.cheapest(work, all_offers, SPEED, LOSSES, deadline_h=4.0)
        every = [
            estimate(work, [Group(head, 1), Group(main, more), Group(other, others)], SPEED, LOSSES)
            for head in all_offers
            if not head.is_spot
            for main in all_offers
            for other in all_offers
            for more in range(9)
            for others in range(9)
        ]
        in_time = [each for each in every if each is not None and each.hours.high <= 4.0]
        assert found is not None
        assert found.hours.high <= 4.0
        assert found.cost.high <= 1.1 * min(each.cost.high for each in in_time)


def test_the_head_is_never_a_spot_machine() -> None:
    found = mixes.cheapest(1e7, offers(kind()), SPEED, LOSSES, deadline_h=4.0)
    assert found is not None
    assert {str(group.offer): group.count for group in found.groups}["m on demand"] == 1
    assert found.machines > 1


def test_a_kind_of_which_there_are_few_is_not_used_more_often() -> None:
    own = kind("own", on_demand=0.0, spot=None, most=2)
    found = mixes.cheapest(1e7, offers(own, kind("rented")), SPEED, LOSSES, deadline_h=4.0)
    assert found is not None
    counts = {group.offer.kind.name: group.count for group in found.groups}
    assert counts["own"] == 2
    assert counts["rented"] > 0


@pytest.mark.parametrize("deadline_h", [0.05, 1.0])
def test_no_mix_meets_a_deadline_that_one_learner_cannot_meet(deadline_h: float) -> None:
    speed = Speed(SPEED.per_host, scaled(SPEED.per_host, 10.0))
    assert mixes.cheapest(1e8, offers(kind()), speed, LOSSES, deadline_h) is None
