"""Control messages between learner and actor: length-prefixed msgpack on a socket pair. Batches use shared memory."""

from __future__ import annotations

import contextlib
import select
import socket
import struct

import msgspec
from msgspec import Struct

from ludus.actors.in_flight import ActorState
from ludus.actors.resolved import PackedRun
from ludus.errors import TrainingError
from ludus.league.matchmaking import OpponentNews
from ludus.metrics.core import Delta
from ludus.policies.checkpoints.checkpoint import GameNote

LENGTH = struct.Struct("<I")


class Message(Struct, frozen=True, tag=True):
    """The base class of all control messages."""


class Begin(Message, frozen=True):
    """Learner to actor, the first message: the run to play. Seeds are derived from `version`."""

    run: PackedRun
    run_dir: str
    version: int
    pool: list[int]
    state: ActorState | None
    matches: str | None  # file with the saved matches to continue
    game: str = ""  # the fingerprint that the hosts' game must have; empty for any


class ActorReady(Message, frozen=True):
    """Actor to learner: the hosts have started. Describes their game and the number of weights of the net."""

    game: GameNote
    tables: dict[str, tuple[list[int], bytes]]
    floats: int
    facts: dict[str, str] = {}  # what the hosts say about their engine


class Attach(Message, frozen=True):
    """Learner to actor: the shared memory is set up and holds the first weights; start to play."""

    buffers: int  # number of batch buffers
    learner_buffers: list[int] = []  # filled by an earlier actor and not released by the learner yet, oldest first


class Filled(Message, frozen=True):
    """Actor to learner: the batch buffer with this index is full."""

    buffer: int
    state: ActorState
    recorded: int = 0  # recorded decisions that are not in a full batch yet


class Release(Message, frozen=True):
    """Learner to actor: the batch buffer with this index may be filled again."""

    buffer: int


class PastSelves(Message, frozen=True):
    """Learner to actor: the versions of the past selves that are in the pool."""

    versions: list[int]


class TellOpponents(Message, frozen=True):
    """Learner to actor: members of the league that may play, and the results of other actors."""

    news: OpponentNews


class Save(Message, frozen=True):
    """Learner to actor: write the running matches into this file and answer with Saved."""

    path: str
    number: int = 0  # of this request; the answer repeats it


class Saved(Message, frozen=True):
    """Actor to learner: the file is written, or could not be written because of `error`."""

    path: str
    number: int = 0
    errno: int = 0
    error: str = ""


class MetricsMessage(Message, frozen=True):
    """Actor to learner, about once per second: the metrics since the last such message."""

    delta: Delta
    recorded: int = 0  # recorded decisions that are not in a full batch yet


class LogMessage(Message, frozen=True):
    """Actor to learner: a line of its log, which the learner's process shows to the user."""

    logger: str
    level: int
    text: str


class ActorFailed(Message, frozen=True):
    """Actor to learner, the last message: the actor has failed.

    `kind` is the name of a class in ludus.errors, or empty for an unexpected exception.
    """

    kind: str
    message: str


class StopActor(Message, frozen=True):
    """Learner to actor, the last message: stop."""


AnyMessage = (
    Begin
    | ActorReady
    | Attach
    | Filled
    | Release
    | PastSelves
    | TellOpponents
    | Save
    | Saved
    | MetricsMessage
    | LogMessage
    | ActorFailed
    | StopActor
)


class ClosedError(Exception):
    """Raised if the other side has closed the channel or has ended."""


class ControlChannel:
    """Sends and receives control messages. Both sides run the same version of ludus and trust each other."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._decoder = msgspec.msgpack.Decoder(AnyMessage)
        self._received = bytearray()

    def send(self, message: AnyMessage) -> None:
        """Send a message. Raises ClosedError if that fails, or takes longer than the socket's timeout.

        After a timeout the channel is closed, since a part of the message may have been sent.
        """
        body = msgspec.msgpack.encode(message)
        try:
            self._socket.sendall(LENGTH.pack(len(body)) + body)
        except TimeoutError as error:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            raise ClosedError from error
        except OSError as error:
            raise ClosedError from error

    def receive(self, timeout_s: float) -> AnyMessage | None:
        """Return the next message, or None if none arrives in time. Raises ClosedError if the channel is closed."""
        while True:
            message = self._next()
            if message is not None:
                return message
            if not select.select([self._socket], [], [], timeout_s)[0]:
                return None
            try:
                data = self._socket.recv(1 << 20)
            except OSError as error:
                raise ClosedError from error
            if not data:
                raise ClosedError
            self._received += data

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def _next(self) -> AnyMessage | None:
        if len(self._received) < LENGTH.size:
            return None
        (size,) = LENGTH.unpack_from(self._received)
        end = LENGTH.size + size
        if len(self._received) < end:
            return None
        try:
            message: AnyMessage = self._decoder.decode(memoryview(self._received)[LENGTH.size : end])
        except msgspec.MsgspecError as error:
            raise TrainingError(f"a control message between learner and actor cannot be decoded: {error}") from error
        del self._received[:end]
        return message
