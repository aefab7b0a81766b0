from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.clocks import Clock

from ludus.actors.child import ActorLoop, _expect
from ludus.actors.control import Begin, ClosedError, Filled, Message, MetricsMessage, Release, Save, Saved, StopActor
from ludus.actors.in_flight import ActorState
from ludus.config.settings import OpponentsConfig
from ludus.errors import TrainingError
from ludus.league.matchmaking import SharedMatchmaker
from ludus.metrics import names
from ludus.metrics.core import Delta, Metrics
from ludus.policies.weights import WeightsBoard


class FakeChannel:
    """Says one message after the other, with pauses, and remembers what it is told."""

    def __init__(self, *messages: Message | None) -> None:
        self._messages = list(messages)
        self.sent: list[Message] = []

    def receive(self, timeout_s: float) -> Message | None:
        return self._messages.pop(0) if self._messages else None

    def send(self, message: Message) -> None:
        self.sent.append(message)


class FakeActor:
    """Has weights of its own, under the number of those that the learner begins with."""

    recorded = 5

    def __init__(self, version: int) -> None:
        self.version = version
        self.clock = Clock()
        self.metrics = Metrics("actor", self.clock)
        self.weights: list[float] = []

    def save(self, path: Path, handed: object) -> None:
        """Takes three seconds."""
        self.clock.pass_s(3.0)

    def drain(self) -> Delta:
        return Delta()

    def adopt(self, weights: NDArray[np.float32], version: int) -> None:
        self.weights, self.version = weights.tolist(), version

    def play(self, batch: object, stopped: object) -> bool:
        return False

    def play_on(self, stopped: Callable[[], bool]) -> None:
        """A segment is complete at once."""


def test_an_actor_plays_with_the_weights_of_the_learner_from_the_first_decision_on() -> None:
    board = WeightsBoard(memoryview(bytearray(WeightsBoard.nbytes(2))))
    board.publish(np.array([1.0, 2.0], np.float32), 7)
    actor = FakeActor(7)
    memory = SimpleNamespace(board=board, buffers=[None])
    ActorLoop(cast(Any, actor), cast(Any, memory), cast(Any, None)).work()  # Any: fakes
    assert actor.weights == [1.0, 2.0]


def test_saving_while_the_learner_has_all_batches_is_no_waiting_for_it() -> None:
    board = WeightsBoard(memoryview(bytearray(WeightsBoard.nbytes(1))))
    board.publish(np.zeros(1, np.float32), 1)
    actor, channel = FakeActor(1), FakeChannel(Save("matches"), StopActor())
    memory = SimpleNamespace(board=board, buffers=[])
    ActorLoop(cast(Any, actor), cast(Any, memory), cast(Any, channel)).work()  # Any: fakes
    assert [type(message) for message in channel.sent] == [MetricsMessage, Saved]
    times = actor.metrics.drain().times
    assert times.share(names.SAVE) == 1.0
    assert times.share(names.HAND_OVER) == 0.0


def test_an_actor_that_is_told_nothing_says_so_instead_of_leaving_quietly() -> None:
    with pytest.raises(TrainingError, match=r"the learner sent no Begin for 300 s; is this machine overloaded\?"):
        _expect(cast(Any, FakeChannel()), Begin)  # Any: a fake


def test_an_actor_leaves_quietly_when_the_run_ends_before_it_began() -> None:
    with pytest.raises(ClosedError):
        _expect(cast(Any, FakeChannel(StopActor())), Begin)  # Any: a fake


class TirelessActor(FakeActor):
    """Fills whatever it is given, at once."""

    def play(self, batch: object, stopped: object) -> bool:
        return True

    def state(self) -> ActorState:
        return ActorState("", SharedMatchmaker(OpponentsConfig(), teams=(0, 1), scripted=(), seed=1).state())


def test_an_actor_fills_every_buffer_once_and_then_waits_until_one_comes_back() -> None:
    board = WeightsBoard(memoryview(bytearray(WeightsBoard.nbytes(1))))
    board.publish(np.zeros(1, np.float32), 1)
    queue = 3
    channel = FakeChannel(Release(2), StopActor())  # read only while it waits
    memory = SimpleNamespace(board=board, buffers=[None] * (queue + 1))
    ActorLoop(cast(Any, TirelessActor(1)), cast(Any, memory), cast(Any, channel)).work()  # Any: fakes
    assert [message.buffer for message in channel.sent if isinstance(message, Filled)] == [0, 1, 2, 3, 2]


class AvidActor(TirelessActor):
    """Plays on until it is stopped."""

    def __init__(self, version: int) -> None:
        super().__init__(version)
        self.rounds = 0

    def play_on(self, stopped: Callable[[], bool]) -> None:
        while not stopped():
            self.rounds += 1


def test_an_actor_plays_on_while_the_learner_has_all_batches_and_fills_the_first_that_comes_back() -> None:
    board = WeightsBoard(memoryview(bytearray(WeightsBoard.nbytes(1))))
    board.publish(np.zeros(1, np.float32), 1)
    actor, channel = AvidActor(1), FakeChannel(None, None, Release(0), None, None, StopActor())
    memory = SimpleNamespace(board=board, buffers=[None])
    ActorLoop(cast(Any, actor), cast(Any, memory), cast(Any, channel)).work()  # Any: fakes
    assert [message.buffer for message in channel.sent if isinstance(message, Filled)] == [0, 0]
    assert actor.rounds == 3
    assert actor.metrics.drain().times.share(names.HAND_OVER) == 0.0


def test_an_actor_leaves_batches_of_an_earlier_one_alone_and_saves_them_until_they_come_back() -> None:
    board = WeightsBoard(memoryview(bytearray(WeightsBoard.nbytes(1))))
    board.publish(np.zeros(1, np.float32), 1)
    saved: list[object] = []

    class SavingActor(TirelessActor):
        def save(self, path: Path, handed: object) -> None:
            saved.append(handed)

    channel = FakeChannel(Save("matches", 3), Release(2), StopActor())  # read only while it waits
    memory = SimpleNamespace(board=board, buffers=["first", "second", "third"])
    ActorLoop(cast(Any, SavingActor(1)), cast(Any, memory), cast(Any, channel), [2, 0]).work()  # Any: fakes
    assert [message.buffer for message in channel.sent if isinstance(message, Filled)] == [1, 2]
    assert saved == [["third", "first", "second"]]
    assert [message.number for message in channel.sent if isinstance(message, Saved)] == [3]


def test_an_actor_waits_for_weights_that_are_being_written() -> None:
    class Board:
        """Whole at the third look."""

        version = 4

        def __init__(self) -> None:
            self.looks = 0

        def read(self) -> tuple[NDArray[np.float32], int] | None:
            self.looks += 1
            return (np.ones(1, np.float32), 4) if self.looks == 3 else None

    actor = FakeActor(0)
    ActorLoop(
        cast(Any, actor), cast(Any, SimpleNamespace(board=Board(), buffers=[None])), cast(Any, None)
    ).work()  # Any: fakes
    assert (actor.weights, actor.version) == ([1.0], 4)
