"""Messages between the learner and an actor on a node of a cluster: msgpack, whose large arrays travel beside them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ludus.actors.cluster import Node, Versions
from ludus.actors.control import ActorFailed, LogMessage, Message, PastSelves, StopActor, TellOpponents
from ludus.actors.in_flight import ActorState
from ludus.actors.resolved import PackedRun
from ludus.metrics.core import Delta


class BeginOnNode(Message, frozen=True):
    """Learner to node: the run to play. Seeds are derived from `version`."""

    run: PackedRun
    version: int
    pool: list[int]
    state: ActorState | None
    under_way: int  # matches in the file that comes with it
    game: str  # the fingerprint that the hosts' game must have


class NodeReady(Message, frozen=True):
    """Node to learner, the first message: the node and the process of the actor."""

    node: Node
    versions: Versions
    pid: int


class HostsReady(Message, frozen=True):
    """Node to learner: the hosts have started for the first time. Describes their game."""

    game: str  # fingerprint
    name: str
    schema: int
    facts: dict[str, str]  # what the hosts say about their engine


class NodeReport(Message, frozen=True):
    """Node to learner, about once per second and before each batch part: the change of the metrics since the previous
    report."""

    delta: Delta
    recorded: int  # recorded decisions that are not in a full part
    playing: bool


class PartFilled(Message, frozen=True):
    """Node to learner: a batch part, which comes with this message."""

    state: ActorState


class PartReleased(Message, frozen=True):
    """Learner to node: the learner has used the oldest batch part, so its buffer may be filled again."""


class SaveOnNode(Message, frozen=True):
    """Learner to node: send the running matches."""

    number: int  # of this request; the answer repeats it


class SavedOnNode(Message, frozen=True):
    """Node to learner: the file of the running matches comes with this message if `saved` is True."""

    number: int
    saved: bool
    error: str = ""


NodeMessage = NodeReady | HostsReady | NodeReport | PartFilled | SavedOnNode | LogMessage | ActorFailed
LearnerMessage = PastSelves | TellOpponents | PartReleased | SaveOnNode | StopActor


class NodeMessages(msgspec.Struct, frozen=True):
    """Messages that are sent together, and whether each of them has an array."""

    messages: list[NodeMessage]
    arrays: list[bool]


_BUNDLES = msgspec.msgpack.Decoder(NodeMessages)
_REQUESTS: msgspec.msgpack.Decoder[LearnerMessage] = msgspec.msgpack.Decoder(LearnerMessage)
_BEGINNINGS = msgspec.msgpack.Decoder(BeginOnNode)


def encode(message: LearnerMessage | BeginOnNode) -> bytes:
    return msgspec.msgpack.encode(message)


def encode_bundle(messages: Sequence[NodeMessage], arrays: Sequence[bool]) -> bytes:
    return msgspec.msgpack.encode(NodeMessages(list(messages), list(arrays)))


def decode_bundle(data: bytes) -> NodeMessages:
    """Raises msgspec.MsgspecError if the bytes are damaged, or of another version of ludus."""
    return _BUNDLES.decode(data)


def decode_request(data: bytes) -> LearnerMessage:
    """Raises msgspec.MsgspecError, like `decode_bundle`."""
    return _REQUESTS.decode(data)


def decode_beginning(data: bytes) -> BeginOnNode:
    """Raises msgspec.MsgspecError, like `decode_bundle`."""
    return _BEGINNINGS.decode(data)
