"""The part of a cluster's actor that runs on its node. It supervises the actor's process there, as a run on one machine
does (actors/supervised.py), and exchanges messages with the learner. How these travel is the caller's concern.

One thread owns the actor's process, which dies with that thread. All public methods may be called from other threads.
"""

from __future__ import annotations

import logging
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ludus import files
from ludus.actors import log_relay, node_messages, resolved
from ludus.actors.control import ActorFailed, LogMessage, PastSelves, StopActor, TellOpponents
from ludus.actors.node_messages import (
    BeginOnNode,
    HostsReady,
    LearnerMessage,
    NodeMessage,
    NodeReady,
    NodeReport,
    PartFilled,
    PartReleased,
    SavedOnNode,
    SaveOnNode,
)
from ludus.actors.supervised import SupervisedActor
from ludus.errors import LudusError
from ludus.league.pool import Pool
from ludus.metrics.core import Metrics

REPORT_S = 1.0  # time between two reports of metrics
RETRY_S = 0.5  # until a part is shared again that found no room
TICK_S = 0.05  # time between two polls of an actor without a process
RELAY = "relay"  # the kind of process whose times are not part of the run's
MATCHES = "matches.safetensors"

Bytes = NDArray[np.uint8]
Share = Callable[[Bytes], object | None]
"""Makes an array available to the learner and returns what stands for it in a message, or None if there is no room."""


