"""Chooses which asks the next forward pass answers. Pure.

Batching is greedy: a batch consists of what arrived while the previous forward pass ran. Waiting for more rows would
gain little: they can only come from clients that are waiting for their answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from ludus.serving.protocol import Ask

Client = TypeVar("Client", bound=Hashable)  # whoever owns the rows
Via = TypeVar("Via", bound=Hashable)  # the connection that an ASK came over


@dataclass(slots=True)
class WaitingAsk(Generic[Client, Via]):
    """An ASK that no forward pass has answered yet."""

    client: Client
    via: Via
    ask: Ask
    since_s: float


class AskQueue(Generic[Client, Via]):
    """The asks that wait for one policy, oldest first."""

    def __init__(self) -> None:
        self._waiting: deque[WaitingAsk[Client, Via]] = deque()
        self.rows = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def since_s(self) -> float:
        """The time at which the oldest ask arrived. The queue must not be empty."""
        return self._waiting[0].since_s

    def add(self, waiting: WaitingAsk[Client, Via]) -> None:
        self._waiting.append(waiting)
        self.rows += len(waiting.ask.row)

    def is_due(self, now_s: float, *, max_batch: int, max_wait_s: float) -> bool:
        """Return whether the next batch should be computed now."""
        return bool(self._waiting) and (self.rows >= max_batch or now_s - self.since_s >= max_wait_s)

    def take(self, max_batch: int) -> list[WaitingAsk[Client, Via]]:
        """Remove and return the oldest asks with at most `max_batch` rows in total, or one larger ask. No row occurs
        twice: if a row has a second ask, that one waits for the next batch."""
        batch: list[WaitingAsk[Client, Via]] = []
        rest: deque[WaitingAsk[Client, Via]] = deque()
        batch_of: dict[Client, list[WaitingAsk[Client, Via]]] = {}
        blocked: set[Client] = set()
        rows = 0
        while self._waiting:
            waiting = self._waiting.popleft()
            size, client = len(waiting.ask.row), waiting.client
            earlier = batch_of.get(client, ())
            if batch and rows + size > max_batch:
                self._waiting.appendleft(waiting)
                break
            if client in blocked or any(_share_rows(waiting.ask, other.ask) for other in earlier):
                blocked.add(client)
                rest.append(waiting)
                continue
            batch.append(waiting)
            batch_of.setdefault(client, []).append(waiting)
            rows += size
        self._waiting.extendleft(reversed(rest))
        self.rows -= rows
        return batch

    def drop(self, via: Via) -> None:
        """Remove all asks that came over a connection that is lost."""
        self._waiting = deque(waiting for waiting in self._waiting if waiting.via != via)
        self.rows = sum(len(waiting.ask.row) for waiting in self._waiting)


def _share_rows(one: Ask, other: Ask) -> bool:
    return bool(np.isin(one.row, other.row).any())
