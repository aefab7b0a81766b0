"""Numbers of a run are sent to a service once each, also when it fails for a while or the run is resumed."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from tests.watched import make_run, row
from typer.testing import CliRunner

from ludus.cli.main import app
from ludus.metrics import names
from ludus.metrics.exporters.csv import ProgressCsv
from ludus.run import lock
from ludus.watch import services


class Listener:
    """A service that fails a number of times before it takes each row."""

    def __init__(self, failures: int = 0) -> None:
        self.rows: list[tuple[int, float]] = []
        self._failures = self._left = failures

    def send(self, step: int, row: services.Row) -> None:
        if self._left:
            self._left -= 1
            raise ConnectionError("nobody answers")
        self._left = self._failures
        assert all(isinstance(value, float) for value in row.values())
        self.rows.append((step, row[names.TRAINING_S]))

    def close(self) -> None:
        pass


def test_rows_of_an_ended_run_are_sent_once(tmp_path: Path) -> None:
    run, listener = make_run(tmp_path / "run", 30), Listener()
    assert services.follow(run, listener, every_s=10.0, tell=print, pause=lambda seconds: None) == 3
    assert listener.rows == [(0, 0.0), (10, 10.0), (20, 20.0)]


def test_a_service_that_is_down_is_tried_again_with_growing_pauses(tmp_path: Path) -> None:
    run, listener = make_run(tmp_path / "run", 2), Listener(failures=3)
    pauses: list[float] = []
    told: list[str] = []
    services.follow(run, listener, every_s=0.0, tell=told.append, pause=pauses.append)
    assert [second for _, second in listener.rows] == [0.0, 1.0]
    assert pauses == [5.0, 10.0, 20.0] * 2
    assert told[0] == "the service does not take the numbers (ConnectionError: nobody answers); next try in 5 s"


def test_a_running_run_is_followed_until_it_ends(tmp_path: Path) -> None:
    run, listener = make_run(tmp_path / "run", 3), Listener()
    holder = lock.Holder(os.getpid(), lock.Holder.here().host, "now", lock.Holder.here().command)
    (run / "lock").write_bytes(msgspec.json.encode(holder))

    def resume_and_end(seconds: float) -> None:
        """The run is resumed from its second row, plays on and ends."""
        with ProgressCsv(run / "progress.csv") as progress:
            for second in (1.0, 2.0, 3.0):
                progress.on_progress(row(second, **{"loss/policy": 0.5}))
        (run / "lock").unlink()

    services.follow(run, listener, every_s=0.5, tell=print, pause=resume_and_end)
    assert [second for _, second in listener.rows] == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["wandbb", "RUN"], "there is no service 'wandbb'; did you mean wandb?"),
        (["mlflow", "missing"], "missing is no run; name the folder of one"),
    ],
)
def test_wrong_names_are_refused(tmp_path: Path, words: list[str], message: str) -> None:
    run = make_run(tmp_path / "run", 2)
    result = CliRunner().invoke(app, ["export", *(str(run) if word == "RUN" else word for word in words)])
    assert message in str(result.exception)
