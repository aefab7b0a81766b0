"""The replay buffer: the newest segments, in bounded memory. Each is trained on at most `reuse` times."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import ConfigError
from ludus.types import SegmentBatch

FREE = -1
SHARE_OF_MEMORY = 0.4  # of the free memory, for the buffer: a checkpoint copies it, and batches need memory, too


class ReplayBuffer:
    """Holds up to `segments` segments. Memory for all of them is allocated when the first batch is added.

    A segment enters after its first update. It leaves after `reuse` updates in total (the first one included), when it
    has become too old, or when a newer segment needs its place.
    """

    def __init__(self, segments: int, *, reuse: int, seed: int) -> None:
        self._reuse = reuse
        self._random = np.random.default_rng(seed)
        self._segments: SegmentBatch | None = None
        self._order = np.full(segments, FREE, np.int64)  # running number of the segment in each place, or FREE
        self._oldest = np.zeros(segments, np.int64)  # version of a segment's oldest decision
        self._uses = np.zeros(segments, np.int64)
        self._added = 0

    @property
    def decisions(self) -> int:
        """The number of decisions that `draw` can still return."""
        length = 0 if self._segments is None else self._segments.action.shape[1]
        return int((self._order != FREE).sum()) * length

    def add(self, batch: SegmentBatch) -> None:
        """Copy the segments of a batch into the buffer, after their first update.

        If it is full, the oldest ones are replaced.
        """
        if self._segments is None:
            self._segments = batch.empty_like(len(self._order))
        B = min(len(batch.action), len(self._order))
        places, newest = np.argsort(self._order, kind="stable")[:B], batch.take(slice(-B, None))
        self._segments.put(places, newest)
        self._order[places] = self._added + np.arange(B)
        self._oldest[places] = newest.version.min(axis=1)
        self._uses[places] = 1
        self._added += B

    def draw(self, segments: int, *, oldest: int) -> SegmentBatch | None:
        """Return copies of `segments` random segments, none with a decision of a version before `oldest`.

        Returns None if the buffer holds fewer.
        """
        self._order[self._oldest < oldest] = FREE
        filled = np.flatnonzero(self._order != FREE)
        if self._segments is None or len(filled) < segments:
            return None
        places = np.sort(self._random.choice(filled, segments, replace=False))
        self._uses[places] += 1
        self._order[places[self._uses[places] >= self._reuse]] = FREE
        return self._segments.take(places)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all segments with their places, and the state of the random generator. Any: several dtypes."""
        generator = json.dumps(self._random.bit_generator.state).encode()
        state: dict[str, NDArray[Any]] = {
            "order": self._order.copy(),
            "oldest": self._oldest.copy(),
            "uses": self._uses.copy(),
            "came": np.array([self._added]),
            "generator": np.frombuffer(generator, np.uint8),
        }
        if self._segments is not None:
            filled = self._segments.take(self._order != FREE)
            state |= {f"kept.{name}": array for name, array in filled.pack().items()}
            state["actions"] = np.array([filled.legal.shape[2]])
        return state

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from the `state` of another buffer.

        Raises ValueError or KeyError, and changes nothing, if it is damaged or of a buffer of another size.
        """
        if state["order"].shape != self._order.shape:
            raise ValueError(f"it holds {len(state['order'])} segments, not {len(self._order)}")
        generator = json.loads(state["generator"].tobytes())
        np.random.default_rng().bit_generator.state = (
            generator  # raises an error for a damaged state before anything changes
        )
        segments: SegmentBatch | None = None
        filled = state["order"] != FREE
        if "actions" in state and filled.any():
            sizes = {"actions": int(state["actions"][0])}
            saved = {name: state[f"kept.{name}"] for name in SegmentBatch.columns()}
            _check_saved(saved, int(filled.sum()), sizes["actions"])
            items = SegmentBatch.unpack(saved, sizes)
            segments = items.empty_like(len(self._order))
            segments.put(filled, items)
        places = [state[name].astype(np.int64).reshape(self._order.shape) for name in ("order", "oldest", "uses")]
        self._added, self._segments = int(state["came"][0]), segments
        self._order[:], self._oldest[:], self._uses[:] = places
        self._random.bit_generator.state = generator


def _check_saved(saved: Mapping[str, NDArray[Any]], segments: int, actions: int) -> None:
    """Raise ValueError unless each saved column has `segments` segments. Called before memory is allocated for them."""
    for name, array in saved.items():
        if array.shape[:1] != (segments,):
            raise ValueError(f"kept.{name} has shape {array.shape}, expected {segments} segments")
    shape, bits = saved["action"].shape[:2], 8 * saved["legal"].shape[-1]
    if len(shape) != 2 or not bits - 8 < actions <= bits:
        raise ValueError(f"it has {segments} segments of shape {shape} and masks of {bits} bits for {actions} actions")


def refuse_what_does_not_fit(decisions: int, bytes_each: float, free_bytes: int) -> None:
    """Raise ConfigError if a buffer of `decisions` decisions, of `bytes_each` bytes, would not fit into the free
    memory."""
    room = int(free_bytes * SHARE_OF_MEMORY / bytes_each)
    if decisions > room:
        raise ConfigError(
            f"learner.replay.decisions: {decisions:,} decisions of {bytes_each:,.0f} bytes are "
            f"{decisions * bytes_each / 2**20:,.0f} MiB, and {free_bytes / 2**20:,.0f} MiB are free here; "
            f"at most {room:,} fit"
        )
