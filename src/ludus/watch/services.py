"""Sends the numbers of a run to Weights & Biases or MLflow, from a process of its own: `ludus export`.

It follows the run's progress.csv, so a service that is slow or down never holds up the run: what could not be sent is
sent when the service answers again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from ludus.errors import SetupError
from ludus.metrics import names
from ludus.watch import run_files, runs_folder, status
from ludus.watch.progress import LONGEST_ROW, TEXTS, cells_of

POLL_S = 5.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 300.0

Row = dict[str, float]


class Service(Protocol):
    """A place to send numbers to."""

    def send(self, step: int, row: Row) -> None:
        """Send one row. Raises an exception if it could not be sent; it is then sent again later."""
        ...

    def close(self) -> None: ...


class NewRows:
    """Returns each row of a progress.csv once, also if the file is replaced by that of a resumed run."""

    def __init__(self, run: Path, every_s: float) -> None:
        self._run = run
        self._every_s = every_s
        self._identity = (-1, -1)
        self._offset = 0
        self._columns: list[str] = []
        self._last_s = -math.inf  # training time of the latest row that was returned

    def take(self) -> Iterator[Row]:
        """Return the rows since the last call that are at least `every_s` seconds of training apart."""
        try:
            with runs_folder.opened(self._run, runs_folder.PROGRESS) as file:
                stamp = runs_folder.stamp(self._run, runs_folder.PROGRESS)
                if stamp[:1] != self._identity[:1] or stamp[-1] < self._offset:
                    self._identity, self._offset, self._columns = (stamp[0], 0), 0, []
                file.seek(self._offset)
                while (line := file.readline(LONGEST_ROW)).endswith(b"\n"):
                    self._offset += len(line)
                    cells = cells_of(line)
                    if not self._columns:
                        self._columns = cells
                    elif (row := self._row(cells)) is not None:
                        yield row
        except OSError:
            return

    def _row(self, cells: list[str]) -> Row | None:
        pairs = zip(self._columns, cells, strict=False)
        row = {name: value for name, cell in pairs if name not in TEXTS and math.isfinite(value := _number(cell))}
        second = row.get(names.TRAINING_S)
        if len(cells) != len(self._columns) or second is None or second < self._last_s + self._every_s:
            return None
        self._last_s = second
        return row


def follow(
    run: Path,
    service: Service,
    *,
    every_s: float,
    tell: Callable[[str], None],
    pause: Callable[[float], None] = time.sleep,
) -> int:
    """Send the rows of a run until it has ended and all are sent. Returns their number."""
    rows = NewRows(run, every_s)
    count = 0
    while True:
        is_running = status.state(run, has_final=False) == "running"
        for row in rows.take():
            _send(service, int(row.get(names.UPDATES, count)), row, tell, pause)
            count += 1
        if not is_running:
            return count
        pause(POLL_S)


def _send(service: Service, step: int, row: Row, tell: Callable[[str], None], pause: Callable[[float], None]) -> None:
    """Send a row, again and again until the service takes it."""
    pause_s = FIRST_PAUSE_S
    while True:
        try:
            service.send(step, row)
            return
        except Exception as error:  # whatever the service's own package raises
            tell(
                f"the service does not take the numbers ({type(error).__name__}: {error}); next try in {pause_s:.0f} s"
            )
            pause(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


class Wandb:
    """A run of Weights & Biases. Its own settings apply, such as WANDB_MODE=offline and WANDB_DIR."""

    def __init__(self, run: Path, project: str) -> None:
        try:
            import wandb
        except ImportError as error:
            raise _missing("wandb") from error
        config = dict(run_files.config(run))
        self._run: Any = wandb.init(project=project, name=run.name, config=config)  # Any: an optional package

    def send(self, step: int, row: Row) -> None:
        self._run.log(row)  # without a step: several rows may be of one update; progress/updates is among the numbers

    def close(self) -> None:
        self._run.finish()


class Mlflow:
    """A run of MLflow. Its own settings apply, such as MLFLOW_TRACKING_URI."""

    def __init__(self, run: Path, project: str) -> None:
        try:
            import mlflow
        except ImportError as error:
            raise _missing("mlflow") from error
        self._mlflow: Any = mlflow  # Any: an optional package
        mlflow.set_experiment(project)
        mlflow.start_run(run_name=run.name)
        mlflow.log_params({key: str(value)[:500] for key, value in run_files.config(run).items()})

    def send(self, step: int, row: Row) -> None:
        self._mlflow.log_metrics({name.replace("@", "_"): value for name, value in row.items()}, step=step)

    def close(self) -> None:
        self._mlflow.end_run()


SERVICES: dict[str, Callable[[Path, str], Service]] = {"wandb": Wandb, "mlflow": Mlflow}


def _missing(package: str) -> SetupError:
    return SetupError(f"this needs a package that is not installed: pip install 'ludus-rl[{package}]'")


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan
