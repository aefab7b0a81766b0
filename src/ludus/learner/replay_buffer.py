"""Segments that are learned from again: the newest ones, in bounded memory, each at most so many times."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import ConfigError
from ludus.types import SegmentBatch

FREE = -1
SHARE_OF_MEMORY = 0.4  # of what is free: a checkpoint copies what is kept, and weights and batches need some as well


class ReplayBuffer:
    """Holds up to `segments` segments; its memory is that of the first ones times their number, taken as it fills up.

    A segment comes here when it has been learned from once and leaves after `reuse` times in all, when it has become
    too old, or when a newer one needs its place.
    """

    def __init__(self, segments: int, *, reuse: int, seed: int) -> None:
        self._reuse = reuse
        self._random = np.random.default_rng(seed)
        self._kept: SegmentBatch | None = None
        self._order = np.full(segments, FREE, np.int64)  # in which segments came
        self._oldest = np.zeros(segments, np.int64)  # version of a segment's oldest decision
        self._uses = np.zeros(segments, np.int64)
        self._came = 0

    @property
    def decisions(self) -> int:
        """Those that may still be drawn."""
        length = 0 if self._kept is None else self._kept.action.shape[1]
        return int((self._order != FREE).sum()) * length

    def add(self, batch: SegmentBatch) -> None:
        """Copies segments that are learned from for the first time now, over the oldest where there is no room."""
        if self._kept is None:
            self._kept = _room(batch, len(self._order))
        B = min(len(batch.action), len(self._order))
        places = np.argsort(self._order, kind="stable")[:B]
        for name in SegmentBatch.__slots__:
            getattr(self._kept, name)[places] = getattr(batch, name)[-B:]
        self._order[places] = self._came + np.arange(B)
        self._oldest[places] = batch.version[-B:].min(axis=1)
        self._uses[places] = 1
        self._came += B

    def draw(self, segments: int, *, oldest: int) -> SegmentBatch | None:
        """A copy of so many, chosen at random, none of them with a decision of a version before `oldest`. None when
        there are not as many."""
        self._order[self._oldest < oldest] = FREE
        held = np.flatnonzero(self._order != FREE)
        if self._kept is None or len(held) < segments:
            return None
        chosen = np.sort(self._random.choice(held, segments, replace=False))
        self._uses[chosen] += 1
        self._order[chosen[self._uses[chosen] >= self._reuse]] = FREE
        return SegmentBatch(**{name: getattr(self._kept, name)[chosen] for name in SegmentBatch.__slots__})

    def state(self) -> dict[str, NDArray[Any]]:
        """All that is kept, each segment with its place, and the draws to come. Masks are packed. Any: columns of
        several types."""
        drawn = json.dumps(self._random.bit_generator.state).encode()
        state: dict[str, NDArray[Any]] = {
            "order": self._order.copy(),
            "oldest": self._oldest.copy(),
            "uses": self._uses.copy(),
            "came": np.array([self._came]),
            "generator": np.frombuffer(drawn, np.uint8),
        }
        if self._kept is not None:
            held = self._order != FREE
            state |= {f"kept.{name}": _packed(name, getattr(self._kept, name)[held]) for name in SegmentBatch.__slots__}
            state["actions"] = np.array([self._kept.legal.shape[2]])
        return state

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on with the `state` of another. Raises ValueError or KeyError, and changes nothing, when it is none of one
        of this size."""
        if state["order"].shape != self._order.shape:
            raise ValueError(f"it holds {len(state['order'])} segments, not {len(self._order)}")
        drawn = json.loads(state["generator"].tobytes())
        np.random.default_rng().bit_generator.state = drawn  # raises what `_random` would
        kept: SegmentBatch | None = None
        if "actions" in state and (state["order"] != FREE).any():
            actions = int(state["actions"][0])
            _check_kept(state, actions)
            held = {name: _unpacked(name, state[f"kept.{name}"], actions) for name in SegmentBatch.__slots__}
            kept = _room(SegmentBatch(**held), len(self._order))
            for name, array in held.items():
                getattr(kept, name)[state["order"] != FREE] = array
        columns = [state[name].astype(np.int64).reshape(self._order.shape) for name in ("order", "oldest", "uses")]
        self._came, self._kept = int(state["came"][0]), kept
        self._order[:], self._oldest[:], self._uses[:] = columns
        self._random.bit_generator.state = drawn


def _check_kept(state: Mapping[str, NDArray[Any]], actions: int) -> None:
    """Raise ValueError unless the kept segments agree with each other, before memory is taken for them."""
    held, shape = int((state["order"] != FREE).sum()), state["kept.action"].shape[:2]
    for name in SegmentBatch.__slots__:
        if state[f"kept.{name}"].shape[:1] != (held,):
            raise ValueError(f"kept.{name} has shape {state[f'kept.{name}'].shape}, expected {held} segments")
    bits = 8 * state["kept.legal"].shape[-1]
    if len(shape) != 2 or not bits - 8 < actions <= bits:
        raise ValueError(f"it has {held} segments of shape {shape} and masks of {bits} bits for {actions} actions")


def _packed(name: str, array: NDArray[Any]) -> NDArray[Any]:
    return np.packbits(array, axis=-1, bitorder="little") if name == "legal" else array


def _unpacked(name: str, array: NDArray[Any], actions: int) -> NDArray[Any]:
    if name != "legal":
        return array
    return np.unpackbits(array, axis=-1, count=actions, bitorder="little").astype(np.bool_)


def _room(like: SegmentBatch, segments: int) -> SegmentBatch:
    arrays = {name: getattr(like, name) for name in SegmentBatch.__slots__}
    return SegmentBatch(**{name: np.empty((segments, *array.shape[1:]), array.dtype) for name, array in arrays.items()})


def refuse_what_does_not_fit(decisions: int, bytes_each: float, free_bytes: int) -> None:
    """Raises ConfigError when a buffer of so many decisions would fill up the memory."""
    room = int(free_bytes * SHARE_OF_MEMORY / bytes_each)
    if decisions > room:
        raise ConfigError(
            f"learner.replay.decisions: {decisions:,} decisions of {bytes_each:,.0f} bytes are "
            f"{decisions * bytes_each / 2**20:,.0f} MiB, and {free_bytes / 2**20:,.0f} MiB are free here; "
            f"at most {room:,} fit"
        )
