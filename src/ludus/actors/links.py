"""Interfaces between the learner and the actors on the nodes of a cluster. actors/ray_cluster.py implements them with
Ray."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ludus.actors.cluster import Node, Versions
from ludus.actors.node_messages import BeginOnNode, LearnerMessage, NodeMessage, NodeReady
from ludus.metrics.core import Metrics

Bytes = NDArray[np.uint8]


class LostError(Exception):
    """Raised by a link if its actor has ended or cannot be reached. The text says how."""

    def __init__(self, text: str, *, node_lost: bool) -> None:
        super().__init__(text)
        self.node_lost = node_lost  # True if its whole node is lost, which is no fault of the actor


class Link(Protocol):
    """The connection to one actor on a node."""

    def fileno(self) -> int: ...  # readable when `receive` has something to return

    def receive(self, timeout_s: float) -> tuple[NodeMessage, Bytes | None] | None:
        """Return the next message and its array, which is None if it has none or it was lost. Raises LostError."""
        ...

    def heard_s(self) -> float:
        """Return when the actor last answered or was asked, on the monotonic clock."""
        ...

    def send(self, message: LearnerMessage, past: Sequence[int] = ()) -> None:
        """Send a message, with the files of these past selves."""
        ...

    def publish(self) -> None:
        """Let the actor play with the newest weights of `Cluster.publish`."""
        ...

    def end(self, timeout_s: float) -> None:
        """End the actor; with a timeout of 0, kill it."""
        ...


class Cluster(Protocol):
    """Places actors on nodes. All calls must come from one thread."""

    def place(self, actor: int, cpus: int, begin: BeginOnNode, matches: Bytes | None, past: Sequence[int]) -> Link:
        """Start an actor wherever there is room, now or later."""
        ...

    def publish(self, weights: NDArray[np.float32], version: int) -> None:
        """Make weights available to all nodes, unless these already are."""
        ...

    def retain(self, versions: Sequence[int]) -> None:
        """Forget the files of all past selves but these."""
        ...

    def refuse(self, ready: NodeReady, why: str) -> None:
        """Place no more actors on this node."""
        ...

    def check(self, metrics: Metrics, actor: int, *, playing: bool) -> None:
        """Update the metrics of nodes. Raises ClusterLost if the cluster is lost or none of its nodes may play."""
        ...

    def has(self, ready: NodeReady) -> bool:
        """Return whether this node is alive, as far as the head of the cluster knows."""
        ...

    @property
    def joined(self) -> Sequence[Node]:
        """The nodes that have joined during the run and may play."""
        ...

    @property
    def answers(self) -> bool:
        """True if the head of the cluster answers. If it does not, placing an actor could block for long."""
        ...

    @property
    def versions(self) -> Versions:
        """The versions of this machine."""
        ...
