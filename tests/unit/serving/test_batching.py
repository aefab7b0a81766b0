from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ludus.serving.batching import AskQueue, WaitingAsk
from ludus.serving.protocol import Ask

Waiting = WaitingAsk[str, str]


def waiting(client: str, batch: int, rows: Sequence[int], since_s: float = 0.0) -> Waiting:
    n = len(rows)
    zeros = np.zeros(n, np.uint32)
    obs = np.zeros((n, 8), np.uint8)
    row = np.array(rows, np.uint32)
    return Waiting(client, client, Ask(batch, row, zeros, zeros.astype(np.uint8), obs[:, :1], obs), since_s)


def queue_of(*asks: Waiting) -> AskQueue[str, str]:
    queue = AskQueue[str, str]()
    for ask in asks:
        queue.add(ask)
    return queue


def batches(asks: Sequence[Waiting]) -> list[tuple[str, int]]:
    return [(each.client, each.ask.batch) for each in asks]


def test_a_batch_takes_what_has_arrived_up_to_its_size() -> None:
    queue = queue_of(waiting("a", 1, range(4)), waiting("b", 2, range(4)), waiting("c", 3, range(4)))
    assert batches(queue.take(8)) == [("a", 1), ("b", 2)]
    assert (len(queue), queue.rows) == (1, 4)
    assert batches(queue.take(8)) == [("c", 3)]
    assert queue.take(8) == []


def test_an_ask_larger_than_a_batch_is_taken_alone() -> None:
    queue = queue_of(waiting("a", 1, range(20)), waiting("b", 2, range(2)))
    assert batches(queue.take(8)) == [("a", 1)]
    assert batches(queue.take(8)) == [("b", 2)]


def test_a_row_is_once_in_a_batch_and_the_asks_of_a_client_keep_their_order() -> None:
    queue = queue_of(waiting("a", 1, [0, 1]), waiting("a", 2, [1, 2]), waiting("a", 3, [5]), waiting("b", 4, [0, 1]))
    assert batches(queue.take(100)) == [("a", 1), ("b", 4)]
    assert batches(queue.take(100)) == [("a", 2), ("a", 3)]
    assert queue.rows == 0


def test_greedy_batches_are_due_at_once_and_others_when_full_or_old() -> None:
    queue = queue_of(waiting("a", 1, range(4), since_s=10.0))
    assert queue.is_due(10.0, max_batch=8, max_wait_s=0.0)
    assert not queue.is_due(10.0, max_batch=8, max_wait_s=0.5)
    assert queue.is_due(10.0, max_batch=4, max_wait_s=0.5)
    assert queue.is_due(10.5, max_batch=8, max_wait_s=0.5)
    assert not queue_of().is_due(99.0, max_batch=1, max_wait_s=0.0)


def test_asks_of_a_lost_connection_are_dropped() -> None:
    queue = queue_of(waiting("a", 1, range(4)), waiting("b", 2, range(3)))
    queue.drop("a")
    assert (batches(queue.take(8)), queue.rows) == ([("b", 2)], 0)