class NodeActor:
    """Plays on this node until `stop`. Begins to start the actor's process at once.

    At most `rollout.queue` parts of it (and one more in a run with a single actor) are filled and not released, because
    a part keeps its buffer in shared memory until then. A part that finds no room in the store is shared again later.
    """

    def __init__(
        self,
        begin: BeginOnNode,
        matches: Bytes | None,
        past: Sequence[tuple[int, Bytes]],
        folder: Path,
        ready: NodeReady,
        share: Share,
    ) -> None:
        """`matches` is the file of the matches to continue, and `past` those of the past selves, by version."""
        self._begin, self._folder, self._share = begin, folder, share
        self._run = resolved.unpack(begin.run)
        self._pool = Pool(folder / "pool", self._run.config.opponents.pool)
        self._metrics = Metrics(RELAY)
        self._outbox: deque[tuple[NodeMessage, object | None]] = deque([(ready, None)])
        self._arrived = threading.Condition()
        self._requests: deque[LearnerMessage] = deque()
        self._early: dict[int, LearnerMessage] = {}  # requests that have overtaken others, by number
        self._next = 0  # number of the next request
        self._weights: tuple[NDArray[np.float32], int] | None = None
        self._lock = threading.Lock()
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._stopping = threading.Event()
        self._started = False
        self._version = -1  # of the weights that it plays with
        self._greeted = False
        self._shared = 0  # filled parts that the learner was sent and has not released
        self._share_at = 0.0
        self._report_at = 0.0
        self._saving: int | None = None
        if matches is not None:
            folder.mkdir(parents=True, exist_ok=True)
            files.write(folder / MATCHES, matches.tobytes())
        self._write_past(past)
        self._thread = threading.Thread(target=self._work, args=(matches is not None,), name="actor", daemon=True)
        self._thread.start()

    def tell(self, number: int, message: LearnerMessage, past: Sequence[tuple[int, Bytes]] = ()) -> None:
        """Take a request. Requests are handled in the order of their numbers, from 0, in whatever order they arrive.

        `past` are the files of past selves that this node does not have yet, by version.
        """
        self._write_past(past)
        with self._lock:
            self._early[number] = message
            while self._next in self._early:
                self._requests.append(self._early.pop(self._next))
                self._next += 1
        self._wake()

    def publish(self, weights: NDArray[np.float32], version: int) -> None:
        """Play with these weights, unless newer ones have arrived before them."""
        with self._lock:
            if self._weights is None or version > self._weights[1]:
                self._weights = (weights, version)
        self._wake()

    def events(self, timeout_s: float) -> tuple[bytes, list[object]]:
        """Wait for messages and return them with what stands for their arrays, or an empty bundle after `timeout_s`."""
        with self._arrived:
            self._arrived.wait_for(lambda: bool(self._outbox), timeout_s)
            messages, self._outbox = self._outbox, deque()
        arrays = [array for _, array in messages if array is not None]
        flags = [array is not None for _, array in messages]
        return node_messages.encode_bundle([message for message, _ in messages], flags), arrays

    def stop(self, timeout_s: float) -> bool:
        """End the actor's process and its hosts. Returns False if they have not ended in time."""
        self._stopping.set()
        self._wake()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _work(self, resumed: bool) -> None:
        begin = self._begin
        handler = _Collector(self._post)
        logger = logging.getLogger(log_relay.LOGGER)
        logger.setLevel(logging.INFO)
        logger.addHandler(handler)
        actor = SupervisedActor(
            self._run,
            self._folder,
            self._metrics,
            pool=begin.pool,
            state=begin.state,
            matches=self._folder / MATCHES if resumed else None,
            under_way=begin.under_way,
        )
        try:
            actor.open()
            self._play(actor)
        except LudusError as error:
            self._report(actor)
            self._post(ActorFailed(type(error).__name__, str(error)))
        except Exception as error:  # reported to the learner, which shows it to the user
            self._post(ActorFailed("", f"{type(error).__name__}: {error}"))
        finally:
            with suppress(OSError):
                actor.close()
            logger.removeHandler(handler)
            self._tidy()

    def _play(self, actor: SupervisedActor) -> None:
        while not self._stopping.is_set():
            self._load_weights(actor)
            while self._requests:
                self._handle(actor, self._requests.popleft())
            progress = actor.poll(0)
            self._greet(actor)
            self._share_parts(actor)
            self._end_save(actor)
            if time.monotonic() >= self._report_at:
                self._report(actor)
            if not progress:
                self._wait(actor)

    def _load_weights(self, actor: SupervisedActor) -> None:
        if actor.spec is None or self._weights is None:
            return
        with self._lock:
            weights, version = self._weights
        if not self._started:
            self._started = True
            actor.start(weights, version)
        elif version != self._version:
            actor.publish(weights, version)
        self._version = version

    def _handle(self, actor: SupervisedActor, request: LearnerMessage) -> None:
        if isinstance(request, PartReleased):
            actor.take()
            actor.release()
            self._shared -= 1
        elif isinstance(request, PastSelves):
            actor.set_past(request.versions)
            self._pool.retain(request.versions)
        elif isinstance(request, TellOpponents):
            actor.tell(request.news)
        elif isinstance(request, SaveOnNode):
            self._saving = request.number
            try:
                actor.begin_save(self._folder / MATCHES)
            except LudusError as error:
                self._saving = None
                self._post(SavedOnNode(request.number, saved=False, error=str(error)))
        elif isinstance(request, StopActor):
            self._stopping.set()

    def _greet(self, actor: SupervisedActor) -> None:
        if actor.spec is not None and not self._greeted:
            self._greeted = True
            spec = actor.spec
            self._post(HostsReady(spec.fingerprint, spec.name, spec.schema, actor.facts))

    def _share_parts(self, actor: SupervisedActor) -> None:
        """Send the filled parts that the learner does not have yet, oldest first."""
        while self._shared < actor.filled and time.monotonic() >= self._share_at:
            block, state = actor.peek(self._shared)
            shared = self._share(block)
            if shared is None:
                self._share_at = time.monotonic() + RETRY_S
                return
            self._shared += 1
            self._report(actor)  # before the part, so that the metrics include its matches
            self._post(PartFilled(state), shared)

    def _end_save(self, actor: SupervisedActor) -> None:
        if self._saving is None or actor.saving:
            return
        number, self._saving = self._saving, None
        path = self._folder / MATCHES
        try:
            data = np.fromfile(path, np.uint8) if actor.end_save() else None
            shared = None if data is None else self._share(data)
            answer = SavedOnNode(number, saved=shared is not None)
            if data is not None and shared is None:
                answer = SavedOnNode(number, saved=False, error="the object store of its node is full")
        except (LudusError, OSError) as error:
            shared, answer = None, SavedOnNode(number, saved=False, error=str(error))
        path.unlink(missing_ok=True)
        self._report(actor)  # the counts up to here belong to the same checkpoint
        self._post(answer, shared)

    def _write_past(self, past: Sequence[tuple[int, Bytes]]) -> None:
        for version, data in past:
            path = self._pool.path(version)
            path.parent.mkdir(parents=True, exist_ok=True)
            files.replace(path, data.tobytes())

    def _report(self, actor: SupervisedActor) -> None:
        self._report_at = time.monotonic() + REPORT_S
        delta = self._metrics.drain()
        delta.times.walls.pop(RELAY, None)
        self._post(NodeReport(delta, actor.recorded, actor.playing))

    def _post(self, message: NodeMessage, array: object | None = None) -> None:
        with self._arrived:
            self._outbox.append((message, array))
            self._arrived.notify_all()

    def _wait(self, actor: SupervisedActor) -> None:
        """Wait for the actor, for a request or for the next report."""
        timeout_s = max(0.0, self._report_at - time.monotonic())
        descriptors = [self._wake_read]
        process = actor.fileno()
        if process is None:
            timeout_s = min(timeout_s, TICK_S)
        else:
            descriptors.append(process)
        if self._shared < actor.filled:
            timeout_s = min(timeout_s, RETRY_S)
        readable, _, _ = select.select(descriptors, [], [], timeout_s)
        if self._wake_read in readable:
            with suppress(BlockingIOError):
                os.read(self._wake_read, 4096)

    def _wake(self) -> None:
        with suppress(BlockingIOError):
            os.write(self._wake_write, b"\0")

    def _tidy(self) -> None:
        """Remove the matches and past selves of this node. The logs stay."""
        with suppress(OSError):
            (self._folder / MATCHES).unlink(missing_ok=True)
            self._pool.retain(())


class _Collector(logging.Handler):
    """Posts log messages to the learner."""

    def __init__(self, post: Callable[[NodeMessage], None]) -> None:
        super().__init__(logging.INFO)
        self._send = post

    def emit(self, record: logging.LogRecord) -> None:
        self._send(LogMessage(record.name, record.levelno, record.getMessage()))
