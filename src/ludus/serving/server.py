"""The policy server: one thread that reads sockets, computes batches and sends answers (docs/serving.md).

    with Server(library, ServerSettings(port=5555)) as server:
        server.run(stopped)

A policy on a CUDA device computes a batch while this thread sends the answers of the previous one and reads further
asks.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from ludus.errors import ConfigError, LudusError, ProtocolError
from ludus.serving import protocol
from ludus.serving.address import LOOPBACK, Address
from ludus.serving.batching import AskQueue
from ludus.serving.connection import Connection
from ludus.serving.forward_pass import AskOutcome, ForwardPass, Waiting
from ludus.serving.greeting import ClientSession, ClientSessions, RefusedClient
from ludus.serving.library import PolicyLibrary, ServedPolicy
from ludus.serving.local_listener import LocalListener
from ludus.serving.protocol import Code, Kind, Refusal, Report
from ludus.serving.sockets import Sockets
from ludus.serving.tallies import ServerTally
from ludus.serving.watcher import LOOK_S, Watcher

log = logging.getLogger(__name__)
POLL_S = 0.2  # longest time without a look at signals
SWEEP_S = 0.5  # between two looks at silent connections and at leases
STOP_S = 5.0  # to send the last answers


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Address, limits and batching of a server."""

    host: str = "127.0.0.1"
    port: int = 0  # 0: any free one
    token: str = ""
    without_token: bool = False  # answer other machines although there is no token
    max_batch: int = 1024  # rows of a forward pass
    max_wait_s: float = 0.0  # to wait for more rows; 0: greedy
    lease_s: float = 30.0  # for which the rows of a lost connection are kept
    silence_s: float = 10.0  # longest pause within a frame, and before a HELLO
    unread_s: float = 30.0  # for which a client may leave its answers unread
    watch_s: float = LOOK_S  # between two looks for newer checkpoints
    local_folder: Path | None = None  # for the socket of commands from this machine; None: take none

    def check(self) -> None:
        """Raise ConfigError for settings that are not safe or make no sense."""
        if self.host not in LOOPBACK and not self.token and not self.without_token:
            raise ConfigError(
                f"--bind {self.host}: other machines could use this server; give it a token (--token-file F), bind to "
                "127.0.0.1, or say --without-token"
            )
        if self.max_batch < 1 or self.max_wait_s < 0 or self.lease_s < 0:
            raise ConfigError("--max-batch must be at least 1, --max-wait-ms and --lease at least 0")


