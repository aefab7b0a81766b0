"""Whoever watches a run sees an evaluation advance, match by match."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.running import NEVER, small_run, train

from ludus.config.settings import EvaluationConfig, FleetConfig
from ludus.metrics import names
from ludus.metrics.observer import Numbers, Result
from ludus.run import reporting


class Watcher:
    def __init__(self) -> None:
        self.seen: list[tuple[float | str, ...]] = []

    def on_progress(self, numbers: Numbers) -> None:
        if numbers.get(names.PHASE) == "evaluating":
            shown = (names.EVALUATED, names.EVALUATION_MATCHES, names.EVALUATION_OPPONENT)
            self.seen.append(tuple(numbers[name] for name in shown))

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None: ...


def test_every_match_of_an_evaluation_is_counted_with_its_opponent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporting, "PROGRESS_S", 0.0)
    config = small_run(
        1,
        options={"game": "nim"},
        fleet=FleetConfig(hosts=1, matches=2),
        evaluation=EvaluationConfig(matches=4, opponents=("random", "perfect"), every_updates=NEVER),
    )
    watcher = Watcher()
    train(config, tmp_path, observer=watcher)
    assert [ended for ended, _, _ in watcher.seen] == list(range(9))
    assert {scheduled for _, scheduled, _ in watcher.seen} == {8}
    assert [watcher.seen[0][2], watcher.seen[-1][2]] == ["random", "perfect"]
