"""Takes the optimiser steps of an update: as single kernels, or by replaying captured CUDA graphs.

A step of a small net consists of some hundred kernels that run shorter than they take to launch. As a graph, they are
one launch. A graph reads and writes fixed addresses, so the batch is copied to tensors that stay where they are, and
the graph itself selects the rows of its minibatch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor

from ludus.learner.batch import FlatBatch, Minibatch
from ludus.policies.gpu.streams import Run, Stream

LAYOUTS = 4  # layouts of batches that are remembered; one that was not used for longest is forgotten

Step = Callable[[Minibatch, Any], Tensor]  # Any: the algorithm's own type of targets
Layout = tuple[object, ...]
"""Shapes and types of all tensors of a batch and its targets, and the targets' other values."""

log = logging.getLogger(__name__)


class Steps:
    """Takes steps with `step(minibatch, targets)`, which returns the numbers to report [k].

    Without a `stream`, it just calls `step`. With one, the second update with batches of the same layout is the first
    to use graphs, so batches whose size changes all the time are never captured. If a step cannot be captured, a
    warning is logged once and training continues without graphs.
    """

    def __init__(self, step: Step, stream: Stream | None) -> None:
        self._step, self._stream = step, stream
        self._layouts: dict[Layout, CapturedSteps | None] = {}  # the last one was used last; None: seen once
        self._captured: CapturedSteps | None = None
        self._data: FlatBatch
        self._targets: Any  # Any: the algorithm's own type

    def begin(self, data: FlatBatch, targets: Any) -> None:  # Any: the algorithm's own type
        """Take the steps of the next update on this batch."""
        self._data, self._targets, self._captured = data, targets, None
        if self._stream is None:
            return
        try:
            layout = _layout(data, targets)
        except TypeError as error:
            self._give_up(error)
            return
        is_known = layout in self._layouts
        captured = self._layouts.pop(layout, None)
        if is_known and captured is None:
            captured = CapturedSteps(self._step, self._stream, data, targets)
        self._layouts[layout] = captured
        if len(self._layouts) > LAYOUTS:
            del self._layouts[next(iter(self._layouts))]
        if captured is not None:
            captured.load(data, targets)
        self._captured = captured

    def take(self, index: Tensor, *, whole_segments: bool) -> Tensor:
        """Take one step on the decisions, or segments, of the batch at these indices."""
        if self._captured is not None:
            try:
                return self._captured.take(index, whole_segments=whole_segments)
            except NotCapturedError as error:
                self._give_up(error.__cause__ or error)
        return self._step(self._data.pick(index, whole_segments=whole_segments), self._targets)

    def _give_up(self, error: BaseException) -> None:
        self._stream = self._captured = None
        self._layouts.clear()
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        log.warning(
            "learner.compute.graphs: training continues without CUDA graphs, because the optimiser step of this "
            "algorithm and net cannot be captured: %s",
            reason,
        )


class NotCapturedError(Exception):
    """A step could not be captured. It has not been taken; its cause says why."""


class CapturedStep(NamedTuple):
    replay: Run
    numbers: list[Tensor]  # one: what the step returned; every replay overwrites it


class CapturedSteps:
    """Graphs of the steps on batches of one layout, one for each size of minibatches, and the tensors they read."""

    def __init__(self, step: Step, stream: Stream, data: FlatBatch, targets: Any) -> None:  # Any: see Steps
        self._step, self._stream = step, stream
        self._data = data.copy()
        self._targets = _copied(targets)
        self._index: dict[int, Tensor] = {}
        self._graphs: dict[int, CapturedStep] = {}

    def load(self, data: FlatBatch, targets: Any) -> None:  # Any: see Steps
        """Copy a batch and its targets to the tensors that the graphs read."""
        self._data.overwrite(data)
        for mine, its in zip(_fields(self._targets), _fields(targets), strict=True):
            if isinstance(mine, Tensor):
                mine.copy_(its)

    def take(self, index: Tensor, *, whole_segments: bool) -> Tensor:
        """Take a step. The first one of each size runs on the stream as single kernels, which loads libraries and
        compiles kernels; the second one captures the graph. Raises NotCapturedError."""
        size = len(index)
        if size not in self._index:
            self._index[size] = index.clone()
            return self._warm_up(self._index[size], whole_segments)
        mine = self._index[size].copy_(index)
        if size not in self._graphs:
            self._graphs[size] = self._captured(mine, whole_segments)
        graph = self._graphs[size]
        graph.replay()
        return graph.numbers[0].clone()

    def _run(self, index: Tensor, whole_segments: bool) -> Tensor:
        return self._step(self._data.pick(index, whole_segments=whole_segments), self._targets)

    def _warm_up(self, index: Tensor, whole_segments: bool) -> Tensor:
        numbers: list[Tensor] = []
        self._stream.follow()
        self._stream.start(lambda: numbers.append(self._run(index, whole_segments)))
        self._stream.wait()
        return numbers[0].clone()

    def _captured(self, index: Tensor, whole_segments: bool) -> CapturedStep:
        numbers: list[Tensor] = []

        def run() -> None:
            numbers[:] = [self._run(index, whole_segments)]

        try:
            replay = self._stream.capture(run, warm_ups=0)
        except RuntimeError as error:
            raise NotCapturedError from error
        return CapturedStep(replay, numbers)


def _layout(data: FlatBatch, targets: Any) -> Layout:  # Any: see Steps
    """Return the layout of a batch and its targets. Raises TypeError if the targets are no tuple of tensors and
    hashable values."""
    tensors = [*data.tensors().values()]
    others: list[object] = [data.length]
    for value in _fields(targets):
        if isinstance(value, Tensor):
            tensors.append(value)
        others.append("tensor" if isinstance(value, Tensor) else value)
    layout = (*((tensor.shape, tensor.dtype) for tensor in tensors), *others)
    hash(layout)
    return layout


def _fields(targets: Any) -> tuple[Any, ...]:  # Any: see Steps
    if not isinstance(targets, tuple):
        raise TypeError(f"its targets are {type(targets).__name__}, not a named tuple")
    return targets


def _copied(targets: Any) -> Any:  # Any: see Steps
    copies = [value.clone() if isinstance(value, Tensor) else value for value in _fields(targets)]
    return type(targets)(*copies) if hasattr(targets, "_fields") else tuple(copies)
