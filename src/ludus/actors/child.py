"""The actor's process: `python -m ludus.actors.child CONTROL_FD MEMORY_FD PARENT_PID`, started by actors/process.py.

The process ends when it receives StopActor or when the control channel closes. On Linux, the kernel also kills it when
its parent dies.
"""

from __future__ import annotations

import socket
import sys
import time
import traceback
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from ludus.actors import in_flight, log_relay, resolved
from ludus.actors.actor import Actor, open_actor
from ludus.actors.control import (
    ActorFailed,
    ActorReady,
    AnyMessage,
    Attach,
    Begin,
    ClosedError,
    ControlChannel,
    Filled,
    MetricsMessage,
    PastSelves,
    Release,
    Save,
    Saved,
    StopActor,
    TellOpponents,
)
from ludus.actors.shared_memory import SharedMemory
from ludus.errors import LudusError, TrainingError
from ludus.league.pool import Pool
from ludus.metrics import names
from ludus.policies.checkpoints.checkpoint import note_game
from ludus.processes import scheduling
from ludus.processes.launch import tie_to

REPORT_S = 1.0  # time between two reports of metrics
BEGIN_S = 300.0  # longest wait for Begin, and for Attach, which the parent sends when it has built its net
FIRST_WEIGHTS_S = 60.0  # longest wait for complete weights; writing them takes milliseconds

Expected = TypeVar("Expected", Begin, Attach)


def main() -> int:
    control_fd, memory_fd, parent = (int(argument) for argument in sys.argv[1:4])
    tie_to(parent)
    scheduling.set_time_slice(scheduling.SHORT_S)  # hosts and learner wait for this process
    control = ControlChannel(socket.socket(fileno=control_fd))
    try:
        with log_relay.forwarded(control):
            _serve(control, memory_fd)
    except ClosedError:
        return 0
    except LudusError as error:
        traceback.print_exc()
        control.send(ActorFailed(type(error).__name__, str(error)))
        return 1
    except Exception as error:  # reported to the learner's process, which shows it to the user
        traceback.print_exc()
        control.send(ActorFailed("", f"{type(error).__name__}: {error}"))
        return 1
    return 0


def _serve(control: ControlChannel, memory_fd: int) -> None:
    begin = _expect(control, Begin)
    run, run_dir = resolved.unpack(begin.run), Path(begin.run_dir)
    saved = None if begin.matches is None else in_flight.read(Path(begin.matches), run)
    pool = Pool(run_dir / "pool", run.config.opponents.pool)
    past = [version for version in begin.pool if pool.path(version).exists()]  # the learner may have removed some since
    with open_actor(
        run, run_dir / "logs", pool, version=begin.version, past=past, state=begin.state, saved=saved
    ) as actor:
        if begin.game and actor.spec.fingerprint != begin.game:
            raise TrainingError(
                f"the hosts describe another game ({actor.spec.name}) than when the run began; was the game's program "
                "or its data changed? Resume the run with the original version of the game"
            )
        tables = {
            name: (list(table.shape), table.astype(np.float32).tobytes()) for name, table in actor.spec.tables.items()
        }
        control.send(ActorReady(note_game(actor.spec), tables, actor.floats, actor.facts))
        attach = _expect(control, Attach)
        memory = SharedMemory(memory_fd, actor.floats, actor.layout, attach.buffers, create=False)
        ActorLoop(actor, memory, control, attach.learner_buffers).work()


def _expect(control: ControlChannel, kind: type[Expected]) -> Expected:
    """Wait for a message of this kind and return it.

    Raises ClosedError if another message comes, since the parent then wants to stop, and TrainingError if no message
    comes within `BEGIN_S`.
    """
    message = control.receive(BEGIN_S)
    if message is None:
        raise TrainingError(f"the learner sent no {kind.__name__} for {BEGIN_S:g} s; is this machine overloaded?")
    if not isinstance(message, kind):
        raise ClosedError
    return message


