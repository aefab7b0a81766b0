"""run.log, always; and the same lines on stdout when it is no terminal."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TextIO

from ludus.metrics.exporters import text
from ludus.metrics.observer import ALONE, Numbers, Result

LOGGER = "ludus"  # what every module of ludus logs under
EVERY_S = 10.0


class LogLines:
    """Logs one line about every ten seconds, one for each evaluated opponent, and the last report when closed."""

    def __init__(
        self, logger: logging.Logger, every_s: float = EVERY_S, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._logger = logger
        self._every_s = every_s
        self._clock_s = clock_s
        self._due_s = clock_s()
        self._numbers: Numbers = {}
        self._waiting = False

    def on_progress(self, numbers: Numbers) -> None:
        self._numbers = {**self._numbers, **numbers}
        self._waiting = True
        if self._clock_s() >= self._due_s:
            self._log()

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        what = "final evaluation" if final else "evaluation"
        for result in results:
            if result.opponent == ALONE:
                self._logger.info("%s: %s in a match, %d matches", what, text.earned(result), result.matches)
                continue
            low, high = result.interval
            self._logger.info(
                "%s against %s: %s won (95%%: %s to %s), %d matches",
                what,
                result.opponent,
                text.percent(result.win_rate, 1),
                text.percent(low, 1),
                text.percent(high, 1),
                result.matches,
            )

    def close(self) -> None:
        if self._waiting:
            self._log()

    def __enter__(self) -> LogLines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _log(self) -> None:
        self._logger.info(text.line(self._numbers))
        self._waiting = False
        self._due_s = self._clock_s() + self._every_s


@contextmanager
def logging_to(path: Path, stream: TextIO | None = None) -> Iterator[logging.Logger]:
    """Everything that ludus logs goes to the end of a file and, without tracebacks, to `stream`."""
    logger = logging.getLogger(LOGGER)
    level = logger.level
    path.parent.mkdir(parents=True, exist_ok=True)
    handlers: list[logging.Handler] = [logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")]
    handlers[0].setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    if stream is not None:
        handlers.append(logging.StreamHandler(stream))
        handlers[1].setFormatter(_WithoutTraceback("%(asctime)s %(message)s", "%H:%M:%S"))
    for handler in handlers:
        logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield logger
    finally:
        logger.setLevel(level)
        for handler in reversed(handlers):
            logger.removeHandler(handler)
            handler.close()


class _WithoutTraceback(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        copy = logging.makeLogRecord({**record.__dict__, "exc_info": None, "exc_text": None, "stack_info": None})
        return super().format(copy)
