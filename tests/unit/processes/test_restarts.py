from __future__ import annotations

from dataclasses import dataclass

from ludus.processes.restarts import Restarts


@dataclass(frozen=True)
class Limits:
    backoff_s: float = 1.0
    backoff_max_s: float = 5.0
    failures_in_a_row: int = 5


def test_pauses_double_up_to_the_longest_and_then_it_is_given_up() -> None:
    restarts = Restarts(Limits())
    assert [restarts.failed(f"fault {number}") for number in range(5)] == [1.0, 2.0, 4.0, 5.0, None]
    assert restarts.last_failure == "fault 4"


def test_failures_before_it_did_its_work_do_not_count() -> None:
    restarts = Restarts(Limits(failures_in_a_row=2))
    assert restarts.failed("once") == 1.0
    restarts.recovered()
    assert restarts.failed("again") == 1.0
    assert restarts.failed("at once") is None


def test_starts_are_counted_from_the_first() -> None:
    restarts = Restarts(Limits(), "never started")
    assert (restarts.starts, restarts.last_failure) == (0, "never started")
    assert [restarts.started(), restarts.started()] == [0, 1]
    assert restarts.starts == 2
