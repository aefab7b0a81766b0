from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from ludus import types
from ludus.columns import column
from ludus.learner import replay_buffer
from ludus.learner.replay_buffer import ReplayBuffer
from ludus.rollout import segments
from ludus.rollout.interleaved import InterleavedSegments
from ludus.rollout.segments import SegmentLayout, Segments
from ludus.spec import GameSpec, ObsSpec
from ludus.types import Arrivals, Choices, SegmentBatch

SPEC = GameSpec("fake", 2, 11, ObsSpec.pack({"x": ("float32", (2,))}), 1)
ROWS, LENGTH = 2, 3
ADDED = ("surprise", "seen", "weight")


@dataclass(frozen=True, slots=True)
class Wider(SegmentBatch):
    """A SegmentBatch with three more columns, which no other module names."""

    surprise: NDArray[np.float64] = column(np.float64, "time")
    seen: NDArray[np.bool_] = column(np.bool_, "time", "actions", bits=True)
    weight: NDArray[np.float32] = column(np.float32, late=True)


@pytest.fixture(autouse=True)
def wider(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (types, segments, replay_buffer):
        monkeypatch.setattr(module, "SegmentBatch", Wider)


def filled(items: int, *, interleaved: bool = False) -> SegmentBatch:
    """A batch with another value in every place of every column."""
    layout = SegmentLayout(SPEC, items, LENGTH, 4, interleaved=interleaved)
    batch = layout.allocate()
    for number, array in enumerate(batch.arrays().values()):
        if array.dtype == np.bool_:
            array[...] = (np.arange(array.size) % 3 == number % 3).reshape(array.shape)
        else:
            array[...] = (np.arange(array.size) % 100 + number).reshape(array.shape)
    return batch


def assert_same(one: SegmentBatch, other: SegmentBatch) -> None:
    assert set(ADDED) <= one.columns().keys()
    for name in one.columns():
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)


def arrivals(step: int) -> Arrivals:
    return Arrivals(
        np.arange(ROWS, dtype=np.int32),
        np.zeros(ROWS, np.int64),
        np.full((ROWS, SPEC.obs.nbytes), step, np.uint8),
        np.ones((ROWS, SPEC.actions), np.bool_),
        np.ones(ROWS, np.float32),
        np.full(ROWS, step == 0),
    )


def choices() -> Choices:
    return Choices(np.zeros(ROWS, np.int32), np.zeros(ROWS, np.float32), np.zeros(ROWS, np.float32))


def play(recorder: Segments, steps: range) -> None:
    for step in steps:
        recorder.close(arrivals(step), lambda obs, rows: np.zeros(len(rows), np.float32))
        recorder.open(arrivals(step), choices(), None)


def test_a_declared_column_is_allocated_with_its_dtype_and_shape_on_a_cache_line() -> None:
    batch = SegmentLayout(SPEC, 5, LENGTH).allocate()
    assert isinstance(batch, Wider)
    assert (batch.surprise.dtype, batch.surprise.shape) == (np.dtype(np.float64), (5, LENGTH))
    assert (batch.seen.dtype, batch.seen.shape) == (np.dtype(np.bool_), (5, LENGTH, SPEC.actions))
    assert (batch.weight.dtype, batch.weight.shape) == (np.dtype(np.float32), (5,))
    first = batch.obs.__array_interface__["data"][0]
    assert all((array.__array_interface__["data"][0] - first) % 64 == 0 for array in batch.arrays().values())


def test_columns_of_an_allocated_batch_do_not_overlap() -> None:
    batch = filled(4, interleaved=True)
    copies = {name: array.copy() for name, array in batch.arrays().items()}
    for name, array in batch.arrays().items():
        array[...] = 0
        for other in batch.columns():
            if other != name:
                np.testing.assert_array_equal(getattr(batch, other), copies[other], f"{other} after clearing {name}")
        array[...] = copies[name]


def test_a_declared_column_is_taken_and_put() -> None:
    batch = filled(5)
    target = batch.empty_like(7)
    target.put_from(2, batch, np.array([4, 0]))
    assert_same(target.take(slice(2, 4)), batch.take(np.array([4, 0])))
    target.put(np.array([True] * 5 + [False] * 2), batch)
    assert_same(target.take(slice(0, 5)), batch)


def test_a_declared_column_comes_back_from_the_replay_buffer_and_from_its_checkpoint() -> None:
    batch, buffer = filled(4), ReplayBuffer(4, reuse=3, seed=1)
    buffer.add(batch)
    resumed = ReplayBuffer(4, reuse=3, seed=2)
    resumed.restore({name: array.copy() for name, array in buffer.state().items()})
    for each in (buffer, resumed):
        drawn = each.draw(4, oldest=0)
        assert drawn is not None
        assert_same(drawn, batch)


@pytest.mark.parametrize("kind", [Segments, InterleavedSegments])
def test_a_declared_column_of_open_and_complete_segments_is_saved_and_restored(kind: type[Segments]) -> None:
    recorder, resumed = kind(SPEC, ROWS, LENGTH), kind(SPEC, ROWS, LENGTH)
    step = 0
    while not recorder.waits:
        play(recorder, range(step, step + 1))
        step += 1
    open_segments, complete = recorder._open, recorder._waiting
    assert isinstance(open_segments, Wider)
    assert isinstance(complete, Wider)
    recorded = np.arange(LENGTH) < recorder._position[:, None]
    open_segments.surprise[...] = np.where(recorded, 1 + np.arange(recorded.size).reshape(recorded.shape), 0)
    open_segments.seen[...] = recorded[..., None] & (np.arange(SPEC.actions) % 3 == 1)
    complete.weight[...] = 7
    saved = recorder.state()
    resumed.restore(saved)
    assert "open.surprise" in saved
    assert "open.weight" not in saved
    assert saved["open.seen"].shape[-1] == 2  # 11 actions as bits
    layout = SegmentLayout(SPEC, recorder.waits + 1, LENGTH, interleaved=kind is InterleavedSegments)
    batches = [layout.allocate(), layout.allocate()]
    for each, batch in zip((recorder, resumed), batches, strict=True):
        each.fill(batch)
        at = step
        while not each.full:
            play(each, range(at, at + 1))
            at += 1
    assert_same(*batches)
    assert isinstance(batches[1], Wider)
    assert batches[1].weight[0] == 7
    assert batches[1].surprise[-1].any()
    assert batches[1].seen[-1].any()
