from __future__ import annotations

import os

from benchmarks.bench_equilibria import ALGORITHMS
from benchmarks.bench_matchmaking import GEN1, core_parts
from benchmarks.drivers.equilibria import preset
from benchmarks.drivers.matchmaking import learn

from ludus.api import settings_source


def test_exploiters_of_a_league_use_decisions_of_its_budget() -> None:
    sets = ("learner.decisions=128", "learner.minibatch=64", "fleet.matches=8", "budget.updates=36")
    config = preset("kuhn", *ALGORITHMS["kuhn"]["ppo"], *sets)
    (alone,) = learn(config, "uniform", points=1)
    (league,) = learn(config, "league", points=1)
    assert alone.decisions == league.decisions == 36 * 128
    assert (alone.update, league.update) == (36, 24)
    for point in (alone, league):
        assert 0 < point.nash_conv < 2
        assert 0 < point.uniform_mixture < 2
        assert 0 < point.nash_mixture < 2
        assert point.members >= 1


def test_uniform_and_pfsp_meet_past_selves_in_gen1() -> None:
    for way in ("uniform", "pfsp"):
        opponents = settings_source.resolved(settings_source.of("gen1"), GEN1[way]).config.opponents
        assert opponents.choose == way
        assert opponents.past > 0


def test_every_way_has_an_equal_part_of_the_cores() -> None:
    cores = os.sched_getaffinity(0)
    (everything,) = core_parts(1)
    assert everything == cores
    assert core_parts(len(cores) + 1) == [cores] * (len(cores) + 1), "too few to share"
    parts = core_parts(len(cores))
    assert set.union(*parts) == cores
    assert {len(part) for part in parts} == {1}
