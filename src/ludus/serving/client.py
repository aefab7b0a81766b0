"""`Client`: asks a policy server for actions. It needs numpy and msgspec only.

    with Client("tcp://127.0.0.1:5555/gen1") as client:
        answer = client.act(row, obs, legal, opens)

Several batches may be on the way at once: `ask` sends one and `take` waits for its answer.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ludus import limits
from ludus.errors import ProtocolError, ServingError
from ludus.processes.restarts import Restarts
from ludus.serving import protocol
from ludus.serving.address import Address, parse, token_of_environment
from ludus.serving.connection import tune
from ludus.serving.history import MatchHistory
from ludus.serving.protocol import (
    Ask,
    ClientHello,
    Code,
    Kind,
    PolicyDescription,
    Refusal,
    Report,
    ServedAnswer,
    Welcome,
)

log = logging.getLogger(__name__)
NUMBERS = 1 << 32
FINAL = (Code.TOKEN, Code.UNKNOWN_POLICY, Code.WRONG_GAME, Code.PROTOCOL, Code.REPLACED)  # trying again cannot help


class PlayedGame(NamedTuple):
    """The game that a client plays. The server refuses the client if its policy is for another game."""

    name: str
    schema: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Reconnects:
    """Settings of reconnecting: the client tries again after delays that double up to `backoff_max_s`, until the
    deadline."""

    backoff_s: float = 0.05
    backoff_max_s: float = 2.0
    failures_in_a_row: int = 1 << 30


@dataclass(slots=True)
class ClientCounts:
    """Counts of the faults that a client has survived so far."""

    reconnects: int = 0
    resent_rows: int = 0  # rows whose answer was lost with a connection
    replayed_rows: int = 0  # earlier decisions sent again to rebuild hidden states
    lost_states: int = 0  # matches that went on with an empty hidden state


class Client:
    """A connection to one policy of a server.

    Every wait ends after `timeout_s` with ServingError. If the connection is lost, the client connects again within
    that time and repeats the asks without an answer. Decisions are numbered, so that an answer is never used for
    another decision. For a recurrent policy it also keeps the observations of running matches: a server that has lost
    the hidden states gets them again. Not safe for several threads.
    """

    def __init__(
        self,
        address: str | Address,
        *,
        game: PlayedGame | None = None,
        token: str | None = None,
        timeout_s: float = 30.0,
        history: MatchHistory | None = None,
    ) -> None:
        """Connect. address: tcp://HOST:PORT/NAME, or without NAME for `status` only. token: default: that in the file
        which the environment variable LUDUS_TOKEN_FILE names. Raises ServingError if the server cannot be reached or
        refuses, and ConfigError for a wrong address."""
        self._socket: socket.socket | None = None
        self.address = parse(address, policy=False) if isinstance(address, str) else address
        self.counts = ClientCounts()
        self._game, self._timeout_s = game, timeout_s
        self._token = token_of_environment() if token is None else token
        self._name = os.urandom(12).hex()
        self._welcome: Welcome | None = None
        self._history = MatchHistory() if history is None else history
        self._numbers = np.zeros(0, np.int64)  # of the next decision, by row
        self._batch = 0
        self._open_asks: dict[int, Ask] = {}  # asks without an answer, oldest first
        self._answers: dict[int, ServedAnswer | ServingError] = {}
        self._reports: list[Report] = []
        self._repeat: list[Ask] = []  # asks to be sent again, with other flags
        self._replayed: int | None = None  # batch of the replay that is on the way
        self._frames = protocol.splitter()
        self.welcome = self._connect(time.monotonic() + timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    @property
    def policy(self) -> PolicyDescription:
        """The policy that answers. Raises ServingError if the address names none."""
        if self.welcome.policy is None:
            raise ServingError(f"{self.address} names no policy; there are {', '.join(self.welcome.policies)}")
        return self.welcome.policy

    @property
    def most_rows(self) -> int:
        """The most rows of one `ask`."""
        return self.welcome.ask_rows

    def act(
        self, row: NDArray[Any], obs: NDArray[np.uint8], legal: NDArray[np.bool_], opens: NDArray[np.bool_]
    ) -> ServedAnswer:
        """Ask for actions and wait for them; the arguments are those of `ask`."""
        return self.take(self.ask(row, obs, legal, opens))

    def ask(self, row: NDArray[Any], obs: NDArray[np.uint8], legal: NDArray[np.bool_], opens: NDArray[np.bool_]) -> int:
        """Send rows that need an action, and return the number for `take`.

        row: [n] numbers that this client chooses for its rows, from 0. obs: [n, row_bytes] packed observations. legal:
        [n, A] action masks. opens: [n] True at the first decision of a match.
        """
        if len(row) > self.most_rows:
            raise ServingError(f"{len(row):,} rows in one ask, allowed are {self.most_rows:,}; split them")
        self._batch = (self._batch + 1) % NUMBERS
        starts = np.asarray(opens, np.uint8)
        if self.policy.recurrent:
            starts = self._starts(row, starts)
        ask = Ask(
            self._batch,
            np.asarray(row, np.uint32),
            self._next_numbers(np.asarray(row, np.int64)),
            starts,
            np.packbits(legal, axis=1, bitorder="little"),
            np.array(obs),  # a copy: it may have to be sent again
        )
        self._open_asks[ask.batch] = ask
        deadline_s = time.monotonic() + self._timeout_s
        try:
            self._send(protocol.encode_ask(ask), deadline_s)
        except OSError as error:
            self._recover(error, deadline_s)
        return ask.batch

    def take(self, batch: int) -> ServedAnswer:
        """Wait for the answer to an ask. Raises ServingError if it was refused, or does not come within `timeout_s`."""
        deadline_s = time.monotonic() + self._timeout_s
        while batch not in self._answers:
            if batch not in self._open_asks:
                raise ServingError(f"batch {batch} was not asked, or its answer was taken before")
            self._wait(deadline_s)
        answer = self._answers.pop(batch)
        if isinstance(answer, ServingError):
            raise answer
        return answer

    def status(self) -> Report:
        """Return the numbers of the server."""
        deadline_s = time.monotonic() + self._timeout_s
        try:
            self._send(protocol.encode_empty(Kind.STATUS), deadline_s)
        except OSError as error:
            raise ServingError(f"{self.address} is gone: {error}") from error
        while not self._reports:
            self._wait(deadline_s)
        return self._reports.pop()

    def close(self) -> None:
        """Tell the server to free the rows of this client, and close the connection. Does not wait."""
        if self._socket is not None:
            with contextlib.suppress(OSError):  # the server is gone, or will notice by the lost connection
                self._socket.send(protocol.encode_empty(Kind.BYE))
        self._disconnect()

    def _next_numbers(self, row: NDArray[np.int64]) -> NDArray[np.uint32]:
        highest = int(row.max(initial=-1))
        if highest >= len(self._numbers):
            numbers = np.zeros(max(highest + 1, 2 * len(self._numbers)), np.int64)
            numbers[: len(self._numbers)] = self._numbers
            self._numbers = numbers
        next_numbers: NDArray[np.uint32] = self._numbers[row].astype(np.uint32)
        self._numbers[row] += 1
        return next_numbers

    def _starts(self, row: NDArray[Any], opens: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return `opens`, also set for rows whose hidden state is lost for good, so that they start from a fresh
        one."""
        starts = opens.copy()
        under_way = {each for ask in self._open_asks.values() for each in ask.row.tolist()}
        for at, each in enumerate(np.asarray(row).tolist()):
            unknown = each >= len(self._numbers) or self._numbers[each] == 0
            if unknown and not opens[at] and each not in under_way:
                self.counts.lost_states += 1
                starts[at] = 1
        return starts

    def _connect(self, deadline_s: float) -> Welcome:
        """Connect and say HELLO, again and again until the deadline. Raises ServingError."""
        restarts = Restarts(Reconnects())
        while True:
            try:
                return self._greet(deadline_s)
            except (OSError, ProtocolError) as error:
                self._disconnect()
                delay_s = restarts.failed(str(error)) or 0.0
                if time.monotonic() + delay_s >= deadline_s:
                    raise ServingError(
                        f"{self.address} cannot be reached ({restarts.last_failure}); is `ludus serve` running there?"
                    ) from error
                time.sleep(delay_s)

    def _greet(self, deadline_s: float) -> Welcome:
        where = self.address.host, self.address.port
        self._socket = socket.create_connection(where, timeout=max(deadline_s - time.monotonic(), 0.01))
        tune(self._socket)
        self._socket.setblocking(False)
        self._frames = protocol.splitter()
        game = self._game
        self._send(
            protocol.encode_json(
                Kind.HELLO,
                ClientHello(
                    protocol.VERSION,
                    self._name,
                    self._token,
                    self.address.policy or None,
                    self.address.greedy,
                    None if game is None else game.name,
                    None if game is None else game.schema,
                    None if game is None else game.fingerprint,
                ),
            ),
            deadline_s,
        )
        self._welcome = None
        while self._welcome is None:
            self._receive(deadline_s)
        welcome = self._welcome
        if welcome.protocol != protocol.VERSION:
            raise ServingError(f"{self.address} speaks protocol {welcome.protocol}, this client {protocol.VERSION}")
        if welcome.policy is not None:
            described = welcome.policy.game
            self._game = PlayedGame(
                described.name, described.schema, described.fingerprint
            )  # the same after a reconnection
        return welcome

    def _recover(self, error: Exception, deadline_s: float) -> None:
        """Connect again after the connection was lost, and repeat the asks without an answer."""
        log.warning("lost %s (%s); connecting again", self.address, error)
        while True:
            self._disconnect()
            self.welcome = self._connect(deadline_s)
            self.counts.reconnects += 1
            try:
                self._restore(deadline_s)
                return
            except (OSError, ProtocolError) as again:
                log.warning("lost %s again (%s)", self.address, again)

    def _restore(self, deadline_s: float) -> None:
        """Send the decisions of running matches again if the server has lost them, then the asks without an answer."""
        self._repeat.clear()
        if self.welcome.policy is not None and self.welcome.policy.recurrent and not self.welcome.resumed:
            for ask in self._history.replay(self.most_rows):
                self._batch = self._replayed = (self._batch + 1) % NUMBERS
                self._send(protocol.encode_ask(ask._replace(batch=self._batch)), deadline_s)
                self.counts.replayed_rows += len(ask.row)
                while self._replayed is not None:
                    self._receive(deadline_s)
        for ask in list(self._open_asks.values()):
            self.counts.resent_rows += len(ask.row)
            self._send(protocol.encode_ask(ask), deadline_s)

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _wait(self, deadline_s: float) -> None:
        """Wait for the next frames from the server and handle them. Raises ServingError at the deadline."""
        try:
            while self._repeat:
                self._send(protocol.encode_ask(self._repeat.pop()), deadline_s)
            self._receive(deadline_s)
        except (OSError, ProtocolError) as error:
            self._recover(error, deadline_s)

    def _receive(self, deadline_s: float) -> None:
        """Read the available bytes once and handle all complete frames."""
        assert self._socket is not None
        left_s = deadline_s - time.monotonic()
        if left_s <= 0 or not select.select([self._socket], [], [], left_s)[0]:
            raise ServingError(f"{self.address} sent nothing for {self._timeout_s:g} s; is it overloaded?")
        self._read()

    def _read(self) -> None:
        assert self._socket is not None
        try:
            count = self._socket.recv_into(self._frames.space())
        except (BlockingIOError, InterruptedError):
            return
        if count == 0:
            raise ConnectionResetError("the server closed the connection")
        self._frames.filled(count)
        for kind, body in self._frames:
            self._handle(kind, body)

    def _handle(self, kind: Kind, body: memoryview) -> None:
        if kind is Kind.ANSWER:
            self._answered(protocol.decode_answer(body))
        elif kind is Kind.REFUSED:
            self._refused(protocol.decode_json(body, Refusal))
        elif kind is Kind.WELCOME:
            self._welcome = protocol.decode_json(body, Welcome)
        elif kind is Kind.REPORT:
            self._reports.append(protocol.decode_json(body, Report))
        else:
            raise ProtocolError(f"the server sent a {kind.name} frame, which is not expected now")

    def _answered(self, answer: ServedAnswer) -> None:
        if answer.batch == self._replayed:
            self._replayed = None
            return
        ask = self._open_asks.get(answer.batch)
        if ask is None:
            return  # it was answered before the connection was lost
        if not (np.array_equal(answer.row, ask.row) and np.array_equal(answer.number, ask.number)):
            raise ProtocolError(f"the answer to batch {answer.batch} is for other decisions")
        del self._open_asks[answer.batch]
        if self.policy.recurrent:
            self._history.add(ask)
        self._answers[answer.batch] = answer

    def _refused(self, refusal: Refusal) -> None:
        message = limits.clipped(refusal.message, limits.MESSAGE_CHARS)
        if refusal.batch is None:
            if refusal.code in FINAL:
                self._disconnect()
                raise ServingError(f"{self.address} refused this client: {message}")
            raise ConnectionAbortedError(message)
        if refusal.batch == self._replayed:
            self._replayed = None
            return
        ask = self._open_asks.get(refusal.batch)
        if ask is not None and refusal.code == Code.LOST_STATE and refusal.rows:
            stateless = np.isin(ask.row, np.array(refusal.rows, np.uint32)) & (ask.opens == 0)
            if stateless.any():
                self.counts.lost_states += int(np.count_nonzero(stateless))
                opens = np.where(stateless, 1, ask.opens).astype(np.uint8)
                self._open_asks[ask.batch] = ask._replace(opens=opens)
                self._repeat.append(self._open_asks[ask.batch])
                return
        self._open_asks.pop(refusal.batch, None)
        self._answers[refusal.batch] = ServingError(f"{self.address} refused a batch: {message}")

    def _send(self, frame: bytes, deadline_s: float) -> None:
        """Send a frame; read answers meanwhile, so that neither side waits for the other. Raises OSError."""
        if self._socket is None:
            raise ConnectionResetError("not connected")
        unsent = memoryview(frame)
        while unsent:
            try:
                unsent = unsent[self._socket.send(unsent) :]
            except (BlockingIOError, InterruptedError):
                left_s = deadline_s - time.monotonic()
                readable, writable, _ = select.select([self._socket], [self._socket], [], max(left_s, 0))
                if not readable and not writable:
                    raise ServingError(f"{self.address} took nothing for {self._timeout_s:g} s") from None
                if readable:
                    self._read()
