"""Runs an actor in a process of its own and restarts it when it dies. `poll` does all the work:

            ActorReady                     dies, falls silent, or fails unexpectedly
 STARTING ─────────► PLAYING ──────────────────────────────────────────────► RESTING ── back-off over ──► STARTING
     └── dies, or sends no ActorReady in time ─────────────────────────────────────►┘
                     after `fleet.failures_in_a_row` failures without a batch between them: TrainingError

All processes of one actor use the same shared memory, one after the other. Batches that a dead process has filled
therefore stay valid. The next process is told which batch buffers the learner still uses, and includes them
when it saves its matches.
"""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Sequence
from enum import Enum, auto
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from ludus import errors
from ludus.actors import resolved
from ludus.actors.actor import part_layout
from ludus.actors.control import (
    ActorFailed,
    ActorReady,
    AnyMessage,
    Attach,
    Begin,
    Filled,
    MetricsMessage,
    PastSelves,
    Release,
    Save,
    Saved,
    TellOpponents,
)
from ludus.actors.in_flight import ActorState
from ludus.actors.process import ActorProcess, DiedError
from ludus.actors.resolved import ResolvedRun
from ludus.actors.shared_memory import SharedMemory, anonymous_file
from ludus.config import seed_streams
from ludus.errors import FleetError, HostError, LudusError, TrainingError
from ludus.league.matchmaking import OpponentNews
from ludus.metrics import accounts, names
from ludus.metrics.accounts import MatchAccount
from ludus.metrics.bottleneck import WAITING
from ludus.metrics.core import Metrics
from ludus.metrics.times import ACTOR
from ludus.policies.checkpoints.checkpoint import rebuild_game
from ludus.processes.restarts import Restarts
from ludus.spec import GameSpec
from ludus.types import SegmentBatch

SILENCE_S = 120.0  # an actor reports every second; one that sends nothing for this long is restarted
MOST_UNHEARD = 8  # news that may wait for an actor: one that is stopped reads nothing, and a full channel blocks
AWAY_S = 10.0  # longest time between two polls that counts as silence: the learner may have been busy or stopped
STOP_S = 10.0  # time for the actor and its hosts to exit by themselves
TRANSIENT = (FleetError, HostError)  # errors of a restarted actor that may not occur again at the next start
log = logging.getLogger(__name__)


class ActorPhase(Enum):
    RESTING = auto()  # no process; the next one starts after the back-off
    STARTING = auto()
    PLAYING = auto()


