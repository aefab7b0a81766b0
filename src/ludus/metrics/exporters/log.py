"""run.log. If stdout is not a terminal, the same lines also go there."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TextIO

from ludus.files import Appender
from ludus.metrics.exporters import text
from ludus.metrics.failures import Failures
from ludus.metrics.observer import ALONE, Numbers, Result

LOGGER = "ludus"  # parent of the loggers of all modules
EVERY_S = 10.0


class LogLines:
    """Logs a line about every ten seconds, one for each evaluated opponent, and the last report when closed."""

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
def logging_to(path: Path, stream: TextIO | None = None, failures: Failures | None = None) -> Iterator[logging.Logger]:
    """Append all log records of ludus to a file and, without tracebacks, to `stream`.

    Raises OSError if the file cannot be opened. Lines that cannot be written later are counted in `failures`.
    """
    logger = logging.getLogger(LOGGER)
    level = logger.level
    counted = failures or Failures()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.open("ab").close()
    handlers: list[logging.Handler] = [_LogFile(path, counted)]
    if stream is not None:
        handlers.append(_Terminal(stream, counted))
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


class _LogFile(logging.Handler):
    """A log file that drops lines it cannot write and logs their number once it can write again."""

    def __init__(self, path: Path, failures: Failures) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        self._what = path.name
        self._file = Appender(path)
        self._failures = failures
        self._failing = False

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._file.write((self.format(record) + "\n").encode("utf-8", "backslashreplace"))
        except Exception as error:  # an error of the log must not end the run
            self._failing = True
            self._failures.note(self._what, error)
            return
        if self._failing:
            self._failing = False
            self._failures.end(self._what)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Terminal(logging.StreamHandler[TextIO]):
    """Writes log lines to a stream. Errors (a full disk, a closed pipe) are only counted."""

    def __init__(self, stream: TextIO, failures: Failures) -> None:
        super().__init__(stream)
        self.setFormatter(_WithoutTraceback("%(asctime)s %(message)s", "%H:%M:%S"))
        self._failures = failures
        self._failing = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  the name is that of logging
        error = sys.exception()
        if not self._failing and isinstance(error, Exception):
            self._failing = True
            try:
                self._failures.note("the standard output", error)
            finally:
                self._failing = False


class _WithoutTraceback(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        copy = logging.makeLogRecord({**record.__dict__, "exc_info": None, "exc_text": None, "stack_info": None})
        return super().format(copy)
