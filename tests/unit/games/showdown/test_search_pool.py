"""Searches end in time, whatever the processes do; every decision gets an action."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ludus.errors import HostError
from ludus.games.showdown.search import pool as pools
from ludus.games.showdown.search.pool import LeafEvaluation, Search, SearchPool, SearchQuestion
from ludus.games.showdown.search.process import SearchAnswer
from ludus.spec import GameSpec, ObsSpec

LIMIT_S = 0.3
SPEC = GameSpec("toy", 2, 3, ObsSpec.pack({"x": ("uint8", (8,))}), 1)


class FakeProcess:
    """Answers at once, never, or dies, as `mode` says."""

    mode = "answer"
    made = 0

    def __init__(self, spec: GameSpec, **options: object) -> None:
        type(self).made += 1
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        self.closed = False

    def fileno(self) -> int:
        return self._read

    def ask(self, question: dict[str, Any], data: bytes = b"") -> None:  # Any: JSON
        if self.mode != "silent":
            os.write(self._write, b"!")

    def take(self) -> tuple[SearchAnswer, bytes] | None:
        if self.mode == "dies":
            raise HostError("died")
        try:
            os.read(self._read, 1)
        except BlockingIOError:
            return None
        return SearchAnswer(own=[2]), b""

    def wait(self, timeout_s: float) -> tuple[SearchAnswer, bytes] | None:
        return SearchAnswer(), b""

    def close(self) -> None:
        if not self.closed:
            os.close(self._read)
            os.close(self._write)
        self.closed = True


@pytest.fixture(params=["answer"])
def pool(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchPool]:
    monkeypatch.setattr(FakeProcess, "mode", request.param)
    monkeypatch.setattr(FakeProcess, "made", 0)
    monkeypatch.setattr(pools, "SearchProcess", FakeProcess)
    made = SearchPool(SPEC, lambda obs, legal: (np.zeros((len(obs), 3)), np.arange(len(obs), dtype=np.float64)), most=2)
    yield made
    made.close()


def search(until_s: float) -> Search:
    """Ask once, then evaluate two rows. Returns the action of the answer, plus the first row's value; 1 if cut."""
    answer = yield SearchQuestion({"kind": "weigh"})
    if answer is None:
        return 1
    _, values = yield LeafEvaluation(np.zeros((2, 8), np.uint8), np.ones((2, 3), np.bool_))
    return int(answer[0].own[0]) + int(values[1] - values[0]) - 1


def test_every_decision_gets_its_own_answer(pool: SearchPool) -> None:
    assert pool.run([search] * 5, LIMIT_S, [0] * 5) == [2] * 5
    assert FakeProcess.made == 2


@pytest.mark.parametrize("pool", ["silent"], indirect=True)
def test_a_process_that_is_silent_costs_no_more_than_the_limit(pool: SearchPool) -> None:
    began_s = time.monotonic()
    assert pool.run([search, search], LIMIT_S, [0, 0]) == [1, 1]
    assert LIMIT_S <= time.monotonic() - began_s < LIMIT_S + 1


@pytest.mark.parametrize("pool", ["silent"], indirect=True)
def test_a_late_process_is_used_again_when_it_has_answered(pool: SearchPool, monkeypatch: pytest.MonkeyPatch) -> None:
    pool.run([search, search], LIMIT_S, [0, 0])
    monkeypatch.setattr(FakeProcess, "mode", "answer")
    assert pool.run([search], LIMIT_S, [0]) == [2]
    assert (FakeProcess.made, pool.restarts) == (2, 0)


@pytest.mark.parametrize("pool", ["dies"], indirect=True)
def test_a_dead_process_is_replaced_and_the_fallback_is_played(pool: SearchPool) -> None:
    assert pool.run([search], LIMIT_S, [0]) == [0]
    assert pool.restarts == 1
    assert FakeProcess.made == 2


def test_an_endless_search_is_cut(pool: SearchPool) -> None:
    def endless(until_s: float) -> Search:
        while True:
            if (yield SearchQuestion({})) is None:
                return 1
            FakeProcess.mode = "silent"

    FakeProcess.mode = "answer"
    assert pool.run([endless], LIMIT_S, [0]) == [1]
