"""Decides which host is started, stopped or given up. Pure: events and the time in, instructions out.

      Tick, back-off over           Greeted                 Finished
RESTING ───────────────► STARTING ─────────► PLAYING ─────────────────► FINISHED (it may go, nobody misses it)
   ▲                        │ HostFailed, or       │ HostFailed, or                  │
   ├────────────────────────┴─ no HELLO in time┴─ came no further for too long while it owed an answer
   │                                           └─ Diverged, which is no failure: again at once
   └── Assigned: it takes over what a host that was given up has left ─────────┘
                 after `failures_in_a_row` failures without a played match between them: GIVEN_UP
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, auto

from ludus.config.settings import FleetConfig
from ludus.processes.restarts import Restarts

ANSWER_DEADLINES = 10  # reply deadlines in which an answer must be complete
EXCUSE_S = 5.0  # for a host that could not write while nobody read
REFUSED = "refused"  # the reason of a host that refuses what it, or another, has played before
DIVERGED = "diverged"  # the reason of matches that a replay did not bring back


@dataclass(frozen=True, slots=True)
class Greeted:
    """HELLO came and was understood; the host owes its opening arrivals."""

    host: int


@dataclass(frozen=True, slots=True)
class Owing:
    """The host was sent actions: from now on it must come further within the reply deadline."""

    host: int


@dataclass(frozen=True, slots=True)
class Heard:
    """Rows or the end of a match came, as a part of an answer. Other bytes and frames are no event."""

    host: int


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer was completed, and the host owes others."""

    host: int


@dataclass(frozen=True, slots=True)
class Settled:
    """The host has answered everything: it may be silent as long as it likes."""

    host: int


@dataclass(frozen=True, slots=True)
class Diverged:
    """Its matches, replayed, did not come to where they stood: it begins again at once, which is no failure of it."""

    host: int
    detail: str


@dataclass(frozen=True, slots=True)
class Played:
    """A match was played to its end: the host works, failures before this do not count any more."""

    host: int


@dataclass(frozen=True, slots=True)
class HostFailed:
    """The host died or broke the protocol."""

    host: int
    reason: str  # matches are counted by it: died, protocol, "host: ..."
    detail: str


@dataclass(frozen=True, slots=True)
class Finished:
    """Everything the host had to play is played."""

    host: int


@dataclass(frozen=True, slots=True)
class Assigned:
    """There is more to play for a host that had played everything: it begins again at once."""

    host: int
    detail: str


@dataclass(frozen=True, slots=True)
class Returned:
    """Nobody read from the hosts for a while: one whose pipe was full could not come further. Tell it before Tick."""


@dataclass(frozen=True, slots=True)
class Draining:
    """No match is to begin any more: hosts that do not play are finished, and a host that fails is not restarted."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


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
    again_in_s: float | None  # None: never


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
    due_s: float | None = 0.0  # when the phase, or the wait for an answer, has lasted too long
    answer_due_s: float = math.inf  # when an answer must be complete, however many parts of it come
    is_excused: bool = False  # since it last came further


class Supervisor:
    """Feed it everything that happens, carry out what it says, in order, and call again at `wake_s` with a Tick."""

    def __init__(self, config: FleetConfig, hosts: int) -> None:
        self._config = config
        self._is_draining = False
        self._states = [_State(Restarts(config, "never started")) for _ in range(hosts)]

    def on(self, event: Event, now_s: float) -> list[Instruction]:
        """Events of a host that is neither starting nor playing are echoes of its past and change nothing."""
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
        """When the next Tick is due; None: nothing to wait for."""
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
        """Hosts that play or have played all they had to."""
        return sum(state.phase in (HostPhase.PLAYING, HostPhase.FINISHED) for state in self._states)

    @property
    def restarts(self) -> int:
        return sum(max(state.restarts.starts - 1, 0) for state in self._states)

    @property
    def idle(self) -> bool:
        """Whether no host plays or will play again."""
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
        """An answer begins to be waited for."""
        reply_s = self._config.reply_deadline_s
        state.due_s, state.answer_due_s, state.is_excused = now_s + reply_s, now_s + ANSWER_DEADLINES * reply_s, False

    def _excuse(self, now_s: float) -> None:
        """Let hosts that are waited for come further now, once: a caller that is away again and again must not keep a
        host that hangs."""
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
