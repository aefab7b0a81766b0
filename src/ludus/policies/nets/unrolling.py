"""Truncated backpropagation through time: the learner runs the recurrent layer (`Core`) of a net over segments.

A segment may span several matches; a hidden state belongs to one. Segments are therefore cut where a match begins, and
each piece is cut into windows of `sequence_length` decisions. Hidden states pass from window to window, gradients do
not. The pieces of all segments are processed together, longest first, without padding. A piece that continues a match
starts from the hidden state that was recorded while playing. Because older weights computed that state, the first
`burn_in` decisions of such a piece only recompute it and are not trained on.
Axes: B segments, T decisions each, N = B * T, C context.
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
    """The decisions of one call of `Core.unroll`: up to `sequence_length` consecutive ones of each piece, packed."""

    order: NDArray[np.int64]  # their indices into the N: the first decisions of all pieces, then the second ones ...
    times: NDArray[np.int64]  # the number of first decisions, of second decisions ...
    pieces: int  # the number of pieces: of the previous window's pieces, the first ones, which are longest


@dataclass(frozen=True, slots=True)
class UnrollPlan:
    """The order in which segments pass through the recurrent layer: first the burn-in without gradients, then the
    windows."""

    refreshed: Window | None  # the burn-in; None if there is none
    windows: tuple[Window, ...]
    # [pieces of the first window] the segment whose recorded hidden state the piece starts from; -1: none
    begins: NDArray[np.int64]
    refreshes: NDArray[np.int64]  # [pieces of `refreshed`] the same for the burn-in
    resumed: NDArray[np.int64]  # [pieces of the first window] the piece of `refreshed` that precedes it; -1: none
    counts: NDArray[np.bool_]  # [N] which decisions are trained on


def plan(opens: NDArray[np.bool_], sequence_length: int, burn_in: int) -> UnrollPlan:
    """Return the plan for B segments of T decisions. `opens` [B, T] is True for the first decision of a match."""
    B, T = opens.shape
    starts = opens.copy()
    starts[:, 0] = True
    start = np.flatnonzero(starts)
    length = np.diff(np.append(start, B * T))
    segment = np.where(opens.reshape(-1)[start], -1, start // T)  # -1 for pieces that begin a match
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
    """Return the share of decisions, from 0 to 1, that only recompute a hidden state and are not trained on."""
    return float((~plan(opens, opens.shape[1], burn_in).counts).mean()) if burn_in else 0.0


def _window(start: Whole, length: Whole) -> Window:
    """Return the window of pieces, given the index of their first decision and their lengths, longest first."""
    steps = range(int(length[0]))
    times = np.array([np.count_nonzero(length > step) for step in steps], np.int64)
    order = np.concatenate([start[: times[step]] + step for step in steps]).astype(np.int64)
    return Window(order, times, len(start))


class Unrolling:
    """Runs recurrent layers over segments: that of the trained net and, for some algorithms, of reference nets."""

    def __init__(self, opens: NDArray[np.bool_], state: Tensor, sequence_length: int, burn_in: int) -> None:
        """`opens` [B, T] is True for the first decision of a match. `state` [B, size] holds the hidden states that were
        recorded before the first decision of each segment."""
        self._opens, self._state = opens, state
        self._limits = sequence_length, burn_in
        self._plan = unroll_plan = plan(opens, sequence_length, burn_in)
        windows = ([] if unroll_plan.refreshed is None else [unroll_plan.refreshed]) + list(unroll_plan.windows)
        order = torch.from_numpy(np.concatenate([window.order for window in windows]))
        self._sizes = [len(window.order) for window in windows]
        self._order = order.to(state.device)
        self._back = order.argsort().to(state.device)
        self.learned = int(unroll_plan.counts.sum())  # number of decisions that are trained on
        self.counts = None  # [N] which decisions are trained on; None: all
        if self.learned < unroll_plan.counts.size:
            self.counts = torch.from_numpy(unroll_plan.counts).to(state.device)

    def part(self, segments: slice) -> Unrolling:
        """Return the unrolling of some of these segments alone."""
        return Unrolling(self._opens[segments], self._state[segments], *self._limits)

    def recall(self, core: Core, context: Tensor) -> Tensor:
        """Return the output [N, C] of the recurrent layer `core` for the contexts [N, C] of all decisions."""
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
    """Return the rows of `states` at these indices, and zeros where the index is -1."""
    index = torch.from_numpy(np.maximum(at, 0)).to(states.device)
    there = torch.from_numpy(at >= 0).to(states.device)
    return torch.where(there[:, None], states.index_select(0, index), 0.0)
