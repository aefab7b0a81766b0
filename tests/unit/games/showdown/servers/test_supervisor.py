"""Tested with a list and a number: no clock, no process."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ludus.games.showdown.servers.supervisor import (
    Drain,
    Event,
    Exited,
    Leave,
    Limits,
    ServerAnswered,
    ServerFailed,
    ServerPhase,
    ServerSupervisor,
    ServerTick,
    StartServer,
    Stayed,
    StopServer,
)

LIMITS = Limits(
    starting=2,
    start_deadline_s=60,
    answer_deadline_s=30,
    backoff_s=1,
    backoff_max_s=5,
    failures_in_a_row=4,
    steady_s=60,
    memory_mib=1000,
    drain_s=300,
    leave_deadline_s=10,
)
SMALL, LARGE = 300.0, 1500.0


def ready(servers: int = 1) -> ServerSupervisor:
    """All were started and have answered at 0 s."""
    supervisor = ServerSupervisor(LIMITS, servers)
    for server in range(servers):
        supervisor.on(ServerTick(), 0.0)
        supervisor.on(ServerAnswered(server, SMALL, 0), 0.0)
    return supervisor


def test_no_more_start_at_once_than_allowed() -> None:
    supervisor = ServerSupervisor(LIMITS, 4)
    assert supervisor.on(ServerTick(), 0.0) == [StartServer(0), StartServer(1)]
    assert supervisor.on(ServerTick(), 1.0) == []
    supervisor.on(ServerAnswered(1, SMALL, 0), 2.0)
    assert supervisor.on(ServerTick(), 2.0) == [StartServer(2)]
    supervisor.on(ServerAnswered(0, SMALL, 0), 3.0)
    assert supervisor.on(ServerTick(), 3.0) == [StartServer(3)]


def test_a_server_that_is_not_ready_in_time_is_started_again_after_a_pause() -> None:
    supervisor = ServerSupervisor(LIMITS, 1)
    supervisor.on(ServerTick(), 0.0)
    assert supervisor.on(ServerTick(), 59.9) == []
    assert supervisor.on(ServerTick(), 60.0) == [StopServer(0, "was not ready within 60 s", 1.0)]
    assert supervisor.on(ServerTick(), 60.9) == []
    assert supervisor.on(ServerTick(), 61.0) == [StartServer(0)]
    assert supervisor.restarts(0) == 1


def test_a_server_that_ended_comes_back_and_the_others_stay() -> None:
    supervisor = ready(2)
    assert supervisor.on(Exited(1, "was ended by SIGKILL"), 5.0) == [StopServer(1, "was ended by SIGKILL", 1.0)]
    assert supervisor.phase(0) is ServerPhase.READY
    assert supervisor.on(ServerTick(), 6.0) == [StartServer(1)]
    assert supervisor.last_failure(1) == "was ended by SIGKILL"


def test_pauses_double_up_to_the_longest_and_then_it_is_given_up() -> None:
    supervisor = ServerSupervisor(LIMITS, 1)
    pauses, now = [], 0.0
    for _ in range(4):
        supervisor.on(ServerTick(), now)
        (stop,) = supervisor.on(Exited(0, "exited with status 1"), now)
        assert isinstance(stop, StopServer)
        pauses.append(stop.again_in_s)
        now += stop.again_in_s or 0.0
    assert pauses == [1.0, 2.0, 4.0, None]
    assert supervisor.phase(0) is ServerPhase.GIVEN_UP
    assert supervisor.on(ServerTick(), 1e9) == []


def test_failures_before_a_time_of_service_do_not_count() -> None:
    supervisor = ServerSupervisor(LIMITS, 1)
    now = 0.0
    for _ in range(10):
        supervisor.on(ServerTick(), now)
        supervisor.on(ServerAnswered(0, SMALL, 0), now)
        supervisor.on(ServerAnswered(0, SMALL, 0), now + 60.0)
        assert supervisor.on(ServerFailed(0, "broke"), now + 61.0) == [StopServer(0, "broke", 1.0)]
        now += 62.0


def test_a_silent_server_is_killed_and_a_late_one_is_not() -> None:
    supervisor = ready()
    supervisor.on(ServerAnswered(0, SMALL, 3), 29.0)
    assert supervisor.on(ServerTick(), 58.9) == []
    assert supervisor.on(ServerTick(), 59.0) == [StopServer(0, "did not answer for 30 s", 1.0)]


def test_a_grown_server_is_recycled_only_between_battles() -> None:
    supervisor = ready()
    assert supervisor.on(ServerAnswered(0, LARGE, 2), 100.0) == []
    assert supervisor.on(ServerAnswered(0, LARGE, 0), 101.0) == [Leave(0)]
    assert supervisor.on(Exited(0, "exited with status 0"), 102.0) == [StopServer(0, "recycled", 0.0)]
    assert supervisor.on(ServerTick(), 102.0) == [StartServer(0)]
    assert (supervisor.recycled(0), supervisor.restarts(0), supervisor.last_failure(0)) == (1, 0, "")


def test_a_battle_that_begins_meanwhile_keeps_the_server() -> None:
    supervisor = ready()
    assert supervisor.on(ServerAnswered(0, LARGE, 0), 100.0) == [Leave(0)]
    assert supervisor.on(Stayed(0), 100.5) == []
    assert supervisor.phase(0) is ServerPhase.READY
    assert supervisor.on(ServerTick(), 111.0) == []
    assert supervisor.on(ServerAnswered(0, LARGE, 0), 112.0) == [Leave(0)]


def test_a_server_that_cannot_say_how_many_battles_run_is_never_recycled() -> None:
    supervisor = ready()
    assert [supervisor.on(ServerAnswered(0, LARGE, None), 100.0 + i) for i in range(1000)] == [[]] * 1000


def test_a_server_that_has_just_started_is_not_recycled() -> None:
    supervisor = ready()
    assert supervisor.on(ServerAnswered(0, LARGE, 0), 59.0) == []


def test_a_grown_server_without_a_pause_between_battles_is_drained_once() -> None:
    supervisor = ready()
    assert supervisor.on(ServerAnswered(0, LARGE, 2), 100.0) == []
    assert supervisor.on(ServerAnswered(0, LARGE, 2), 399.0) == []
    assert supervisor.on(ServerAnswered(0, LARGE, 2), 400.0) == [Drain(0)]
    assert supervisor.on(ServerAnswered(0, LARGE, 1), 401.0) == []
    assert supervisor.phase(0) is ServerPhase.DRAINING
    assert supervisor.on(ServerAnswered(0, SMALL, 0), 402.0) == [Leave(0)]  # it takes no battles


def test_memory_that_falls_again_starts_the_wait_anew() -> None:
    supervisor = ready()
    supervisor.on(ServerAnswered(0, LARGE, 2), 100.0)
    supervisor.on(ServerAnswered(0, SMALL, 2), 200.0)
    assert supervisor.on(ServerAnswered(0, LARGE, 2), 450.0) == []
    assert supervisor.on(ServerAnswered(0, LARGE, 2), 750.0) == [Drain(0)]


def test_a_server_that_does_not_leave_is_killed() -> None:
    supervisor = ready()
    supervisor.on(ServerAnswered(0, LARGE, 0), 100.0)
    assert supervisor.on(ServerTick(), 110.0) == [StopServer(0, "did not leave within 10 s", 1.0)]


EVENTS = st.one_of(
    st.just(ServerTick()),
    st.builds(ServerAnswered, st.just(0), st.sampled_from([SMALL, LARGE]), st.sampled_from([None, 0, 2])),
    st.just(Stayed(0)),
    st.just(Exited(0, "gone")),
    st.just(ServerFailed(0, "broken")),
)


@given(st.lists(st.tuples(EVENTS, st.floats(0.0, 100.0)), max_size=60))
def test_starts_and_stops_alternate_whatever_happens(story: list[tuple[Event, float]]) -> None:
    supervisor, now, running = ServerSupervisor(LIMITS, 1), 0.0, False
    for event, later_s in story:
        now += later_s
        for instruction in supervisor.on(event, now):
            if isinstance(instruction, StartServer):
                assert not running
                running = True
            elif isinstance(instruction, StopServer):
                assert running
                running = False
            else:
                assert running
            if isinstance(instruction, Leave):
                assert isinstance(event, ServerAnswered)
                assert event.battles == 0
