from __future__ import annotations

import io
import logging
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from ludus.metrics import names
from ludus.metrics.exporters.log import LogLines, logging_to
from ludus.metrics.failures import Failures


class Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(record.getMessage())


def logger_to(handler: logging.Handler) -> logging.Logger:
    logger = logging.Logger("test", logging.INFO)  # one of its own, outside the tree of loggers
    logger.addHandler(handler)
    return logger


def test_a_line_is_logged_every_ten_seconds_and_at_the_end() -> None:
    lines, now = Lines(), [0.0]
    log = LogLines(logger_to(lines), every_s=10.0, clock_s=lambda: now[0])
    for second in range(25):
        now[0] = float(second)
        log.on_progress({names.UPDATES: second})
    log.close()
    updates = [line.split("update ")[1].split(" ")[0] for line in lines.seen]
    assert updates == ["0", "10", "20", "24"]


def test_an_evaluation_is_one_line_an_opponent() -> None:
    lines = Lines()
    result = SimpleNamespace(opponent="random", matches=400, win_rate=0.985, interval=(0.9678, 0.9931))
    LogLines(logger_to(lines)).on_evaluation([result], final=True)
    assert lines.seen == ["final evaluation against random: 98.5% won (95%: 96.8% to 99.3%), 400 matches"]


def test_tracebacks_go_to_the_file_and_one_line_to_the_stream(tmp_path: Path) -> None:
    stream = io.StringIO()
    with logging_to(tmp_path / "deep" / "run.log", stream) as logger:
        try:
            raise ValueError("broken frame")
        except ValueError:
            logger.exception("host 3 is restarted")
    assert "Traceback" in (tmp_path / "deep" / "run.log").read_text()
    assert stream.getvalue().endswith("host 3 is restarted\n")
    assert "Traceback" not in stream.getvalue()
    assert not logger.handlers


def test_a_second_part_of_a_run_is_added_to_the_same_log(tmp_path: Path) -> None:
    for words in ("first", "second"):
        with logging_to(tmp_path / "run.log") as logger:
            logger.info(words)
    assert [line.split(": ")[1] for line in (tmp_path / "run.log").read_text().splitlines()] == ["first", "second"]


def test_a_log_on_a_full_disk_is_counted_and_raises_and_prints_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.log").symlink_to("/dev/full")
    failures, stream = Failures(), io.StringIO()
    with logging_to(tmp_path / "run.log", stream, failures) as logger:
        for _ in range(3):
            logger.info("a line")
    assert capfd.readouterr() == ("", "")
    assert failures.take() == 4  # the line that says so included
    assert stream.getvalue().count("run.log cannot be written: no space left on the disk") == 1
    assert stream.getvalue().count("a line") == 3


def test_a_terminal_that_cannot_be_written_is_counted_and_the_log_goes_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    failures = Failures()
    with suppress(OSError), open("/dev/full", "w", buffering=1) as stream:  # closing it fails, too
        with logging_to(tmp_path / "run.log", stream, failures) as logger:
            logger.info("one line")
            logger.info("another line")
        assert failures.take() >= 2
    assert capfd.readouterr().err == ""
    log = (tmp_path / "run.log").read_text()
    assert "one line" in log
    assert "another line" in log
    assert log.count("the standard output cannot be written: no space left on the disk") == 1
