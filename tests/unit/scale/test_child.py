from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ludus.metrics.core import Metrics
from ludus.policies.weights import WeightsBoard
from ludus.scale.child import Shift


class FakeActor:
    """Has weights of its own, under the number of those that the learner begins with."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.metrics = Metrics("actor")
        self.weights: list[float] = []

    def adopt(self, weights: NDArray[np.float32], version: int) -> None:
        self.weights, self.version = weights.tolist(), version

    def play(self, batch: object, stopped: object) -> bool:
        return False


def test_an_actor_plays_with_the_weights_of_the_learner_from_the_first_decision_on() -> None:
    board = WeightsBoard(memoryview(bytearray(WeightsBoard.nbytes(2))))
    board.publish(np.array([1.0, 2.0], np.float32), 7)
    actor = FakeActor(7)
    memory = SimpleNamespace(board=board, slabs=[None])
    Shift(cast(Any, actor), cast(Any, memory), cast(Any, None)).work()  # Any: fakes
    assert actor.weights == [1.0, 2.0]
