"""Numbers that a run counts are totals over all of its parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from tests.faulty import game as faulty
from tests.running import Watch, counters, small_run, train

from ludus.config.settings import FleetConfig
from ludus.games.registry import ServersHealth
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.metrics.exporters.csv import ProgressCsv, read
from ludus.metrics.observer import Observers
from ludus.run.context import RunContext
from ludus.run.reporting import Teller


@pytest.mark.parametrize("mode", ["serial", "overlapped"])
def test_host_restarts_and_voided_matches_add_up_over_a_resume(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty.install(tmp_path / "package", monkeypatch)
    watch = Watch()
    with ProgressCsv(tmp_path / "progress.csv") as table:
        for part, updates in ((1, 6), (2, 12)):
            options = {"game": "rps", "crash_after": 40, "fault_marker": str(tmp_path / f"crashed-{part}")}
            fleet = FleetConfig(hosts=1, matches=8, backoff_s=0.01)
            config = small_run(updates, mode=mode, game="faulty", options=options, fleet=fleet)
            result = train(config, tmp_path / "run", resume=part > 1, observer=Observers([watch, table]))
            assert counters(result)[names.HOSTS_RESTARTS] == part
            voided = counters(result)[names.VOIDED]
            assert counters(result)[names.VOIDED_BY("died")] == voided
            assert voided >= part
    assert watch.numbers[names.HOSTS_RESTARTS] == 2
    assert float(read(tmp_path / "progress.csv")[-1][names.HOSTS_RESTARTS]) == 2


def test_server_restarts_are_totals_of_the_run() -> None:
    metrics, watch = Metrics(), Watch()
    metrics.restore({names.SERVERS_RESTARTS: 3, names.SERVERS_RECYCLED: 10})
    learner = SimpleNamespace(used=0.5, training_s=1.0)
    parts = cast(RunContext, SimpleNamespace(metrics=metrics, learner=learner, observer=watch))
    healths = iter([ServersHealth(2, 2, 1, 0, 10.0, 5.0), ServersHealth(2, 1, 2, 1, 10.0, 5.0)])
    teller = Teller(parts, cast(Callable[[], ServersHealth | None], lambda: next(healths)))
    teller.tell(now=True)
    teller.tell(now=True)
    assert (watch.numbers[names.SERVERS_RESTARTS], watch.numbers[names.SERVERS_RECYCLED]) == (5, 11)
    assert watch.numbers[names.SERVERS_ALIVE] == 1
