from __future__ import annotations

from benchmarks.bench_equilibria import ALGORITHMS
from benchmarks.drivers.equilibria import preset
from benchmarks.drivers.matchmaking import learn


def test_exploiters_of_a_league_use_decisions_of_its_budget() -> None:
    sets = ("learner.decisions=128", "learner.minibatch=64", "fleet.matches=8", "budget.updates=36")
    config = preset("kuhn", *ALGORITHMS["kuhn"]["ppo"], *sets)
    (alone,) = learn(config, "uniform", points=1)
    (league,) = learn(config, "league", points=1)
    assert alone.decisions == league.decisions == 36 * 128
    assert (alone.update, league.update) == (36, 24)
    assert 0 < league.nash_conv < 2
