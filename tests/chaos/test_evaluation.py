"""A host that dies at every start, in a run: it trains on the others, and they play its share of the evaluations."""

from __future__ import annotations

from pathlib import Path

from tests.playing import first_host_dies
from tests.running import Watch, small_run

from ludus.config.schema import EvaluationConfig, FleetConfig
from ludus.metrics import names
from ludus.run import train


def test_evaluations_of_a_run_go_on_without_a_host_that_dies_every_time(tmp_path: Path) -> None:
    config = small_run(
        2,
        game="command",
        options={"command": list(first_host_dies().argv)},
        fleet=FleetConfig(hosts=2, matches=4, backoff_s=0.01, failures_in_a_row=2),
        evaluation=EvaluationConfig(matches=12, quick_matches=8, every_updates=1),
    )
    watch = Watch()
    result = train(config, tmp_path, observer=watch)
    assert [final for final, _ in watch.evaluations] == [False, True]
    assert result.evaluation[0].matches == 12
    assert watch.numbers[names.HOSTS_ALIVE] == 1
    assert watch.numbers[names.EVALUATION_MOVED] == 4 + 6
    assert names.EVALUATION_FAILURES not in watch.numbers
