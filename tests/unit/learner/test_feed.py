from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ludus.config.settings import LearnerConfig, ReplayConfig
from ludus.errors import CheckpointError
from ludus.learner.feed import Feed
from ludus.learner.replay_buffer import ReplayBuffer
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec, ObsSpec
from ludus.types import SegmentBatch

SPEC = GameSpec("fake", 1, 2, ObsSpec.pack({"x": ("float32", (1,))}), 1)
LENGTH = 4


class FakeSource:
    """Gives batches whose segments were chosen by these versions, one batch a list."""

    def __init__(self, *batches: Sequence[int], ready: bool = False) -> None:
        self._batches = list(batches)
        self._ready = ready
        self.released = 0

    def next(self, stopped: Callable[[], bool]) -> SegmentBatch | None:
        if stopped() or not self._batches:
            return None
        versions = np.array(self._batches.pop(0))
        batch = SegmentLayout(SPEC, len(versions), LENGTH).allocate()
        batch.version[:] = versions[:, None] + np.arange(LENGTH)  # the first decision of a segment is its oldest
        return batch

    def ready(self) -> bool:
        return self._ready

    def release(self) -> None:
        self.released += 1

    def publish(self, weights: NDArray[np.float32], version: int) -> None: ...


def go_on() -> bool:
    return False


def test_segments_older_than_the_largest_lag_are_dropped_and_counted() -> None:
    metrics = Metrics()
    feed = Feed(FakeSource([7, 8, 3, 9]), metrics, LearnerConfig(max_lag=2))
    lesson = feed.next(go_on, 10)
    assert lesson is not None
    assert lesson.batch.version[:, 0].tolist() == [8, 9]
    assert metrics.counter(names.DROPPED) == 2 * LENGTH


def test_without_a_largest_lag_all_is_learned_as_it_came() -> None:
    metrics = Metrics()
    lesson = Feed(FakeSource([0, 50]), metrics, LearnerConfig()).next(go_on, 100)
    assert lesson is not None
    assert len(lesson.batch.action) == 2
    assert metrics.counter(names.DROPPED) == 0


def test_a_batch_that_is_too_old_as_a_whole_goes_back_and_the_next_one_is_taken(
    caplog: pytest.LogCaptureFixture,
) -> None:
    metrics, source = Metrics(), FakeSource([1, 2], [3, 3], [9, 9])
    feed = Feed(source, metrics, LearnerConfig(max_lag=2))
    with caplog.at_level(logging.WARNING):
        lesson = feed.next(go_on, 10)
    assert lesson is not None
    assert lesson.batch.version[:, 0].tolist() == [9, 9]
    assert source.released == 2
    assert metrics.counter(names.DROPPED) == 4 * LENGTH
    assert [record.getMessage() for record in caplog.records] == [
        "a whole batch was dropped: its segments were older than learner.max_lag: 2 versions (the youngest was 8 "
        "versions old); lag/dropped counts dropped decisions"
    ]


def replaying(source: FakeSource, reuse: int, max_lag: int = 0) -> tuple[Feed, Metrics]:
    metrics = Metrics()
    config = LearnerConfig(algorithm="vtrace", max_lag=max_lag, replay=ReplayConfig(decisions=64, reuse=reuse))
    return Feed(source, metrics, config, ReplayBuffer(16, reuse=reuse, seed=1)), metrics


def taken(feed: Feed, version: int = 10) -> list[bool]:
    """Whether the lessons were fresh, until there are no more."""
    fresh = []
    while (lesson := feed.next(go_on, version)) is not None:
        fresh.append(lesson.fresh)
        feed.learned(lesson)
    return fresh


def test_each_fresh_batch_is_followed_by_as_many_replayed_ones_as_the_ratio_allows() -> None:
    feed, metrics = replaying(FakeSource([9, 9], [9, 9], [9, 9]), reuse=3)
    assert taken(feed) == [True, False, False] * 3
    assert metrics.snapshot()[names.REPLAY] == 0


def test_a_fresh_batch_that_is_there_goes_before_replayed_ones() -> None:
    feed, _ = replaying(FakeSource([9, 9], [9, 9], ready=True), reuse=3)
    assert taken(feed) == [True, True]


def test_what_is_kept_becomes_too_old_as_well() -> None:
    feed, metrics = replaying(FakeSource([9, 9]), reuse=3, max_lag=2)
    lesson = feed.next(go_on, 10)
    assert lesson is not None
    feed.learned(lesson)
    assert feed.next(go_on, 12) is None
    assert metrics.counter(names.DROPPED) == 0  # it was learned from once


def test_what_was_not_learned_from_does_not_come_again() -> None:
    feed, _ = replaying(FakeSource([9, 9]), reuse=3)
    assert feed.next(go_on, 10) is not None
    assert feed.next(go_on, 10) is None


def test_nothing_is_replayed_once_the_run_is_to_stop() -> None:
    feed, _ = replaying(FakeSource([9, 9]), reuse=3)
    lesson = feed.next(go_on, 10)
    assert lesson is not None
    feed.learned(lesson)
    assert feed.next(lambda: True, 10) is None


def test_what_may_come_again_is_saved_and_goes_on_where_it_was(tmp_path: Path) -> None:
    feed, _ = replaying(FakeSource([9, 9]), reuse=4)
    for _ in range(2):
        lesson = feed.next(go_on, 10)
        assert lesson is not None
        feed.learned(lesson)
    assert feed.save(tmp_path / "replay")
    other, metrics = replaying(FakeSource(), reuse=4)
    other.restore(tmp_path / "replay")
    assert metrics.snapshot()[names.REPLAY] == 2 * LENGTH
    assert taken(other) == taken(feed) == [False, False]


def test_a_file_that_cannot_be_written_is_an_error_of_the_system(tmp_path: Path) -> None:
    feed, _ = replaying(FakeSource(), reuse=2)
    with pytest.raises(OSError, match="No such file"):
        feed.save(tmp_path / "missing" / "replay")


def test_a_feed_that_replays_nothing_saves_nothing_and_what_is_damaged_is_refused(tmp_path: Path) -> None:
    assert not Feed(FakeSource(), Metrics(), LearnerConfig()).save(tmp_path / "replay")
    (tmp_path / "replay").write_bytes(b"nonsense")
    Feed(FakeSource(), Metrics(), LearnerConfig()).restore(tmp_path / "replay")
    feed, _ = replaying(FakeSource(), reuse=2)
    for path in (tmp_path / "replay", tmp_path / "none"):
        with pytest.raises(CheckpointError, match=r"cannot (go on with|read) "):
            feed.restore(path)
