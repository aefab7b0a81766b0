"""The two ways to get batches on one machine. Both are learner.feed.Source, and both are opened with `with`."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from ludus import errors, scheduling
from ludus.config.schema import RunConfig
from ludus.errors import LudusError, TrainingError
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.policies.checkpoint import rebuild_game
from ludus.scale import notes
from ludus.scale.actor import Actor, layout_of
from ludus.scale.channel import (
    AnyMessage,
    Attach,
    Begin,
    Channel,
    ClosedError,
    Failed,
    Filled,
    Hello,
    Note,
    PastSelves,
    Release,
    Report,
    Save,
    Saved,
    Stop,
)
from ludus.scale.memory import SharedMemory, anonymous_file
from ludus.scale.underway import ActorState
from ludus.spec import GameSpec
from ludus.types import SegmentBatch

POLL_S = 0.2
SILENCE_S = 120.0  # an actor reports every second
STOP_S = 10.0


class SerialSource:
    """Plays in this process when a batch is asked for. The same seed gives the same batches."""

    def __init__(self, actor: Actor, metrics: Metrics) -> None:
        self._actor = actor
        self._metrics = metrics
        self._batch = actor.layout.allocate()
        self._resting = actor.metrics.stage(names.HAND_OVER)
        self.spec = actor.spec

    def start(self, weights: NDArray[np.float32], version: int) -> None:
        self._actor.adopt(weights, version)
        self._actor.metrics.begin()

    def next(self, stopped: Callable[[], bool]) -> SegmentBatch | None:
        self._resting.__exit__(None, None, None)
        full = self._actor.play(self._batch, stopped)
        self._resting.__enter__()  # until the next call the time is the learner's
        self._metrics.merge(self._actor.drain())
        return self._batch if full else None

    def ready(self) -> bool:
        """A batch is played only when it is asked for."""
        return False

    def catch_up(self) -> None:
        """Take in what the actor has counted meanwhile."""
        self._metrics.merge(self._actor.drain())

    def release(self) -> None:
        """The batch is filled again by the next call of `next`."""

    def publish(self, weights: NDArray[np.float32], version: int) -> None:
        self._actor.adopt(weights, version)

    def set_past(self, versions: Sequence[int]) -> None:
        self._actor.set_past(versions)

    def state(self) -> ActorState:
        return self._actor.state()

    def save(self, path: Path) -> bool:
        """Write all that is under way into a file; False when that cannot be said. Raises OSError."""
        return self._actor.save(path)


class OverlappedSource:
    """An actor in a process of its own plays while this one learns.

    At most `rollout.queue` batches wait here while one is learned; then the actor waits as soon as its next segment is
    complete, which bounds the lag. An actor that fails raises its error here; one that dies or falls silent is a
    TrainingError that names its log.
    """

    def __init__(
        self,
        config: RunConfig,
        run_dir: Path,
        metrics: Metrics,
        *,
        version: int,
        pool: Sequence[int],
        state: ActorState | None,
        matches: Path | None = None,
    ) -> None:
        self._config = config
        self._log = run_dir / "logs" / "actor.log"
        self._metrics = metrics
        file = None if matches is None else str(matches.resolve())
        self._begin = Begin(msgspec.json.encode(config), str(run_dir.resolve()), version, list(pool), state, file)
        self._state = state
        self._queue: deque[Filled] = deque()
        self._taken: int | None = None  # the slab the learner works on

    def __enter__(self) -> Self:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        ours, theirs = socket.socketpair()
        self._memory_fd = anonymous_file()
        passed = (theirs.fileno(), self._memory_fd)
        command = [sys.executable, "-m", "ludus.scale.child", *map(str, passed), str(os.getpid())]
        with theirs, self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=passed,
                start_new_session=True,  # Ctrl-C is the learner's to handle
            )
        self._control = Channel(ours)
        scheduling.take_turns_of(scheduling.LONG_S)
        try:
            self._control.send(self._begin)
            hello = self._wait_for_hello()
        except BaseException:
            self._end()
            raise
        self.spec: GameSpec = rebuild_game(hello.game, _tables(hello))
        self._floats = hello.floats
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def start(self, weights: NDArray[np.float32], version: int) -> None:
        """Share the memory, with these weights in it, and let the actor play."""
        layout = layout_of(self._config, self.spec)
        slabs = self._config.rollout.queue + 1
        self._memory = SharedMemory(self._memory_fd, self._floats, layout, slabs, create=True)
        self._memory.board.publish(weights, version)
        self._send(Attach(slabs))

    def next(self, stopped: Callable[[], bool]) -> SegmentBatch | None:
        heard = time.monotonic()
        while True:
            if stopped():
                return None
            message = self._receive(0 if self._queue else POLL_S)
            if message is not None:
                heard = time.monotonic()
                self._take_in(message)
            elif self._queue:
                filled = self._queue.popleft()
                self._metrics.set(names.QUEUE, len(self._queue))
                self._taken, self._state = filled.slab, filled.state
                return self._memory.slabs[filled.slab]
            elif time.monotonic() - heard > SILENCE_S:
                raise TrainingError(
                    f"the actor (pid {self._process.pid}) said nothing for {SILENCE_S:.0f} s; its log is {self._log}"
                )

    def ready(self) -> bool:
        self.catch_up()
        return bool(self._queue)

    def catch_up(self) -> None:
        """Take in what the actor has said meanwhile."""
        while (message := self._receive(0)) is not None:
            self._take_in(message)

    def release(self) -> None:
        if self._taken is not None:
            self._send(Release(self._taken))
            self._taken = None

    def publish(self, weights: NDArray[np.float32], version: int) -> None:
        self._memory.board.publish(weights, version)

    def set_past(self, versions: Sequence[int]) -> None:
        self._send(PastSelves(list(versions)))

    def state(self) -> ActorState | None:
        """As it was when the batch that was last taken was full; None before the first."""
        return self._state

    def save(self, path: Path) -> bool:
        """Let the actor write all that is under way into a file, batches that wait here included; False when it says
        nothing for too long. Raises OSError, and what a failed actor raises."""
        self._send(Save(str(path.resolve())))
        until = time.monotonic() + SILENCE_S
        while (left_s := until - time.monotonic()) > 0:
            message = self._receive(left_s)
            if isinstance(message, Saved) and message.path == str(path.resolve()):
                if message.error:
                    raise OSError(message.errno, message.error)
                return True
            if message is not None:
                self._take_in(message)
        return False

    def _take_in(self, message: AnyMessage) -> None:
        if isinstance(message, Filled):
            self._queue.append(message)
        elif isinstance(message, Report):
            self._metrics.merge(message.delta)

    def _wait_for_hello(self) -> Hello:
        fleet = self._config.fleet
        deadline_s = (fleet.hello_deadline_s + fleet.backoff_max_s) * fleet.failures_in_a_row
        until = time.monotonic() + deadline_s
        while time.monotonic() < until:
            message = self._receive(POLL_S)
            if isinstance(message, Hello):
                return message
        raise TrainingError(
            f"the actor did not get its hosts to play within {deadline_s:.0f} s; its log is {self._log}"
        )

    def _receive(self, timeout_s: float) -> AnyMessage | None:
        try:
            message = self._control.receive(timeout_s)
            while isinstance(message, Note):
                notes.show(message)
                message = self._control.receive(0)
        except ClosedError:
            raise self._death() from None
        if isinstance(message, Failed):
            raise self._failure(message)
        return message

    def _send(self, message: AnyMessage) -> None:
        try:
            self._control.send(message)
        except ClosedError:
            self._receive(0)  # its last words say why
            raise self._death() from None

    def _failure(self, failed: Failed) -> LudusError:
        kind = getattr(errors, failed.kind, None) if failed.kind else None
        if isinstance(kind, type) and issubclass(kind, LudusError):
            return kind(failed.message)
        return TrainingError(f"the actor failed: {failed.message}; its log is {self._log}")

    def _death(self) -> TrainingError:
        try:
            code = self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            return TrainingError(f"the actor (pid {self._process.pid}) closed its channel; its log is {self._log}")
        how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        return TrainingError(f"the actor (pid {self._process.pid}) {how}; its log is {self._log}")

    def _end(self) -> None:
        scheduling.take_turns_of(scheduling.DEFAULT_S)
        with contextlib.suppress(ClosedError):
            self._control.send(Stop())
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()  # its hosts die with it
            self._process.wait()
        self._control.close()
        os.close(self._memory_fd)


def _tables(hello: Hello) -> dict[str, NDArray[np.float32]]:
    return {name: np.frombuffer(data, np.float32).reshape(shape).copy() for name, (shape, data) in hello.tables.items()}
