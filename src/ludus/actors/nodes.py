"""The nodes of a cluster as the learner sees them: which are alive, which may play, and when the cluster is lost.

A thread asks the head for the nodes, because a head that does not answer must not delay the learner. How it asks is the
caller's concern.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress

import msgspec

from ludus.actors import cluster
from ludus.actors.cluster import Node, Versions
from ludus.actors.node_messages import NodeReady
from ludus.errors import ClusterLost, SetupError
from ludus.metrics import names
from ludus.metrics.core import Metrics

CHECK_S = 120.0  # longest wait for the versions of a node, which starts a process there
ANSWER_S = 5.0  # a head that has not answered for this long may be lost
LOOK_S = 1.0  # time between two looks at the nodes
LOST_S = 30.0  # without any actor that plays: longest time without an answer of the head
ROOM_S = 600.0  # the same: longest wait for a node with room
log = logging.getLogger(__name__)

Software = dict[str, str]  # as `software.describer` describes it


class Nodes:
    """The nodes of a cluster. All calls must come from one thread."""

    def __init__(
        self,
        address: str,
        here: Software,
        look: Callable[[], Sequence[Node]],
        ask: Callable[[Node], Future[Software]],
    ) -> None:
        """`look` returns the nodes that are alive, or raises an exception; `ask` lets a node describe its software."""
        self.versions = msgspec.convert(here, Versions)
        self._address, self._look, self._ask = address, look, ask
        self._alive: dict[str, Node] = {}
        self._previous: dict[str, Node] = {}  # as of the last `check`
        self._refused: dict[str, str] = {}  # reasons by id of the node
        self._software: dict[str, Future[Software]] = {}  # by id of the node
        self._playing: set[int] = set()  # actors
        self._most = 0
        self._checked_s = 0.0
        self._heard_s = self._played_s = time.monotonic()
        self._stopped = threading.Event()
        self._update()
        self._first = set(self._alive)  # ids of the nodes that the run was divided among
        self._thread = threading.Thread(target=self._watch, name="nodes", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> list[Node]:
        """The nodes that are alive and may play."""
        return [node for node in self._alive.values() if node.id not in self._refused]

    @property
    def joined(self) -> list[Node]:
        """The nodes that have joined since `compare_all`, are alive, and whose versions are those of this machine."""
        return [node for node in self.alive if node.id not in self._first and self._compared(node)]

    @property
    def answers(self) -> bool:
        """True if the head has answered within `ANSWER_S`."""
        return time.monotonic() - self._heard_s < ANSWER_S

    @property
    def refused(self) -> list[str]:
        """The ids of the nodes that may not play."""
        return sorted(self._refused)

    def has(self, node: Node) -> bool:
        """Return whether a node is alive, as far as the head knows."""
        return node.id in self._alive

    def compare_all(self) -> None:
        """Compare the versions of all nodes with this machine's. Raises SetupError if none of them may play."""
        until_s = time.monotonic() + CHECK_S
        self._compare()
        while any(not self._software[node.id].done() for node in self.alive) and time.monotonic() < until_s:
            time.sleep(0.02)
            self._compare()
        self._compare()
        self._first = set(self._alive)
        if not self.alive:
            raise SetupError(f"no node of the Ray cluster {self._address} may play: {self._reasons()}")

    def refuse(self, node: Node, why: str) -> None:
        """Let this node play no more."""
        if node.id not in self._refused:
            self._refused[node.id] = why
            log.warning("node %s may not play: %s (%s)", node.name, why, cluster.WHERE)

    def check(self, metrics: Metrics, actor: int, *, playing: bool) -> None:
        """Note whether an actor plays, and about once per second compare new nodes and update the metrics.

        Raises ClusterLost if no actor plays and none can: the head does not answer, all nodes are refused, or none
        has had room for `ROOM_S`.
        """
        if playing:
            self._playing.add(actor)
        else:
            self._playing.discard(actor)
        now_s = time.monotonic()
        if now_s - self._checked_s < LOOK_S:
            return
        self._checked_s = now_s
        self._compare()
        self._count(metrics)
        if self._playing:
            self._played_s = now_s
            return
        if now_s - max(self._heard_s, self._played_s) > LOST_S:
            raise ClusterLost(
                f"no actor plays, and the head of the Ray cluster {self._address} has not answered for {LOST_S:g} s"
            )
        if self._alive and not self.alive:
            raise ClusterLost(f"no node of the Ray cluster {self._address} may play: {self._reasons()}")
        if now_s - self._played_s > ROOM_S:
            raise ClusterLost(
                f"no node of the Ray cluster {self._address} had room for an actor for {ROOM_S / 60:g} minutes; "
                f"alive are {cluster.listed(self._alive.values()) or 'none'}"
            )

    def close(self) -> None:
        self._stopped.set()
        self._thread.join(LOOK_S)

    def _watch(self) -> None:
        while not self._stopped.wait(LOOK_S):
            with suppress(Exception):  # the head does not answer; `check` notices by the time
                self._update()

    def _update(self) -> None:
        alive = {node.id: node for node in self._look()}
        self._alive, self._heard_s = alive, time.monotonic()

    def _compare(self) -> None:
        """Ask new nodes for their versions, and refuse those whose versions differ."""
        for node in self.alive:
            answer = self._software.get(node.id)
            if answer is None:
                self._software[node.id] = self._ask(node)
            elif self._compared(node):
                different = cluster.difference(msgspec.convert(answer.result(), Versions), self.versions)
                if different:
                    self.refuse(node, different)

    def _compared(self, node: Node) -> bool:
        answer = self._software.get(node.id)
        return answer is not None and answer.done() and answer.exception() is None

    def _reasons(self) -> str:
        return "; ".join(f"node {node.name}: {self._refused[node.id]}" for node in self._alive.values())

    def _count(self, metrics: Metrics) -> None:
        """Set the metrics of nodes, and log which have joined and which are lost."""
        alive = dict(self._alive)
        for node in alive.values():
            if self._previous and node.id not in self._previous:
                log.info("node %s with %d CPUs has joined the cluster", node.name, node.cpus)
        for node in self._previous.values():
            if node.id not in alive:
                metrics.add(names.NODES_LOST)
                log.warning("node %s has left the cluster or was lost", node.name)
        self._previous = alive
        self._most = max(self._most, len(alive))
        metrics.set(names.NODES_ALIVE, len(self.alive))
        metrics.set(names.NODES_TOTAL, self._most)
        metrics.set(names.NODES_REFUSED, len(alive) - len(self.alive))


class ClusterNodes:
    """The part of `links.Cluster` that is about nodes."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes

    @property
    def versions(self) -> Versions:
        return self.nodes.versions

    @property
    def answers(self) -> bool:
        return self.nodes.answers

    def refuse(self, ready: NodeReady, why: str) -> None:
        self.nodes.refuse(ready.node, why)

    def has(self, ready: NodeReady) -> bool:
        return self.nodes.has(ready.node)

    def check(self, metrics: Metrics, actor: int, *, playing: bool) -> None:
        self.nodes.check(metrics, actor, playing=playing)
