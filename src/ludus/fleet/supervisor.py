"""Decides when hosts are started, stopped or given up. Pure: takes events and the time, returns instructions.

     Tick, back-off over        Greeted           Finished
RESTING ──────────────► STARTING ───────► PLAYING ──────────► FINISHED (its end is no failure)
   ▲                       │                 │                   │
   ├─ HostFailed, or ──────┘                 │                   │
   │  no HELLO in time                       │                   │
   ├─ HostFailed, or no progress in time ────┤                   │
   │  while it owed an answer                │                   │
   ├─ Diverged: no failure, at once again ───┘                   │
   └─ Assigned: takes over matches of a host that was given up ──┘

After `failures_in_a_row` failures without a played match between them, a host is GIVEN_UP.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, auto

from ludus.config.settings import FleetConfig
from ludus.processes.restarts import Restarts

ANSWER_DEADLINES = 10  # an answer must be complete within this many reply deadlines
EXCUSE_S = 5.0  # extra time for a host that could not write because its pipe was full
REFUSED = "refused"  # reason of a failure: it refuses a configuration that some host has played before
DIVERGED = "diverged"  # reason of voided matches: their replay did not reach the saved state


@dataclass(frozen=True, slots=True)
class Greeted:
    """The host sent a valid HELLO and owes its opening arrivals."""

    host: int


@dataclass(frozen=True, slots=True)
class Owing:
    """Actions were sent to the host: it must make progress within the reply deadline."""

    host: int


@dataclass(frozen=True, slots=True)
class Heard:
    """The host sent rows or an ending, as a part of an answer. Other frames do not count as progress."""

    host: int


@dataclass(frozen=True, slots=True)
class Answered:
    """The host completed an answer and owes further ones."""

    host: int


@dataclass(frozen=True, slots=True)
class Settled:
    """The host owes no answer, so no deadline applies to it."""

    host: int


@dataclass(frozen=True, slots=True)
class Diverged:
    """The replay of its matches did not reach the saved state. The host restarts at once; this is not a failure."""

    host: int
    detail: str


@dataclass(frozen=True, slots=True)
class Played:
    """A match has ended normally, so the host works: its earlier failures no longer count."""

    host: int


@dataclass(frozen=True, slots=True)
class HostFailed:
    """The host died or broke the protocol."""

    host: int
    reason: str  # voided matches are counted by reason: died, protocol, "host: ..."
    detail: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The host has played all its matches."""

    host: int


@dataclass(frozen=True, slots=True)
class Assigned:
    """A host that had finished gets further matches: it restarts at once."""

    host: int
    detail: str


@dataclass(frozen=True, slots=True)
class Returned:
    """The fleet has not read from the hosts for a while, so full pipes may have blocked them. Report it before Tick."""


@dataclass(frozen=True, slots=True)
class Draining:
    """No more matches begin: hosts that do not play are finished, and hosts that fail are not restarted."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: check all deadlines."""


Event = (
    Greeted
    | Owing
    | Heard
    | Answered
    | Settled
    | Diverged
    | Played
    | HostFailed
    | Finished
    | Assigned
    | Returned
    | Draining
    | Tick
)


@dataclass(frozen=True, slots=True)
class StartHost:
    host: int
    incarnation: int  # 0 for the first start of this host


@dataclass(frozen=True, slots=True)
class StopHost:
    """Kill the host's process and void the matches it ran."""

    host: int
    reason: str
    detail: str
    again_in_s: float | None  # delay before the restart; None: it is not restarted


Instruction = StartHost | StopHost


class HostPhase(Enum):
    RESTING = auto()
    STARTING = auto()
    PLAYING = auto()
    FINISHED = auto()
    GIVEN_UP = auto()


@dataclass(slots=True)
class _State:
    restarts: Restarts
    phase: HostPhase = HostPhase.RESTING
    due_s: float | None = 0.0  # deadline of the phase, or of the next progress
    answer_due_s: float = math.inf  # deadline of the whole answer, even if parts of it arrive
    is_excused: bool = False  # True if it got extra time since its last progress


