"""Decides which server is started, stopped, recycled or given up. Pure: events and the time in, instructions out.

          a tick, back-off over             it answers            it answers: over the memory limit, no battle runs
RESTING ───────────────────► STARTING ────────► READY ─────────────────────────────────────────► LEAVING
   ▲                            │                 └► DRAINING, when battles follow each other ──────┘ │
   │◄── it failed or exited, ───┴── or was silent for too long                                        │
   │◄── it exited, which is no failure here: it restarts at once ─────────────────────────────────────┘
   └──► GIVEN_UP after `failures_in_a_row` failures without `steady_s` of service between them

At most `starting` servers start at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from msgspec import Struct

from ludus.config.settings import Count, Positive
from ludus.processes.restarts import Restarts


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    starting: Count = 2  # at once: each takes a core for four seconds
    start_deadline_s: Positive = 120.0
    answer_deadline_s: Positive = 30.0  # a busy server answers late, a hung one never
    backoff_s: Positive = 0.5  # doubled with each failure in a row, at most backoff_max_s
    backoff_max_s: Positive = 30.0
    failures_in_a_row: Count = 5  # then that server is given up
    steady_s: Positive = 60.0  # of service, and earlier failures do not count; none is recycled before
    memory_mib: Positive = 1024.0  # past it a server is recycled when no battle runs; a fresh one has about 450
    drain_s: Positive = 300.0  # past the limit for so long without a moment between battles: no new ones
    leave_deadline_s: Positive = 10.0


@dataclass(frozen=True, slots=True)
class ServerAnswered:
    """The server has answered. `battles` is None if it does not know their number; it is then never recycled."""

    server: int
    memory_mib: float
    battles: int | None


@dataclass(frozen=True, slots=True)
class Stayed:
    """The server was told to exit, but continues, because a battle had begun."""

    server: int


@dataclass(frozen=True, slots=True)
class Exited:
    server: int
    detail: str


@dataclass(frozen=True, slots=True)
class ServerFailed:
    """The server cannot be started, or another program answers at its port."""

    server: int
    detail: str


@dataclass(frozen=True, slots=True)
class ServerTick:
    """Time has passed."""


Event = ServerAnswered | Stayed | Exited | ServerFailed | ServerTick


@dataclass(frozen=True, slots=True)
class StartServer:
    server: int


@dataclass(frozen=True, slots=True)
class Drain:
    """Let no battle begin any more."""

    server: int


@dataclass(frozen=True, slots=True)
class Leave:
    """Let it exit if no battle is running; Stayed when it does not."""

    server: int


@dataclass(frozen=True, slots=True)
class StopServer:
    """Kill what is left of it."""

    server: int
    detail: str
    again_in_s: float | None  # None: never


Instruction = StartServer | Drain | Leave | StopServer


class ServerPhase(Enum):
    RESTING = "resting"
    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"
    LEAVING = "leaving"
    GIVEN_UP = "given up"


@dataclass(slots=True)
class _ServerState:
    restarts: Restarts
    phase: ServerPhase = ServerPhase.RESTING
    due_s: float = 0.0  # when it rested long enough, or was silent for too long
    ready_s: float = 0.0
    over_s: float | None = None  # since when it is past the memory limit
    drained: bool = False
    recycled: int = 0


class ServerSupervisor:
    """Feed it everything that happens, carry out what it says, in order, with a ServerTick several times a second."""

    def __init__(self, limits: Limits, servers: int) -> None:
        self._limits = limits
        self._states = [_ServerState(Restarts(limits)) for _ in range(servers)]

    def on(self, event: Event, now_s: float) -> list[Instruction]:
        """Events of a server that is not running are echoes of its past and change nothing."""
        if isinstance(event, ServerTick):
            return [instruction for server in range(len(self._states)) for instruction in self._tick(server, now_s)]
        state = self._states[event.server]
        if state.phase in (ServerPhase.RESTING, ServerPhase.GIVEN_UP):
            return []
        match event:
            case ServerAnswered():
                return self._answered(event, now_s)
            case Stayed():
                if state.phase is ServerPhase.LEAVING:
                    state.phase = ServerPhase.DRAINING if state.drained else ServerPhase.READY
                    state.due_s = now_s + self._limits.answer_deadline_s
            case Exited() if state.phase is ServerPhase.LEAVING:
                state.phase, state.due_s = ServerPhase.RESTING, now_s
                state.recycled += 1
                return [StopServer(event.server, "recycled", 0.0)]
            case Exited() | ServerFailed():
                return [self._fail(event.server, event.detail, now_s)]
        return []

    def phase(self, server: int) -> ServerPhase:
        return self._states[server].phase

    def restarts(self, server: int) -> int:
        """Starts after a failure."""
        state = self._states[server]
        return max(0, state.restarts.starts - 1 - state.recycled)

    def recycled(self, server: int) -> int:
        return self._states[server].recycled

    def last_failure(self, server: int) -> str:
        return self._states[server].restarts.last_failure

    def _answered(self, event: ServerAnswered, now_s: float) -> list[Instruction]:
        state, limits = self._states[event.server], self._limits
        if state.phase is ServerPhase.LEAVING:
            return []
        state.due_s = now_s + limits.answer_deadline_s
        if state.phase is ServerPhase.STARTING:
            state.phase, state.ready_s, state.over_s, state.drained = ServerPhase.READY, now_s, None, False
        if now_s - state.ready_s < limits.steady_s:
            return []
        state.restarts.recovered()
        if event.memory_mib <= limits.memory_mib and not state.drained:
            state.over_s = None
            return []
        if state.over_s is None:
            state.over_s = now_s
        if event.battles == 0:
            state.phase, state.due_s = ServerPhase.LEAVING, now_s + limits.leave_deadline_s
            return [Leave(event.server)]
        if event.battles is not None and not state.drained and now_s - state.over_s >= limits.drain_s:
            state.phase, state.drained = ServerPhase.DRAINING, True
            return [Drain(event.server)]
        return []

    def _tick(self, server: int, now_s: float) -> list[Instruction]:
        state, limits = self._states[server], self._limits
        if state.phase is ServerPhase.GIVEN_UP or now_s < state.due_s:
            return []
        match state.phase:
            case ServerPhase.RESTING:
                if sum(each.phase is ServerPhase.STARTING for each in self._states) >= limits.starting:
                    return []
                state.phase, state.due_s = ServerPhase.STARTING, now_s + limits.start_deadline_s
                state.restarts.started()
                return [StartServer(server)]
            case ServerPhase.STARTING:
                return [self._fail(server, f"was not ready within {limits.start_deadline_s:g} s", now_s)]
            case ServerPhase.LEAVING:
                return [self._fail(server, f"did not leave within {limits.leave_deadline_s:g} s", now_s)]
        return [self._fail(server, f"did not answer for {limits.answer_deadline_s:g} s", now_s)]

    def _fail(self, server: int, detail: str, now_s: float) -> StopServer:
        state = self._states[server]
        pause_s = state.restarts.failed(detail)
        if pause_s is None:
            state.phase = ServerPhase.GIVEN_UP
        else:
            state.phase, state.due_s = ServerPhase.RESTING, now_s + pause_s
        return StopServer(server, detail, pause_s)
