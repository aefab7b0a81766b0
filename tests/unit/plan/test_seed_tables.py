"""The plan for ten million games of Magic: the Gathering that ludus was asked to beat, from its own assumptions.

They are wrong in four places, which docs/cluster.md names; the arithmetic is what is tested here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.diagnostics.scaling import Spread
from ludus.plan import presentation
from ludus.plan.estimate import Estimate, Group, Losses, Speed, estimate, played_per_s
from ludus.plan.prices import MachineKind, Offer

GAMES = 10e6
ONE_GAME_A_SECOND = Speed(Spread(1.0, 1.0, 1.0))  # of each daemon
NOTHING_LOST = Losses(start_h=0.0, checkpoint_h=0.0)


def machine(cores: int, daemons: int) -> MachineKind:
    return MachineKind(name=f"{cores} cores", cores=cores, hosts=daemons, on_demand=0.68, spot=0.27)


def ten_million(machines: int, *, spot: bool = False) -> Estimate:
    group = Group(Offer(machine(16, 14), is_spot=spot), machines)
    result = estimate(GAMES, [group], ONE_GAME_A_SECOND, NOTHING_LOST)
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("cores", "daemons", "games_per_hour"), [(8, 6, 21_600), (16, 14, 50_400), (32, 30, 108_000), (64, 60, 216_000)]
)
def test_the_table_of_single_machines_is_reproduced(cores: int, daemons: int, games_per_hour: int) -> None:
    group = Group(Offer(machine(cores, daemons), is_spot=False), 1)
    per_s = played_per_s([group], ONE_GAME_A_SECOND, NOTHING_LOST).median
    assert per_s == daemons
    assert 3600 * per_s == games_per_hour


@pytest.mark.parametrize(
    ("machines", "games_per_s", "games_per_hour", "hours"),
    [(1, 14, 50_400, 8.3 * 24), (4, 56, 201_600, 2.1 * 24), (10, 140, 504_000, 20), (20, 280, 1_008_000, 10)],
)
def test_the_table_of_several_machines_is_reproduced(
    machines: int, games_per_s: int, games_per_hour: int, hours: float
) -> None:
    plan = ten_million(machines)
    assert plan.per_s.median == games_per_s
    assert 3600 * plan.per_s.median == pytest.approx(games_per_hour)
    assert plan.hours.median == pytest.approx(hours, rel=0.02)  # the table is rounded


@pytest.mark.parametrize(("spot", "price", "cost"), [(False, 2.72, 136), (True, 1.08, 55)])
def test_the_costs_of_four_machines_are_reproduced(spot: bool, price: float, cost: float) -> None:
    plan = ten_million(4, spot=spot)
    assert plan.groups[0].price == pytest.approx(price)
    assert plan.hours.median == pytest.approx(50, rel=0.01)  # "in ~50 hours"
    assert plan.cost.median == pytest.approx(plan.hours.median * price)
    assert plan.cost.median == pytest.approx(cost, rel=0.03)  # the costs there are of 50 hours, and rounded


@pytest.mark.parametrize(
    "games_per_s",
    [
        1.27 / 10,  # in the project's own profile, of each of ten threads of a daemon
        0.47,  # of each of 14 hosts, as hosts of ludus grow on 16 cores
    ],
)
def test_the_documentation_has_the_costs_of_what_was_measured(games_per_s: float) -> None:
    group = Group(Offer(machine(16, 14), is_spot=False), 4)
    measured = estimate(GAMES, [group], Speed(Spread(games_per_s, games_per_s, games_per_s)), NOTHING_LOST)
    assert measured is not None
    text = f"{presentation.money(measured.cost.median, '$')} and {presentation.duration(measured.hours.median)}"
    assert text in (Path(__file__).parents[3] / "docs" / "cluster.md").read_text()
