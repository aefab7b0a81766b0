"""The supervisor is tested with a list and a number: no clock, no process."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ludus.config.settings import FleetConfig
from ludus.fleet.supervisor import (
    Answered,
    Assigned,
    Diverged,
    Event,
    Finished,
    Greeted,
    Heard,
    HostFailed,
    HostPhase,
    Owing,
    Played,
    Returned,
    Settled,
    StartHost,
    StopHost,
    Supervisor,
    Tick,
)

CONFIG = FleetConfig(hello_deadline_s=60, reply_deadline_s=30, backoff_s=1, backoff_max_s=5, failures_in_a_row=4)
DIED = HostFailed(0, "died", "exited with status 3")


def playing(hosts: int = 1) -> Supervisor:
    """Every host has said HELLO at 0 s and answered everything."""
    supervisor = Supervisor(CONFIG, hosts)
    supervisor.on(Tick(), 0.0)
    for host in range(hosts):
        supervisor.on(Greeted(host), 0.0)
        supervisor.on(Settled(host), 0.0)
    return supervisor


def test_first_tick_starts_every_host() -> None:
    supervisor = Supervisor(CONFIG, 3)
    assert supervisor.wake_s == 0.0
    assert supervisor.on(Tick(), 5.0) == [StartHost(0, 0), StartHost(1, 0), StartHost(2, 0)]
    assert supervisor.on(Tick(), 5.0) == []
    assert (supervisor.alive, supervisor.restarts, supervisor.given_up) == (0, 0, 0)


def test_host_that_does_not_greet_in_time_is_stopped() -> None:
    supervisor = Supervisor(CONFIG, 1)
    supervisor.on(Tick(), 0.0)
    assert supervisor.wake_s == 60.0
    assert supervisor.on(Tick(), 59.9) == []
    assert supervisor.on(Tick(), 60.0) == [StopHost(0, "hung", "did not say HELLO within 60 s", 1.0)]


def test_bytes_before_hello_do_not_extend_its_deadline() -> None:
    supervisor = Supervisor(CONFIG, 1)
    supervisor.on(Tick(), 0.0)
    supervisor.on(Heard(0), 50.0)
    assert supervisor.wake_s == 60.0


def test_host_owes_its_opening_after_hello() -> None:
    supervisor = Supervisor(CONFIG, 1)
    supervisor.on(Tick(), 0.0)
    supervisor.on(Greeted(0), 10.0)
    assert supervisor.alive == 1
    assert supervisor.wake_s == 40.0


def test_host_that_owes_nothing_has_no_deadline() -> None:
    supervisor = playing()
    assert supervisor.wake_s is None
    assert supervisor.on(Tick(), 1e9) == []


def test_silence_counts_from_the_oldest_unanswered_actions() -> None:
    supervisor = playing()
    supervisor.on(Owing(0), 100.0)
    supervisor.on(Owing(0), 120.0)
    assert supervisor.wake_s == 130.0
    assert supervisor.on(Tick(), 130.0) == [
        StopHost(0, "hung", "sent no row, ending or completed answer for 30 s while it owed an answer", 1.0)
    ]


def test_host_that_is_heard_has_its_full_time_again() -> None:
    supervisor = playing()
    supervisor.on(Owing(0), 100.0)
    supervisor.on(Heard(0), 125.0)
    assert supervisor.wake_s == 155.0
    supervisor.on(Settled(0), 126.0)
    supervisor.on(Heard(0), 127.0)
    assert supervisor.wake_s is None


def test_host_that_completes_an_answer_has_its_full_time_again() -> None:
    supervisor = playing()
    supervisor.on(Owing(0), 100.0)
    supervisor.on(Answered(0), 125.0)
    assert supervisor.wake_s == 155.0


def test_parts_of_an_answer_extend_it_up_to_a_limit() -> None:
    supervisor = playing()
    supervisor.on(Owing(0), 100.0)
    for now_s in range(120, 400, 20):
        supervisor.on(Heard(0), float(now_s))
        assert supervisor.on(Tick(), float(now_s)) == []
    assert supervisor.wake_s == 400.0
    assert supervisor.on(Tick(), 400.0) == [StopHost(0, "hung", "completed no answer for 300 s", 1.0)]


def test_host_that_completes_answers_now_and_then_may_owe_one_for_ever() -> None:
    supervisor = playing()
    supervisor.on(Owing(0), 100.0)
    for now_s in range(120, 4000, 20):
        supervisor.on(Answered(0), float(now_s))
        assert supervisor.on(Tick(), float(now_s)) == []


@pytest.mark.parametrize("greeted", [True, False])
def test_host_is_excused_once_when_nobody_read_what_it_wrote(greeted: bool) -> None:
    supervisor = playing() if greeted else Supervisor(CONFIG, 1)
    supervisor.on(Owing(0) if greeted else Tick(), 0.0)
    supervisor.on(Returned(), 100.0)
    assert supervisor.on(Tick(), 100.0) == []
    assert supervisor.wake_s == 105.0
    supervisor.on(Returned(), 105.0)
    assert [type(instruction) for instruction in supervisor.on(Tick(), 105.0)] == [StopHost]


def test_excuse_does_not_shorten_the_time_that_is_left_and_comes_anew_with_progress() -> None:
    supervisor = playing()
    supervisor.on(Owing(0), 0.0)
    supervisor.on(Returned(), 2.0)
    assert supervisor.wake_s == 30.0
    supervisor.on(Returned(), 40.0)
    supervisor.on(Heard(0), 41.0)
    supervisor.on(Returned(), 80.0)
    assert supervisor.wake_s == 85.0


def test_failed_host_starts_again_after_its_back_off() -> None:
    supervisor = playing()
    assert supervisor.on(DIED, 10.0) == [StopHost(0, "died", "exited with status 3", 1.0)]
    assert supervisor.phase(0) is HostPhase.RESTING
    assert supervisor.wake_s == 11.0
    assert supervisor.on(Tick(), 10.9) == []
    assert supervisor.on(Tick(), 11.0) == [StartHost(0, 1)]
    assert supervisor.restarts == 1


def test_back_off_doubles_up_to_its_limit_and_then_the_host_is_given_up() -> None:
    supervisor, pauses, now_s = Supervisor(FleetConfig(backoff_s=1, backoff_max_s=5, failures_in_a_row=6), 1), [], 0.0
    for _ in range(6):
        supervisor.on(Tick(), now_s)
        (stop,) = supervisor.on(DIED, now_s)
        assert isinstance(stop, StopHost)
        pauses.append(stop.again_in_s)
        now_s += stop.again_in_s or 0.0
    assert pauses == [1.0, 2.0, 4.0, 5.0, 5.0, None]
    assert supervisor.given_up == 1
    assert supervisor.on(Tick(), 1e9) == []
    assert supervisor.last_failure(0) == "exited with status 3"


def test_played_match_forgives_earlier_failures() -> None:
    supervisor, now_s = playing(), 0.0
    for _ in range(20):
        (stop,) = supervisor.on(DIED, now_s)
        assert isinstance(stop, StopHost)
        assert stop.again_in_s == 1.0
        now_s += 1.0
        supervisor.on(Tick(), now_s)
        supervisor.on(Greeted(0), now_s)
        supervisor.on(Played(0), now_s)
    assert supervisor.given_up == 0


def test_hello_alone_does_not_forgive() -> None:
    supervisor = playing()
    supervisor.on(DIED, 0.0)
    supervisor.on(Tick(), 1.0)
    supervisor.on(Greeted(0), 1.0)
    assert supervisor.on(DIED, 1.0) == [StopHost(0, "died", "exited with status 3", 2.0)]


def test_failure_of_one_host_does_not_touch_the_others() -> None:
    supervisor = playing(3)
    supervisor.on(Owing(2), 10.0)
    supervisor.on(HostFailed(1, "protocol", "garbage"), 12.0)
    assert [supervisor.phase(host) for host in range(3)] == [HostPhase.PLAYING, HostPhase.RESTING, HostPhase.PLAYING]
    assert supervisor.on(Tick(), 13.0) == [StartHost(1, 1)]
    assert supervisor.on(Tick(), 40.0) == [
        StopHost(2, "hung", "sent no row, ending or completed answer for 30 s while it owed an answer", 1.0)
    ]


def test_finished_host_may_die() -> None:
    supervisor = playing()
    supervisor.on(Finished(0), 5.0)
    assert supervisor.on(DIED, 6.0) == []
    assert supervisor.on(Tick(), 1e9) == []
    assert (supervisor.alive, supervisor.restarts) == (1, 0)


def test_finished_host_with_more_to_play_begins_again_at_once_and_has_not_failed() -> None:
    supervisor = playing()
    supervisor.on(Finished(0), 5.0)
    for attempt in range(1, 9):  # more often than it may fail
        assert supervisor.on(Assigned(0, "takes over"), 6.0) == [StopHost(0, "assigned", "takes over", 0.0)]
        assert supervisor.on(Tick(), 6.0) == [StartHost(0, attempt)]
        supervisor.on(Greeted(0), 6.0)
        supervisor.on(Finished(0), 6.0)
    assert supervisor.on(Tick(), 1e9) == []


@pytest.mark.parametrize(
    "event", [Greeted(0), Heard(0), Answered(0), Returned(), Owing(0), Settled(0), Played(0), DIED, Finished(0)]
)
def test_echoes_of_a_stopped_host_change_nothing(event: Event) -> None:
    supervisor = playing()
    supervisor.on(DIED, 10.0)
    assert supervisor.on(event, 10.5) == []
    assert (supervisor.phase(0), supervisor.wake_s) == (HostPhase.RESTING, 11.0)


EVENTS = st.one_of(
    st.builds(Tick),
    st.builds(Returned),
    *(st.builds(kind, st.integers(0, 2)) for kind in (Greeted, Owing, Heard, Answered, Settled, Played, Finished)),
    *(st.builds(kind, st.integers(0, 2), st.just("x")) for kind in (Assigned, Diverged)),
    st.builds(HostFailed, st.integers(0, 2), st.just("died"), st.just("x")),
)


@given(st.lists(st.tuples(EVENTS, st.floats(0, 40)), max_size=80))
def test_starts_and_stops_alternate_whatever_happens(story: list[tuple[Event, float]]) -> None:
    supervisor, now_s = Supervisor(CONFIG, 3), 0.0
    running, starts = [False] * 3, [0] * 3
    for event, pause_s in story:
        now_s += pause_s
        for instruction in supervisor.on(event, now_s):
            host = instruction.host
            assert running[host] == isinstance(instruction, StopHost)
            running[host] = not running[host]
            if isinstance(instruction, StartHost):
                assert instruction.incarnation == starts[host]
                starts[host] += 1
        wake_s = supervisor.wake_s
        assert wake_s is None or not isinstance(event, Tick) or wake_s > now_s


def test_host_whose_replay_diverged_begins_again_at_once_and_has_not_failed() -> None:
    supervisor = playing()
    for attempt in range(1, 9):  # more often than it may fail
        assert supervisor.on(Diverged(0, "match 3 did not"), 7.0) == [StopHost(0, "diverged", "match 3 did not", 0.0)]
        assert supervisor.on(Tick(), 7.0) == [StartHost(0, attempt)]
        supervisor.on(Greeted(0), 7.0)
    assert supervisor.alive == 1
