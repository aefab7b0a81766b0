from __future__ import annotations

import errno
import logging
from collections.abc import Sequence
from types import TracebackType

import pytest

from ludus.metrics.exporters.tolerant import Tolerant
from ludus.metrics.failures import QUIET_S, Failures
from ludus.metrics.observer import CountsFailures, Numbers, Observers, Result


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Fragile:
    """An observer that fails as long as it has an error, and remembers what it was told."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.told: list[object] = []
        self.calls = 0
        self.closed = False

    def on_progress(self, numbers: Numbers) -> None:
        self._take(numbers["n"])

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        self._take("evaluation")

    def __enter__(self) -> Fragile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closed = True
        if self.error is not None:
            raise self.error

    def _take(self, what: object) -> None:
        self.calls += 1
        if self.error is not None:
            raise self.error
        self.told.append(what)


FULL = OSError(errno.ENOSPC, "No space left on device")


def test_one_that_fails_is_counted_and_the_others_are_told() -> None:
    failures, fragile, healthy = Failures(), Fragile(), Fragile()
    fragile.error = FULL
    observers = Observers([Tolerant(name, each, failures) for name, each in (("a", fragile), ("b", healthy))], failures)
    assert isinstance(observers, CountsFailures)
    observers.on_progress({"n": 1})
    observers.on_evaluation([])
    assert healthy.told == [1, "evaluation"]
    assert (observers.take_failures(), observers.take_failures()) == (3, 0)  # numbers, again before the evaluation


def test_it_is_tried_again_less_and_less_often_and_goes_on_with_the_latest_numbers() -> None:
    clock, fragile = Clock(), Fragile()
    tolerant = Tolerant("progress.csv", fragile, Failures(clock), clock)
    fragile.error = FULL
    for second in range(120):
        clock.now_s = float(second)
        tolerant.on_progress({"n": second})
    assert fragile.calls == 8  # after 0, 1, 3, 7, 15, 31, 61 and 91 s
    fragile.error = None
    clock.now_s = 121.0
    tolerant.on_progress({"n": 121})
    clock.now_s = 122.0
    tolerant.on_progress({"n": 122})
    assert fragile.told == [121, 122]


def test_an_evaluation_is_passed_on_at_once_behind_the_numbers_that_belong_to_it() -> None:
    clock, fragile = Clock(), Fragile()
    tolerant = Tolerant("evaluations.jsonl", fragile, Failures(clock), clock)
    fragile.error = FULL
    tolerant.on_progress({"n": 1})
    fragile.error = None
    tolerant.on_progress({"n": 2})
    tolerant.on_evaluation([])
    assert fragile.told == [2, "evaluation"]


def test_what_was_left_out_is_passed_on_at_the_end_and_closing_raises_nothing() -> None:
    clock, fragile = Clock(), Fragile()
    with Tolerant("progress.csv", fragile, Failures(clock), clock) as tolerant:
        fragile.error = FULL
        tolerant.on_progress({"n": 1})
        fragile.error = None
    assert fragile.told == [1]
    with Tolerant("progress.csv", fragile, Failures(clock), clock):
        fragile.error = FULL
    assert fragile.closed


def test_a_failure_and_its_end_are_said_once_each(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    failures = Failures(clock)
    for _ in range(5):
        failures.note("run.log", FULL)
    failures.end("run.log")
    failures.end("run.log")
    assert [record.getMessage() for record in caplog.records] == [
        "run.log cannot be written: no space left on the disk; the run goes on, and writing is tried again",
        "run.log is written again; 5 writes failed",
    ]


def test_a_disk_that_fails_and_works_in_turn_is_mentioned_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    failures = Failures(clock)
    for second in range(int(3 * QUIET_S)):
        clock.now_s = float(second)
        failures.note("run.log", FULL)
        failures.end("run.log")
    assert failures.take() == 3 * QUIET_S
    assert sum("cannot be written" in record.getMessage() for record in caplog.records) == 3


def test_an_error_that_is_a_bug_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    fragile = Fragile()
    fragile.error = KeyError("no such name")
    Tolerant("tensorboard", fragile, Failures()).on_progress({"n": 1})
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "tensorboard cannot be written: KeyError: 'no such name'" in record.getMessage()
    assert record.exc_info is not None
