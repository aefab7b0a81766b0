"""What the learner's side of an actor on a node counts for that node."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tests.rewarded import SPEC
from tests.running import small_run

from ludus.actors.cluster import Node, Versions
from ludus.actors.cluster_actor import RemoteActor
from ludus.actors.links import Bytes, LostError
from ludus.actors.node_messages import BeginOnNode, HostsReady, LearnerMessage, NodeMessage, NodeReady, NodeReport
from ludus.actors.resolved import resolve
from ludus.config.settings import FleetConfig
from ludus.data.probing import Described
from ludus.metrics import names
from ludus.metrics.core import Delta, Metrics

VERSIONS = Versions("1.0", "abc", "3.11")
ONE, TWO = "10.0.0.1", "10.0.0.2"


class Script:
    """A link whose actor sends these messages, and is then lost."""

    def __init__(self, messages: Sequence[NodeMessage]) -> None:
        self._messages = deque(messages)

    def fileno(self) -> int:
        return -1

    def receive(self, timeout_s: float) -> tuple[NodeMessage, Bytes | None]:
        if not self._messages:
            raise LostError("the process ended", node_lost=False)
        return self._messages.popleft(), None

    def heard_s(self) -> float:
        return time.monotonic()

    def send(self, message: LearnerMessage, past: Sequence[int] = ()) -> None: ...

    def publish(self) -> None: ...

    def end(self, timeout_s: float) -> None: ...


class Nodes:
    """A cluster that places an actor with one script after the other."""

    answers = True
    versions = VERSIONS
    joined: Sequence[Node] = ()

    def __init__(self, *scripts: Sequence[NodeMessage]) -> None:
        self._scripts = deque(scripts)

    def place(self, actor: int, cpus: int, begin: BeginOnNode, matches: Bytes | None, past: Sequence[int]) -> Script:
        return Script(self._scripts.popleft())

    def publish(self, weights: NDArray[np.float32], version: int) -> None: ...

    def retain(self, versions: Sequence[int]) -> None: ...

    def refuse(self, ready: NodeReady, why: str) -> None: ...

    def check(self, metrics: Metrics, actor: int, *, playing: bool) -> None: ...

    def has(self, ready: NodeReady) -> bool:
        return True


def played_on(name: str, *reports: dict[str, float]) -> list[NodeMessage]:
    """Return what an actor on this node sends, with these counters."""
    return [
        NodeReady(Node(name, name, 1), VERSIONS, 1),
        HostsReady(SPEC.fingerprint, SPEC.name, SPEC.schema, {}),
        *(NodeReport(Delta(counters), 0, True) for counters in reports),
    ]


def test_decisions_and_restarts_are_counted_for_the_node_where_they_happened() -> None:
    nodes = Nodes(
        played_on(ONE, {names.DECISIONS: 5, names.HOSTS_RESTARTS: 1}, {names.HOSTS_RESTARTS: 2}),
        played_on(TWO, {names.DECISIONS: 7, names.HOSTS_RESTARTS: 0}),
        played_on(TWO, {names.HOSTS_RESTARTS: 4}),
    )
    run = resolve(small_run(mode="overlapped", options={"game": "nim"}, fleet=FleetConfig(hosts=1, backoff_s=0.001)))
    metrics = Metrics()
    actor = RemoteActor(run.for_actor(0), nodes, Described(SPEC, {}), metrics, past=[], state=None)
    actor.start(np.zeros(1, np.float32), 0)
    deadline_s = time.monotonic() + 20
    while metrics.counter(names.NODE_HOST_RESTARTS(TWO)) < 4:
        assert time.monotonic() < deadline_s
        actor.poll(0.01)
    assert metrics.counter(names.NODE_DECISIONS(ONE)) == 5
    assert metrics.counter(names.NODE_DECISIONS(TWO)) == 7
    assert metrics.counter(names.NODE_HOST_RESTARTS(ONE)) == 3
    assert metrics.counter(names.NODE_ACTOR_RESTARTS(ONE)) == 1
    assert metrics.counter(names.NODE_ACTOR_RESTARTS(TWO)) == 1
    assert metrics.counter(names.ACTOR_RESTARTS) == 2
    assert metrics.counter(names.HOSTS_RESTARTS) == 7
