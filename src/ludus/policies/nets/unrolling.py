"""A core unrolled over segments to learn from them: gradients flow back over a limited number of decisions.

A segment may span matches, and a state does not. So each segment is cut where a match opens, and each piece is
cut into windows of `sequence_length` decisions: states pass from window to window, gradients do not. The pieces of all
segments go through the core together, longest first, without padding. A piece that goes on with a match begins with the
state that was kept when it was played, which came of older weights: its first `burn_in` decisions only refresh it.
Axes: B segments, T decisions of each, N = B * T, C context.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludus.policies.nets.recurrence import Core

Whole = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Window:
    """Decisions that go through the core in one piece."""

    order: NDArray[np.int64]  # their places among the N, all first ones of a piece, then all second ones ...
    times: NDArray[np.int64]  # how many of each
    pieces: int  # how many pieces they are of; of the pieces so far, these are the first


@dataclass(frozen=True, slots=True)
class UnrollPlan:
    """`refreshed` comes first and needs no gradient; its pieces go on as those named by `resumed`."""

    refreshed: Window | None
    windows: tuple[Window, ...]
    begins: NDArray[np.int64]  # [pieces of the first window] the segment with a piece's first state; -1: none
    refreshes: NDArray[np.int64]  # [pieces of `refreshed`] likewise
    resumed: NDArray[np.int64]  # [pieces of the first window] the piece of `refreshed` before it; -1: none
    counts: NDArray[np.bool_]  # [N] which decisions are learned from


def plan(opens: NDArray[np.bool_], sequence_length: int, burn_in: int) -> UnrollPlan:
    """How segments that open matches at [B, T] go through a core."""
    B, T = opens.shape
    starts = opens.copy()
    starts[:, 0] = True
    start = np.flatnonzero(starts)
    length = np.diff(np.append(start, B * T))
    segment = np.where(opens.reshape(-1)[start], -1, start // T)  # the pieces that go on with a match
    counts = np.ones(B * T, np.bool_)
    resumed = np.full(len(start), -1)
    refreshed, refreshes = None, np.zeros(0, np.int64)
    if burn_in and (segment >= 0).any():
        burned = np.flatnonzero(segment >= 0)
        burned = burned[np.argsort(-length[burned], kind="stable")]
        shortened = np.minimum(length[burned], burn_in)
        refreshed = _window(start[burned], shortened)
        refreshes = segment[burned]
        counts[refreshed.order] = False
        resumed[burned] = np.arange(len(burned))
        start[burned] += shortened
        length[burned] -= shortened
        segment[burned] = -1
    by_length = np.argsort(-length, kind="stable")
    by_length = by_length[length[by_length] > 0]
    start, length = start[by_length], length[by_length]
    windows = []
    for begin in range(0, int(length[0]) if len(length) else 0, sequence_length):
        remaining = length[length > begin] - begin
        windows.append(_window(start[: len(remaining)] + begin, np.minimum(remaining, sequence_length)))
    return UnrollPlan(refreshed, tuple(windows), segment[by_length], refreshes, resumed[by_length], counts)


def burned_in(opens: NDArray[np.bool_], burn_in: int) -> float:
    """The share of decisions that only refresh a state."""
    return float((~plan(opens, opens.shape[1], burn_in).counts).mean()) if burn_in else 0.0


def _window(start: Whole, length: Whole) -> Window:
    """Of pieces by their first places and lengths, the longest first."""
    steps = range(int(length[0]))
    times = np.array([np.count_nonzero(length > step) for step in steps], np.int64)
    order = np.concatenate([start[: times[step]] + step for step in steps]).astype(np.int64)
    return Window(order, times, len(start))


class Unrolling:
    """Segments of which a net with a core is asked: `recurrence.Recall`s of them, one for each net."""

    def __init__(self, opens: NDArray[np.bool_], state: Tensor, sequence_length: int, burn_in: int) -> None:
        """Matches open at [B, T]; states [B, size] were kept before the first decisions."""
        self._opens, self._state = opens, state
        self._limits = sequence_length, burn_in
        self._plan = unroll_plan = plan(opens, sequence_length, burn_in)
        windows = ([] if unroll_plan.refreshed is None else [unroll_plan.refreshed]) + list(unroll_plan.windows)
        order = torch.from_numpy(np.concatenate([window.order for window in windows]))
        self._sizes = [len(window.order) for window in windows]
        self._order = order.to(state.device)
        self._back = order.argsort().to(state.device)
        self.learned = int(unroll_plan.counts.sum())  # decisions
        self.counts = None  # [N] which decisions are learned from; None: all
        if self.learned < unroll_plan.counts.size:
            self.counts = torch.from_numpy(unroll_plan.counts).to(state.device)

    def part(self, segments: slice) -> Unrolling:
        """Of some of these segments alone."""
        return Unrolling(self._opens[segments], self._state[segments], *self._limits)

    def recall(self, core: Core, context: Tensor) -> Tensor:
        """The contexts [N, C] of all decisions, with what the core remembers at each of them."""
        parts = list(torch.split(context.index_select(0, self._order), self._sizes))
        outputs: list[Tensor] = []
        unroll_plan, state = self._plan, self._states_before(self._plan.begins)
        if unroll_plan.refreshed is not None:
            with torch.no_grad():
                first, after = core.unroll(
                    parts.pop(0),
                    torch.from_numpy(unroll_plan.refreshed.times),
                    self._states_before(unroll_plan.refreshes),
                )
            outputs.append(first)
            state = state + _rows(after, unroll_plan.resumed)
        for window, part in zip(unroll_plan.windows, parts, strict=True):
            output, after = core.unroll(part, torch.from_numpy(window.times), state[: window.pieces].detach())
            outputs.append(output)
            state = after
        return torch.cat(outputs).index_select(0, self._back)

    def _states_before(self, segments: NDArray[np.int64]) -> Tensor:
        return _rows(self._state, segments)


def _rows(states: Tensor, at: NDArray[np.int64]) -> Tensor:
    """The states at these places; zero where there is none."""
    index = torch.from_numpy(np.maximum(at, 0)).to(states.device)
    there = torch.from_numpy(at >= 0).to(states.device)
    return torch.where(there[:, None], states.index_select(0, index), 0.0)