class SupervisedActor:
    """Implements `ActorPort` with a child process and shared memory: starts and supervises it, restarts it if it fails.

    All calls must come from one thread: the process dies with the thread that starts it. A LudusError that the actor
    reports (no host left, configuration refused) is raised by `poll`, and again by every later call of it. Before any
    host has started, failures are raised at once, except that a process which was killed by a signal is started again.
    """

    def __init__(
        self,
        run: ResolvedRun,
        run_dir: Path,
        metrics: Metrics,
        *,
        pool: Sequence[int],
        state: ActorState | None,
        matches: Path | None = None,
        under_way: int = 0,
    ) -> None:
        """`run` is that of one actor (`ResolvedRun.for_actor`). `matches` is a file with saved matches, of which
        `under_way` were running."""
        self.index = run.share.actor
        several = run.actors.actors > 1
        self._name = f"actor {self.index}" if several else "the actor"
        self.log_path = run_dir / "logs" / (f"actor-{self.index}.log" if self.index else "actor.log")
        self.phase = ActorPhase.RESTING
        self.state = state
        self.facts: dict[str, str] = {}  # what the hosts say about their engine
        self._parts: deque[Filled] = deque()  # filled parts that were not taken yet, oldest first
        self._run, self._config = run, run.config
        self._buffers = run.actors.buffers(run.config.rollout.queue)
        self._metrics = metrics
        self._ledger = MatchAccount(under_way)
        if under_way:
            metrics.set(names.UNDER_WAY, under_way, self.index)
        file = None if matches is None else str(matches.resolve())
        self._begin = Begin(resolved.pack(run), str(run_dir.resolve()), run.version, list(pool), state, file)
        self._past, self._version, self._restarts = list(pool), run.version, Restarts(run.config.fleet)
        self._news: OpponentNews | None = None
        self._unheard = 0  # news that were sent since its last message
        self._process: ActorProcess | None = None
        self._memory_fd = -1
        self._memory: SharedMemory | None = None  # None until `start`
        self._current_buffer: int | None = None  # the buffer of the part that was taken last
        self._due_s = 0.0  # RESTING: when to start; STARTING: when ActorReady is overdue
        self._recorded = 0  # recorded decisions that were not in a full batch at the last report
        self._saves = 0
        self._saved: Saved | None = None
        self._saving: ActorProcess | None = None  # the process that was told to save its matches
        self._polled_s, self._silence_s = time.monotonic(), 0.0
        self._answers = True  # False if the actor did not answer the last Save and has sent nothing since
        self._error: LudusError | None = None
        self._spec: GameSpec | None = None
        self._floats = 0

    @property
    def spec(self) -> GameSpec | None:
        return self._spec

    @property
    def playing(self) -> bool:
        return self.phase is ActorPhase.PLAYING

    @property
    def filled(self) -> int:
        return len(self._parts)

    @property
    def under_way(self) -> int:
        return self._ledger.matches

    @property
    def recorded(self) -> int:
        """The number of recorded decisions that were not in a full part at the last report."""
        return self._recorded

    def open(self) -> None:
        """Allocate shared memory. The process is started by `poll`."""
        self._memory_fd = anonymous_file()

    def start(self, weights: NDArray[np.float32], version: int) -> None:
        """Create the shared memory with these weights in it, and let the actor play."""
        assert self._spec is not None
        layout = part_layout(self._run, self._spec)
        self._memory = SharedMemory(self._memory_fd, self._floats, layout, self._buffers, create=True)
        self.publish(weights, version)
        if self._process is not None:
            self._process.send(Attach(self._buffers))

    def poll(self, timeout_s: float) -> bool:
        """Handle one message, or start the process if that is due. Returns False if neither happened in time."""
        if self._error is not None:
            raise self._error
        if self._process is None:
            return self._start_where_due(timeout_s)
        try:
            message = self._process.receive(timeout_s)
        except DiedError as death:
            self._fail(str(death), hopeless=not death.killed)
            return True
        now_s = time.monotonic()
        self._silence_s += min(now_s - self._polled_s, AWAY_S)
        self._polled_s = now_s
        if message is None:
            if self.phase is ActorPhase.PLAYING and self._memory is not None and self._silence_s > SILENCE_S:
                self._fail(f"sent nothing for {SILENCE_S:.0f} s")
                return True
            if self.phase is ActorPhase.STARTING and now_s > self._due_s:
                self._fail(f"did not get its hosts to play within {self._hello_deadline_s():.0f} s", hopeless=True)
            return False
        self._answers, self._silence_s, self._unheard = True, 0.0, 0
        self._take_in(message)
        return True

    def fileno(self) -> int | None:
        return None if self._process is None else self._process.fileno()

    def take(self) -> SegmentBatch:
        assert self._memory is not None
        filled = self._parts.popleft()
        self._current_buffer, self.state = filled.buffer, filled.state
        return self._memory.buffers[filled.buffer]

    def peek(self, at: int) -> tuple[NDArray[np.uint8], ActorState]:
        """Return the memory of a filled part that was not taken, and the state at its end. Part 0 is the oldest."""
        assert self._memory is not None
        filled = self._parts[at]
        return np.frombuffer(self._memory.blocks[filled.buffer], np.uint8), filled.state

    def release(self) -> None:
        if self._current_buffer is not None:
            buffer, self._current_buffer = self._current_buffer, None
            if self._process is not None:
                self._process.send(Release(buffer))

    def publish(self, weights: NDArray[np.float32], version: int) -> None:
        """Write new weights into the shared memory, from which the actor loads them."""
        assert self._memory is not None
        self._memory.board.publish(weights, version)
        self._version = version

    def set_past(self, versions: Sequence[int]) -> None:
        """Set the past selves that may play. A process that is still starting gets the list when it is ready."""
        self._past = list(versions)
        if self._process is not None and self.phase is ActorPhase.PLAYING:
            self._process.send(PastSelves(self._past))

    def tell(self, news: OpponentNews) -> None:
        """Say what the actor's matchmaker must know. A process that is still starting is told when it is ready."""
        self._news = news
        if self._process is not None and self.phase is ActorPhase.PLAYING and self._unheard < MOST_UNHEARD:
            self._unheard += 1
            self._process.send(TellOpponents(news))

    def begin_save(self, path: Path) -> None:
        """Let the actor write its matches, unless it did not answer the last time and has sent nothing since.

        Raises TrainingError if it is not playing, and the error that it reports.
        """
        while self.poll(0):
            pass
        if self._process is None or self.phase is not ActorPhase.PLAYING:
            raise TrainingError(f"{self._name} died and has not restarted yet")
        self._saving = self._process if self._answers else None
        if self._saving is not None:
            self._saves += 1
            self._saved = None
            self._process.send(Save(str(path.resolve()), self._saves))

    @property
    def saving(self) -> bool:
        answered = self._saved is not None and self._saved.number == self._saves
        return self._saving is not None and self._saving is self._process and not answered

    def end_save(self) -> bool:
        (process, self._saving), saved = (self._saving, None), self._saved
        if process is None:
            return False
        if process is not self._process:
            raise TrainingError(f"{self._name} died while it saved its matches")
        if saved is None or saved.number != self._saves:
            self._answers = False
            return False
        if saved.error:
            raise OSError(saved.errno, saved.error)
        return True

    def give_up(self) -> None:
        """Count the matches of the process as lost, and end it. Its parts stay valid."""
        self._count_lost()
        self.close()

    def close(self) -> None:
        """End the process. If it plays, it has `STOP_S` to exit; if it is starting or does not answer, it is killed."""
        process, self._process = self._process, None
        playing, self.phase = self.phase is ActorPhase.PLAYING and self._answers, ActorPhase.RESTING
        if process is not None and not process.end(STOP_S if playing else 0.0):
            log.warning("%s (pid %d) could not be killed; end it by hand", self._name, process.pid)
        if self._memory_fd >= 0:
            os.close(self._memory_fd)
            self._memory_fd = -1

    def _start_where_due(self, timeout_s: float) -> bool:
        left_s = self._due_s - time.monotonic()
        if left_s > 0:
            time.sleep(min(left_s, timeout_s))
            return False
        if self._restarts.started():
            self._metrics.add(names.ACTOR_RESTARTS)
        try:
            process = ActorProcess(self._memory_fd, self.log_path)
        except OSError as error:
            if self._spec is None:
                raise
            self._fail(f"could not be started: {error}")
            return True
        self._process, self.phase = process, ActorPhase.STARTING
        self._due_s = time.monotonic() + self._hello_deadline_s()
        self._answers, self._recorded = True, 0
        self._polled_s, self._silence_s = time.monotonic(), 0.0
        if self._memory is None or self._spec is None:  # no process has played yet
            process.send(self._begin)
        else:
            process.send(self._begin_again(self._spec))
            # sent at once, since the process waits for it and the learner may be busy for long
            process.send(Attach(len(self._memory.buffers), self._learner_buffers()))
        return True

    def _begin_again(self, spec: GameSpec) -> Begin:
        """Return the message that starts a later process: with new matches, and the actor's state at its last batch."""
        restarts = int(self._metrics.counter(names.ACTOR_RESTARTS))
        return msgspec.structs.replace(
            self._begin,
            version=seed_streams.restarted(self._version, restarts),
            pool=self._past,
            state=self._parts[-1].state if self._parts else self.state,
            matches=None,
            game=spec.fingerprint,
        )

    def _learner_buffers(self) -> list[int]:
        """Return the buffers that the learner still needs, oldest first. A new process must not write to them."""
        return [
            *([] if self._current_buffer is None else [self._current_buffer]),
            *(filled.buffer for filled in self._parts),
        ]

    def _take_in(self, message: AnyMessage) -> None:
        if isinstance(message, Filled):
            self._restarts.recovered()
            self._recorded = message.recorded
            self._parts.append(message)
        elif isinstance(message, MetricsMessage):
            self._recorded = message.recorded
            self._ledger.count(message.delta)
            if self._run.actors.actors > 1 and (busy := message.delta.times.busy(ACTOR, WAITING[ACTOR])) is not None:
                self._metrics.set(names.ACTOR_BUSY(str(self.index)), busy)
            self._metrics.merge(message.delta, self.index)
        elif isinstance(message, Saved):
            self._saved = message
        elif isinstance(message, ActorReady):
            self._greet(message)
        elif isinstance(message, ActorFailed):
            self._hear_failure(message)

    def _greet(self, hello: ActorReady) -> None:
        self.phase = ActorPhase.PLAYING
        if self._spec is None:
            self._spec, self._floats = rebuild_game(hello.game, _tables(hello)), hello.floats
            self.facts = hello.facts
        elif self._process is not None and self._memory is not None:
            self._process.send(PastSelves(self._past))
            if self._news is not None:
                self._process.send(TellOpponents(self._news))

    def _hear_failure(self, failed: ActorFailed) -> None:
        kind = getattr(errors, failed.kind, None) if failed.kind else None
        if not (isinstance(kind, type) and issubclass(kind, LudusError)):
            self._fail(f"failed: {failed.message}", hopeless=True)
            return
        error = kind(failed.message)
        if self._memory is not None and self.phase is ActorPhase.STARTING and isinstance(error, TRANSIENT):
            self._fail(f"could not start: {failed.message}", error)
            return
        self._error = error
        raise error

    def _fail(self, detail: str, error: LudusError | None = None, *, hopeless: bool = False) -> None:
        """End the process and schedule the next start.

        Raises `error` (by default a TrainingError) after too many failures in a row, or if `hopeless` is set and no
        process has ever started its hosts.
        """
        process, self._process = self._process, None
        matches = self._count_lost()
        self.phase = ActorPhase.RESTING
        if process is not None:
            detail = f"(pid {process.pid}) {detail}"
            if not process.end(0.0):  # it may still write to the shared memory
                self._error = TrainingError(f"{self._name} {detail} and cannot be killed; its log is {self.log_path}")
                raise self._error
        delay_s = self._restarts.failed(detail)
        if delay_s is None or (hopeless and self._spec is None):
            self._error = error or TrainingError(f"{self._name} {detail}; its log is {self.log_path}")
            raise self._error
        self._due_s = time.monotonic() + delay_s
        again = f"starting it again in {delay_s:g} s with new matches; its log is {self.log_path}"
        log.warning("%s %s; %s%s", self._name, detail, matches, again)

    def _count_lost(self) -> str:
        """Count the matches and decisions that are lost with a process, and return a text for the log."""
        if self.phase is not ActorPhase.PLAYING or self._memory is None:
            return ""
        matches = self._ledger.void(self._metrics, accounts.ACTOR, self.index)
        self._metrics.add(names.ACTOR_LOST, self._recorded)
        self._metrics.set(names.HOSTS_ALIVE, 0, self.index)
        return f"{matches} matches and about {self._recorded} recorded decisions are lost; "

    def _hello_deadline_s(self) -> float:
        fleet = self._config.fleet
        return (fleet.hello_deadline_s + fleet.backoff_max_s) * fleet.failures_in_a_row


def _tables(hello: ActorReady) -> dict[str, NDArray[np.float32]]:
    return {name: np.frombuffer(data, np.float32).reshape(shape).copy() for name, (shape, data) in hello.tables.items()}
