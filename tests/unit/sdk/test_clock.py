from __future__ import annotations

from ludus.sdk.clock import KEPT, ActivityClock


class Clock:
    ns = 0

    def __call__(self) -> int:
        return self.ns


def test_all_time_belongs_to_an_activity_and_what_is_said_begins_anew() -> None:
    time = Clock()
    clock = ActivityClock(0.5, time)
    for activity, ns in (("wait", 100), ("simulate", 600_000_000), ("send", 7)):
        time.ns += ns
        clock.lap(activity)
    said = clock.due()
    assert said is not None
    assert said.wall_ns == 600_000_107 == sum(found.total_ns for found in said.activities.values())
    assert clock.due() is None


def test_many_laps_between_two_reports_take_a_bounded_room() -> None:
    time = Clock()
    clock = ActivityClock(1.0, time)
    for _ in range(3 * KEPT):
        time.ns += 1000
        clock.lap("simulate")
        assert clock.due() is None
        assert len(clock._spent_ns["simulate"]) < KEPT
    time.ns += 1_000_000_000
    clock.lap("wait")
    said = clock.due()
    assert said is not None
    assert said.activities["simulate"].passes == 3 * KEPT


def test_a_clock_that_nobody_asks_counts_nothing() -> None:
    time = Clock()
    clock = ActivityClock(None, time)
    time.ns += 10**10
    clock.lap("wait")
    assert clock.due() is None
