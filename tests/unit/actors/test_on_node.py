"""The node's side of an actor, with a real actor process and without Ray: a full store, late weights, late requests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.running import PATIENCE_S, small_run

from ludus.actors import node_messages, resolved
from ludus.actors.actor import part_layout
from ludus.actors.cluster import Node, Versions
from ludus.actors.control import StopActor
from ludus.actors.node_messages import (
    BeginOnNode,
    HostsReady,
    NodeMessage,
    NodeReady,
    NodeReport,
    PartFilled,
    PartReleased,
    SavedOnNode,
    SaveOnNode,
)
from ludus.actors.on_node import NodeActor
from ludus.actors.resolved import ResolvedRun, resolve
from ludus.config.settings import FleetConfig
from ludus.data import probing
from ludus.games.registry import nets_of
from ludus.policies import nets
from ludus.policies.weights import FlatWeights

READY = NodeReady(Node("1", "here", 1), Versions("1", "", ""), 1)


@dataclass
class Store:
    """An object store in this process, which is full when the test says so."""

    full: bool = False
    refused: int = 0
    blocks: list[NDArray[np.uint8]] = field(default_factory=list)

    def share(self, block: NDArray[np.uint8]) -> object | None:
        if self.full:
            self.refused += 1
            return None
        self.blocks.append(block.copy())
        return len(self.blocks) - 1


class Learner:
    """The learner's side: collects the messages of the node."""

    def __init__(self, run: ResolvedRun, node: NodeActor, weights: NDArray[np.float32]) -> None:
        self.run, self.node, self.weights = run, node, weights
        self.messages: list[NodeMessage] = []

    def until(self, holds: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline_s, self.messages[-5:]
            data, _ = self.node.events(0.1)
            self.messages += node_messages.decode_bundle(data).messages

    def until_parts(self, parts: int) -> None:
        self.until(lambda: self.count(PartFilled) >= parts)

    def count(self, kind: type) -> int:
        return sum(isinstance(message, kind) for message in self.messages)

    def saved(self) -> list[int]:
        """Return the numbers of the requests to save that were fulfilled."""
        return [message.number for message in self.messages if isinstance(message, SavedOnNode) and message.saved]


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def learner(store: Store, tmp_path: Path) -> Iterator[Learner]:
    """An actor with one host that has got its first weights, of version 3."""
    config = small_run(
        mode="overlapped", options={"game": "nim"}, fleet=FleetConfig(hosts=1, matches=8, backoff_s=0.01)
    )
    run = resolve(config)
    spec = probing.describe(run.game, run.options, tmp_path / "asked").spec
    begin = BeginOnNode(resolved.pack(run), 0, [], None, 0, spec.fingerprint)
    node = NodeActor(begin, None, (), tmp_path / "node", READY, store.share)
    try:
        net = nets.build(spec, run.config.policy, run.game.net, seed=1, game_nets=nets_of(run.game))
        learner = Learner(run, node, FlatWeights(net).numpy().copy())
        node.publish(learner.weights, 3)
        learner.until(lambda: learner.count(HostsReady) == 1)
        yield learner
    finally:
        assert node.stop(PATIENCE_S)


def versions(learner: Learner, block: NDArray[np.uint8], folder: Path) -> set[int]:
    spec = probing.describe(learner.run.game, learner.run.options, folder).spec
    return set(np.unique(part_layout(learner.run, spec).over(block.data).version))


def test_parts_wait_for_room_in_the_store_and_matches_go_on_afterwards(learner: Learner, store: Store) -> None:
    store.full = True
    learner.until(lambda: store.refused >= 2)
    assert learner.count(PartFilled) == 0
    store.full = False
    learner.until(lambda: learner.count(PartFilled) >= 1)


def test_no_more_parts_are_outstanding_than_there_are_buffers(learner: Learner) -> None:
    buffers = learner.run.config.rollout.queue + 1  # a run with one actor has one more than its queue
    learner.until(lambda: learner.count(PartFilled) == buffers)
    learner.until(lambda: learner.count(NodeReport) >= buffers + 3)  # reports go on, parts do not
    assert learner.count(PartFilled) == buffers
    learner.node.tell(0, PartReleased())
    learner.until(lambda: learner.count(PartFilled) == buffers + 1)


def test_weights_that_arrive_after_newer_ones_are_ignored(learner: Learner, store: Store, tmp_path: Path) -> None:
    learner.until(lambda: learner.count(PartFilled) >= 1)
    assert versions(learner, store.blocks[0], tmp_path / "spec") == {3}
    learner.node.publish(learner.weights, 5)
    learner.node.publish(learner.weights, 4)  # late
    for number in range(6):
        learner.until_parts(number + 1)
        learner.node.tell(number, PartReleased())
    assert versions(learner, store.blocks[-1], tmp_path / "spec") <= {3, 5}


def test_requests_are_handled_in_their_order_however_they_arrive(learner: Learner, tmp_path: Path) -> None:
    learner.until(lambda: learner.count(PartFilled) >= 1)
    learner.node.tell(1, SaveOnNode(2))
    learner.node.tell(0, SaveOnNode(1))
    learner.until(lambda: 2 in learner.saved())
    assert learner.saved() == [2]  # it came after request 1, which it replaced
    learner.node.tell(2, StopActor())