class Supervisor:
    """Pass every event to `on` and carry out the instructions it returns, in order. Pass a Tick at `wake_s`."""

    def __init__(self, config: FleetConfig, hosts: int) -> None:
        self._config = config
        self._is_draining = False
        self._states = [_State(Restarts(config, "never started")) for _ in range(hosts)]

    def on(self, event: Event, now_s: float) -> list[Instruction]:
        """Handle an event and return instructions. Late events of hosts that neither start nor play are ignored."""
        if isinstance(event, Tick):
            return [instruction for host in range(len(self._states)) for instruction in self._tick(host, now_s)]
        if isinstance(event, Returned):
            self._excuse(now_s)
            return []
        if isinstance(event, Draining):
            return self._drain()
        state = self._states[event.host]
        if state.phase is not HostPhase.PLAYING and state.phase is not HostPhase.STARTING:
            if isinstance(event, Assigned) and state.phase is HostPhase.FINISHED:
                state.phase, state.due_s = HostPhase.RESTING, now_s
                return [StopHost(event.host, "assigned", event.detail, 0.0)]
            return []
        match event:
            case Owing():
                if state.due_s is None:
                    self._expect(state, now_s)
            case Heard():
                if state.phase is HostPhase.PLAYING and state.due_s is not None:
                    state.due_s = min(now_s + self._config.reply_deadline_s, state.answer_due_s)
                    state.is_excused = False
            case Answered():
                if state.phase is HostPhase.PLAYING and state.due_s is not None:
                    self._expect(state, now_s)
            case Settled():
                state.due_s = None
            case Greeted():
                state.phase = HostPhase.PLAYING
                self._expect(state, now_s)
            case Played():
                state.restarts.recovered()
            case Finished():
                state.phase, state.due_s = HostPhase.FINISHED, None
            case Diverged():
                state.phase, state.due_s = HostPhase.RESTING, now_s
                state.restarts.last_failure = event.detail
                return [StopHost(event.host, DIVERGED, event.detail, 0.0)]
            case HostFailed():
                return [self._fail(event.host, event.reason, event.detail, now_s)]
        return []

    @property
    def wake_s(self) -> float | None:
        """The time at which the next Tick is due; None if there is no deadline."""
        wake_s = None
        for state in self._states:
            if state.due_s is not None and (wake_s is None or state.due_s < wake_s):
                wake_s = state.due_s
        return wake_s

    def phase(self, host: int) -> HostPhase:
        return self._states[host].phase

    def last_failure(self, host: int) -> str:
        return self._states[host].restarts.last_failure

    @property
    def alive(self) -> int:
        """The number of hosts that play or have finished."""
        return sum(state.phase in (HostPhase.PLAYING, HostPhase.FINISHED) for state in self._states)

    @property
    def restarts(self) -> int:
        return sum(max(state.restarts.starts - 1, 0) for state in self._states)

    @property
    def idle(self) -> bool:
        """True if no host plays or will play again."""
        return all(state.phase in (HostPhase.FINISHED, HostPhase.GIVEN_UP) for state in self._states)

    @property
    def given_up(self) -> int:
        return sum(state.phase is HostPhase.GIVEN_UP for state in self._states)

    def _tick(self, host: int, now_s: float) -> list[Instruction]:
        state = self._states[host]
        if state.due_s is None or now_s < state.due_s:
            return []
        if state.phase is HostPhase.RESTING:
            state.phase, state.is_excused = HostPhase.STARTING, False
            state.due_s = now_s + self._config.hello_deadline_s
            return [StartHost(host, state.restarts.started())]
        if state.phase is HostPhase.STARTING:
            return [self._fail(host, "hung", f"did not say HELLO within {self._config.hello_deadline_s:g} s", now_s)]
        reply_s = self._config.reply_deadline_s
        silence = f"sent no row, ending or completed answer for {reply_s:g} s while it owed an answer"
        if now_s >= state.answer_due_s:
            silence = f"completed no answer for {ANSWER_DEADLINES * reply_s:g} s"
        return [self._fail(host, "hung", silence, now_s)]

    def _drain(self) -> list[Instruction]:
        self._is_draining = True
        instructions: list[Instruction] = []
        for host, state in enumerate(self._states):
            if state.phase is HostPhase.STARTING:
                instructions.append(StopHost(host, "drained", "was starting when the fleet was drained", None))
            if state.phase in (HostPhase.RESTING, HostPhase.STARTING):
                state.phase, state.due_s = HostPhase.FINISHED, None
        return instructions

    def _expect(self, state: _State, now_s: float) -> None:
        """Set the deadlines for an answer that the host now owes."""
        reply_s = self._config.reply_deadline_s
        state.due_s, state.answer_due_s, state.is_excused = now_s + reply_s, now_s + ANSWER_DEADLINES * reply_s, False

    def _excuse(self, now_s: float) -> None:
        """Give hosts that owe an answer extra time, at most once before they make progress again.

        Without this limit, a caller that rarely reads would keep a hung host alive.
        """
        grace_s = now_s + min(EXCUSE_S, self._config.reply_deadline_s)
        for state in self._states:
            if state.is_excused or state.phase not in (HostPhase.STARTING, HostPhase.PLAYING):
                continue
            if state.due_s is not None and state.due_s < grace_s:
                state.due_s, state.is_excused = grace_s, True

    def _fail(self, host: int, reason: str, detail: str, now_s: float) -> StopHost:
        state = self._states[host]
        pause_s = None if self._is_draining else state.restarts.failed(detail)
        if self._is_draining:
            state.phase, state.due_s = HostPhase.FINISHED, None
        elif pause_s is None:
            state.phase, state.due_s = HostPhase.GIVEN_UP, None
        else:
            state.phase, state.due_s = HostPhase.RESTING, now_s + pause_s
        return StopHost(host, reason, detail, pause_s)
