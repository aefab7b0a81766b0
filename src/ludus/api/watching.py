"""Sets up the observers of a run: those that write files into its folder, and those of the caller."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

from ludus.config.settings import MetricsConfig
from ludus.evaluation.report import EVALUATIONS, PROGRESS
from ludus.metrics.exporters.csv import ProgressCsv
from ludus.metrics.exporters.evaluations import EvaluationLog
from ludus.metrics.exporters.log import LogLines, logging_to
from ludus.metrics.exporters.tensorboard import TensorBoard
from ludus.metrics.exporters.tolerant import Tolerant
from ludus.metrics.failures import Failures
from ludus.metrics.observer import Observers, RunObserver


@contextmanager
def watched(
    folder: Path,
    title: str,
    watchers: Mapping[str, RunObserver],
    *,
    lines_to: TextIO | None = None,
    observer: RunObserver | None = None,
) -> Iterator[RunObserver]:
    """Return one observer that forwards to all: progress.csv, evaluations.jsonl, TensorBoard, run.log and `watchers`.

    Use it in a `with` statement, which closes the files at the end. Log lines are also written to `lines_to`. If one of
    the files or watchers fails, the failure is counted and logged once under its name, and it is called again for the
    next report. If the caller's own `observer` raises an exception, the run ends.
    """
    failures = Failures()
    with ExitStack() as stack:
        logger = stack.enter_context(logging_to(folder / "run.log", lines_to, failures))
        stack.enter_context(_logged(logger))
        logger.info("%s", title)
        observers: dict[str, RunObserver] = {
            PROGRESS: ProgressCsv(folder / PROGRESS),
            EVALUATIONS: EvaluationLog(folder / EVALUATIONS),
            "tensorboard": TensorBoard(folder / "tensorboard"),
            "the log": LogLines(logger),
            **watchers,
        }
        tolerant = [stack.enter_context(Tolerant(name, each, failures)) for name, each in observers.items()]
        yield Observers([*tolerant, *([] if observer is None else [observer])], failures)


def configured(config: MetricsConfig, folder: Path) -> dict[str, RunObserver]:
    """Return the observers that the settings of a run ask for, by name. Raises SetupError if a package is missing."""
    if config.prometheus is None:
        return {}
    from ludus.metrics.exporters.prometheus import PrometheusExporter

    return {"Prometheus": PrometheusExporter(config.prometheus, folder)}


@contextmanager
def _logged(logger: logging.Logger) -> Iterator[None]:
    """Log an exception that ends the run, with its traceback, and raise it again."""
    try:
        yield
    except Exception:
        logger.exception("the run stopped")
        raise