class ActorLoop:
    """Fills one batch buffer after another. Handles messages and loads new weights between forward passes."""

    def __init__(
        self, actor: Actor, memory: SharedMemory, control: ControlChannel, learner_buffers: Sequence[int] = ()
    ) -> None:
        self._actor = actor
        self._memory = memory
        self._control = control
        self._free = deque(buffer for buffer in range(len(memory.buffers)) if buffer not in learner_buffers)
        self._learner_buffers = deque(learner_buffers)  # full buffers that the learner has not released, oldest first
        self._stopped = False
        self._report_at = time.monotonic() + REPORT_S

    def work(self) -> None:
        """Play until the learner sends StopActor. Raises ClosedError if the control channel is closed."""
        self._actor.metrics.begin()
        self._load_first_weights()
        while not self._stopped:
            self._wait_for_buffer()
            if self._stopped or not self._actor.play(self._memory.buffers[self._free[0]], self._between):
                return
            buffer = self._free.popleft()
            self._learner_buffers.append(buffer)
            self._send_report()  # before Filled, so that the metrics include the matches of this batch
            self._control.send(Filled(buffer, self._actor.state(), self._actor.recorded))

    def _wait_for_buffer(self) -> None:
        """Play until the next segment is complete, then wait until the learner releases a batch buffer.

        When matches run in lockstep, their segments finish together: several batches fill at once, and then none for a
        while.
        """
        if not self._free:
            self._actor.play_on(lambda: self._between() or bool(self._free))
        while not self._free and not self._stopped:
            with self._actor.metrics.activity(names.HAND_OVER):
                while (message := self._control.receive(REPORT_S)) is None:
                    self._report()
            self._take_in(message)  # not timed as HAND_OVER: saving is an activity of its own

    def _between(self) -> bool:
        """Handle messages, load new weights and report metrics. Returns True if the actor must stop."""
        while (message := self._control.receive(0)) is not None:
            self._take_in(message)
        if self._memory.board.version != self._actor.version:
            self._load_weights()
        self._report()
        return self._stopped

    def _load_first_weights(self) -> None:
        """Wait until complete weights of the learner are in the shared memory, and load them.

        Until then the actor has random weights, with which it must not play. Raises TrainingError if the learner still
        writes after `FIRST_WEIGHTS_S`.
        """
        until_s = time.monotonic() + FIRST_WEIGHTS_S
        while not self._load_weights():
            if time.monotonic() > until_s:
                raise TrainingError(f"the weights in shared memory were incomplete for {FIRST_WEIGHTS_S:g} s")
            time.sleep(0.001)

    def _load_weights(self) -> bool:
        """Load the newest weights. Returns False if the learner is writing them now."""
        with self._actor.metrics.activity(names.LOAD_WEIGHTS):
            newest = self._memory.board.read()
            if newest is not None:
                self._actor.adopt(*newest)
        return newest is not None

    def _take_in(self, message: AnyMessage) -> None:
        if isinstance(message, Release):
            self._learner_buffers.remove(message.buffer)
            self._free.append(message.buffer)
        elif isinstance(message, Save):
            self._control.send(self._save(Path(message.path), message.number))
        elif isinstance(message, PastSelves):
            self._actor.set_past(message.versions)
        elif isinstance(message, TellOpponents):
            self._actor.tell(message.news)
        elif isinstance(message, StopActor):
            self._stopped = True

    def _save(self, path: Path, number: int) -> Saved:
        """Save the running matches, and the full batches that the learner has not trained on yet."""
        with self._actor.metrics.activity(names.SAVE):
            try:
                self._actor.save(path, [self._memory.buffers[buffer] for buffer in self._learner_buffers])
            except OSError as error:
                return Saved(str(path), number, error.errno or 0, str(error))
        self._send_report()  # the counts up to here belong to the same checkpoint
        return Saved(str(path), number)

    def _report(self) -> None:
        now = time.monotonic()
        if now >= self._report_at:
            self._report_at = now + REPORT_S
            self._send_report()

    def _send_report(self) -> None:
        self._control.send(MetricsMessage(self._actor.drain(), self._actor.recorded))


if __name__ == "__main__":
    sys.exit(main())
