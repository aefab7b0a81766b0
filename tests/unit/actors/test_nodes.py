"""Which nodes of a cluster play, what is counted about them, and when a cluster is lost."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future

import pytest

from ludus.actors import nodes as nodes_module
from ludus.actors.cluster import Node
from ludus.actors.nodes import Nodes
from ludus.errors import ClusterLost, SetupError
from ludus.metrics import names
from ludus.metrics.core import Metrics

HERE = {"ludus": "1.0", "source": "abc", "python": "3.11"}
ONE, TWO = Node("1", "10.0.0.1", 4), Node("2", "10.0.0.2", 4)
PATIENCE_S = 20.0


class Head:
    """A head of a cluster that knows the nodes that a test gives it, and the software of each."""

    def __init__(self, *nodes: Node) -> None:
        self.nodes: Sequence[Node] = nodes
        self.software: dict[str, dict[str, str]] = {}
        self.answers = True

    def look(self) -> Sequence[Node]:
        if not self.answers:
            raise ConnectionError
        return self.nodes

    def ask(self, node: Node) -> Future[dict[str, str]]:
        future: Future[dict[str, str]] = Future()
        future.set_result(self.software.get(node.id, HERE))
        return future


@pytest.fixture(autouse=True)
def _it_looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes_module, "LOOK_S", 0.01)


@pytest.fixture
def head() -> Head:
    return Head(ONE, TWO)


@pytest.fixture
def nodes(head: Head) -> Iterator[Nodes]:
    nodes = Nodes("head:1", HERE, head.look, head.ask)
    yield nodes
    nodes.close()


def until(holds: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def checked(nodes: Nodes) -> bool:
    """Check the nodes while no actor plays. Returns False, if that raises nothing."""
    nodes.check(Metrics(), 0, playing=False)
    return False


def test_node_with_another_version_is_refused_and_the_others_play(
    nodes: Nodes, head: Head, caplog: pytest.LogCaptureFixture
) -> None:
    head.software["2"] = {**HERE, "ludus": "0.9"}
    nodes.compare_all()
    assert nodes.alive == [ONE]
    assert nodes.refused == ["2"]
    assert "node 10.0.0.2 may not play: it has ludus 0.9, this machine has 1.0" in caplog.text


def test_cluster_whose_nodes_are_all_refused_is_not_used(nodes: Nodes, head: Head) -> None:
    head.software = {"1": {**HERE, "ludus": "not installed"}, "2": {**HERE, "python": "3.9"}}
    with pytest.raises(
        SetupError, match=r"may play: node 10\.0\.0\.1: it has ludus not installed.*10\.0\.0\.2: it has py"
    ):
        nodes.compare_all()


def test_nodes_that_join_and_leave_are_counted_and_logged(
    nodes: Nodes, head: Head, caplog: pytest.LogCaptureFixture
) -> None:
    metrics = Metrics()

    def shows(alive: int, total: int, lost: int) -> bool:
        nodes.check(metrics, 0, playing=True)
        seen = metrics.snapshot()
        return (seen.get(names.NODES_ALIVE), seen.get(names.NODES_TOTAL), seen.get(names.NODES_LOST, 0)) == (
            alive,
            total,
            lost,
        )

    with caplog.at_level(logging.INFO):
        until(lambda: shows(2, 2, 0))
        head.nodes = [ONE, TWO, Node("3", "10.0.0.3", 2)]
        until(lambda: shows(3, 3, 0))
        head.nodes = [TWO]
        until(lambda: shows(1, 3, 2))
    assert "node 10.0.0.3 with 2 CPUs has joined the cluster" in caplog.text
    assert "node 10.0.0.1 has left the cluster or was lost" in caplog.text


def test_nodes_that_join_are_told_apart_from_the_first_and_refused_ones(nodes: Nodes, head: Head) -> None:
    nodes.compare_all()
    head.software["4"] = {**HERE, "ludus": "0.9"}
    three, four = Node("3", "10.0.0.3", 2), Node("4", "10.0.0.4", 2)
    head.nodes = [ONE, three, four]
    until(lambda: checked(nodes) or nodes.refused == ["4"])
    assert nodes.joined == [three]


def test_head_that_does_not_answer_ends_the_run_only_if_no_actor_plays(
    nodes: Nodes, head: Head, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes_module, "LOST_S", 0.05)
    head.answers = False
    until_s = time.monotonic() + 0.3
    while time.monotonic() < until_s:
        nodes.check(Metrics(), 0, playing=True)
        time.sleep(0.01)
    with pytest.raises(ClusterLost, match="head of the Ray cluster head:1 has not answered for"):
        until(lambda: checked(nodes))


def test_run_ends_if_no_node_has_room_for_long(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes_module, "ROOM_S", 0.05)
    with pytest.raises(ClusterLost, match=r"had room for an actor for .* alive are 10\.0\.0\.1, 10\.0\.0\.2"):
        until(lambda: checked(nodes))