class Server:
    """Answers the clients of a library of policies. Listens from entry on; raises ConfigError if it cannot."""

    def __init__(
        self,
        library: PolicyLibrary,
        settings: ServerSettings | None = None,
        *,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings or ServerSettings()
        self.settings.check()
        self._library, self._clock_s = library, clock_s
        self._sessions = ClientSessions(library, token=self.settings.token, lease_s=self.settings.lease_s)
        self.tally = ServerTally(clock_s)
        self._queues: dict[tuple[str, bool], tuple[ServedPolicy, AskQueue[ClientSession, Connection]]] = {}
        self._clients: dict[Connection, ClientSession] = {}
        self._swept_s = clock_s()
        self._stopping = False

    def __enter__(self) -> Self:
        settings = self.settings
        with ExitStack() as stack:
            self._sockets = stack.enter_context(
                Sockets(
                    settings.host,
                    settings.port,
                    silence_s=settings.silence_s,
                    unread_s=settings.unread_s,
                    refused=self.tally.refused,
                )
            )
            self._watcher = stack.enter_context(Watcher(self._library, settings.watch_s))
            self._local = stack.enter_context(LocalListener(self._library, settings.local_folder, self._sockets.port))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def address(self) -> Address:
        """The address of this server, for clients on this machine."""
        return Address(self.settings.host, self._sockets.port)

    def run(self, stopped: Callable[[], bool]) -> None:
        """Serve until `stopped()` is True, then answer the asks that have arrived and return."""
        forward: ForwardPass | None = None
        while not stopped():
            is_busy = forward is not None or self._due() is not None
            self._sockets.poll(0.0 if is_busy else self._timeout_s(), self._clock_s())
            self._read()
            forward = self._turn(forward)
            self._sweep()
        self._stop(forward)

    def report(self) -> Report:
        """Return the numbers that `ludus serve status` shows."""
        tally, rates = self.tally, self.tally.rates()
        return Report(
            uptime_s=tally.uptime_s,
            device=self._library.device,
            clients=len(self._clients),
            policies=self._library.reports(),
            decisions=tally.decisions,
            asks=tally.asks,
            forwards=tally.forwards,
            again=tally.again,
            refused=dict(tally.refused),
            rows_per_s=rates.rows_per_s,
            asks_per_s=rates.asks_per_s,
            latency=rates.latency,
            batch_mean=rates.batch_mean,
            batch_p50=rates.batch_p50,
            batch_max=rates.batch_max,
            queue_rows=sum(queue.rows for _, queue in self._queues.values()),
        )

    def _read(self) -> None:
        """Handle the frames that have come."""
        for connection, kind, body in self._sockets.frames():
            try:
                self._handle(connection, kind, body)
            except RefusedClient as refusal:
                self._refuse(connection, refusal.code, refusal.message)
            except ProtocolError as error:
                self._refuse(connection, Code.PROTOCOL, str(error))

    def _handle(self, connection: Connection, kind: Kind, body: memoryview) -> None:
        now_s = self._clock_s()
        session = self._clients.get(connection)
        if kind is Kind.HELLO and not connection.client:
            session, welcome, earlier = self._sessions.greet(connection, body)
            if session is not None:
                self._clients[connection] = session
            if earlier is not None:
                self._clients.pop(earlier, None)
                self._drop_asks(earlier, session)
                self._refuse(earlier, Code.REPLACED, "the same client connected again")
            self._sockets.send(connection, protocol.encode_json(Kind.WELCOME, welcome), now_s)
        elif kind is Kind.ASK and session is not None:
            ask = protocol.decode_ask(body, session.served.spec.actions, session.served.spec.obs.nbytes)
            connection.waiting += 1
            self._queue(session.served).add(Waiting(session, connection, ask, now_s))
        elif kind is Kind.STATUS and connection.client:
            self._sockets.send(connection, protocol.encode_json(Kind.REPORT, self.report()), now_s)
        elif kind is Kind.BYE:
            if session is not None:
                del self._clients[connection]
                self._drop_asks(connection, session)
                self._sessions.end(session)
            self._sockets.close(connection)
        else:
            if kind is Kind.ASK and connection.client:
                raise RefusedClient(Code.PROTOCOL, "an ASK frame needs a policy; name one in HELLO")
            raise RefusedClient(Code.PROTOCOL, f"a {kind.name} frame is not expected from a client now")

    def _queue(self, served: ServedPolicy) -> AskQueue[ClientSession, Connection]:
        entry = self._queues.get((served.name, served.greedy))
        if entry is None or entry[0] is not served:  # the policy left and was opened again: the old queue is empty
            entry = self._queues[served.name, served.greedy] = (served, AskQueue())
        return entry[1]

    def _turn(self, forward: ForwardPass | None) -> ForwardPass | None:
        """Start the next batch as soon as the previous one is computed; only then send the answers of the previous one.
        Returns the batch that is being computed, if any."""
        outcomes = self._finish(forward)
        if forward is not None:  # what came meanwhile belongs into the next batch
            self._sockets.poll(0.0, self._clock_s())
            self._read()
        if self._watcher.adopt():
            log.debug("looked at newer checkpoints")
        self._local.apply()
        forward = self._begin()
        self._answer(outcomes)
        if forward is not None and not forward.launched:
            self._answer(self._finish(forward))
            return None
        return forward

    def _begin(self) -> ForwardPass | None:
        due = self._due()
        if due is None:
            return None
        served, queue = due
        batch = queue.take(self.settings.max_batch)
        try:
            net = self._library.net(served)
        except LudusError as error:
            log.error("%s", error)
            for each in batch:
                self._refuse_ask(each, Code.FAILED, str(error))
            return None
        return ForwardPass(served, net, batch, self.settings.max_batch)

    def _finish(self, forward: ForwardPass | None) -> Sequence[AskOutcome]:
        if forward is None:
            return ()
        outcomes = forward.finish()
        for _ in range(forward.forwards):
            self.tally.forwarded(forward.rows // forward.forwards)
        return outcomes

    def _due(self) -> tuple[ServedPolicy, AskQueue[ClientSession, Connection]] | None:
        """Return the policy whose batch should be computed now: the one with the oldest ask."""
        now_s, max_batch = self._clock_s(), self.settings.max_batch
        max_wait_s = 0.0 if self._stopping else self.settings.max_wait_s
        due = [
            each for each in self._queues.values() if each[1].is_due(now_s, max_batch=max_batch, max_wait_s=max_wait_s)
        ]
        return min(due, key=lambda each: each[1].since_s, default=None)

    def _timeout_s(self) -> float:
        """Return the time until the server has something to do, if nothing arrives before."""
        if self._sockets.has_frames:
            return 0.0
        waits = [queue.since_s + self.settings.max_wait_s for _, queue in self._queues.values() if len(queue)]
        return max(0.0, min([POLL_S, *(until_s - self._clock_s() for until_s in waits)]))

    def _answer(self, outcomes: Sequence[AskOutcome]) -> None:
        for waiting, answer, again, refusal in outcomes:
            if answer is None:
                assert refusal is not None
                self._refuse_ask(waiting, refusal.code, refusal.message, refusal.rows)
                continue
            rows = len(answer.row)
            self.tally.answered(waiting.since_s, rows)
            self.tally.again += again
            waiting.client.served.decisions += rows - again
            waiting.via.waiting -= 1
            self._sockets.send(waiting.via, protocol.encode_answer(answer), self._clock_s())

    def _refuse_ask(self, waiting: Waiting, code: Code, message: str, rows: list[int] | None = None) -> None:
        self.tally.refused[code.value] += 1
        waiting.via.waiting -= 1
        frame = protocol.encode_refused(Refusal(code.value, message, waiting.ask.batch, rows))
        self._sockets.send(waiting.via, frame, self._clock_s())

    def _refuse(self, connection: Connection, code: Code, message: str) -> None:
        self._sockets.refuse(connection, code, message, self._clock_s())

    def _sweep(self) -> None:
        """Close silent connections, and free the rows of clients that did not come back in time."""
        now_s = self._clock_s()
        if now_s - self._swept_s >= SWEEP_S:
            self._swept_s = now_s
            self._sockets.sweep(now_s)
            self._sessions.expire(now_s)
        while self._sockets.closed:
            connection = self._sockets.closed.pop()
            session = self._clients.pop(connection, None)
            if session is not None:
                self._drop_asks(connection, session)
                self._sessions.lose(session, now_s)

    def _drop_asks(self, connection: Connection, session: ClientSession | None) -> None:
        if session is not None:
            self._queue(session.served).drop(connection)

    def _stop(self, forward: ForwardPass | None) -> None:
        """Answer the asks that have arrived, and give clients a moment to read the answers."""
        self._stopping = True
        self._sockets.refuse_new()
        until_s = self._clock_s() + STOP_S
        self._answer(self._finish(forward))
        while self._clock_s() < until_s:
            forward = self._begin()
            if forward is None:
                break
            self._answer(self._finish(forward))
        while self._sockets.unsent and self._clock_s() < until_s:
            self._sockets.poll(POLL_S, self._clock_s())
        log.info("stopped after %d decisions", self.tally.decisions)
