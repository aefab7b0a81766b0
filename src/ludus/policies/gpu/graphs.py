"""A net at play on a device: for each padded number of rows one captured graph, so that a batch is one launch.

Small nets are bound by launches there: copying in, the forward, the draw and copying out are some 40 operations, which
take ten times as long to launch one by one as to compute (benchmarks/bench_inference.py). Numbers are drawn here and
copied in with the rows, so choices are those of any other path for the same numbers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludus.policies.distributions import Distribution
from ludus.policies.gpu.streams import Run, Stream
from ludus.policies.gpu.transfer import TransferBuffer, leaves
from ludus.policies.hidden_states import RowStates
from ludus.policies.nets.heads import Heads
from ludus.policies.nets.recurrence import Recall
from ludus.spec import GameSpec
from ludus.types import Arrivals

MOST_ROWS = 8192  # of one graph; what is more is chosen for in parts, one after the other

Judge = Callable[[dict[str, Tensor], Tensor, Recall | None], tuple[Distribution, Tensor]]  # of leaves, legal, memory
Joined = Callable[[dict[str, Tensor], Tensor, Recall | None], Heads | tuple[Distribution, Tensor]]  # by few kernels
Within = Callable[
    [], AbstractContextManager[object]
]  # what a net is to judge in, and its distribution to be drawn from

log = logging.getLogger(__name__)


def padded(rows: int) -> int:
    """How many rows a graph is captured for, where so many come: the next power of two."""
    return 1 << max(rows - 1, 0).bit_length()


class SampledBatch(NamedTuple):
    action: NDArray[np.int32]  # [n]
    logp: NDArray[np.float32]  # [n]
    value: NDArray[np.float32]  # [n]
    memory: NDArray[np.float32] | None  # [n, size] what the rows remembered before; None without memory


class Engine:
    """Chooses for any number of rows on a lane's device. One batch at a time: the next one lies in the same memory.

    Weights are the judge's matter. They may change whenever nothing is under way, as long as they lie where they lay.
    The states of rows stay on the device, where a graph takes and leaves them by the rows' numbers.
    """

    def __init__(
        self,
        judge: Judge,
        spec: GameSpec,
        lane: Stream,
        *,
        greedy: bool = False,
        states: RowStates | None = None,
        within: Within = nullcontext,
        joined: Joined | None = None,
    ) -> None:
        self._judge, self._within, self._spec, self._lane = judge, within, spec, lane
        self._joined = joined if lane.joins else None
        self._greedy, self._states = greedy, states
        self._table = None if states is None else states.table
        self._programs: dict[int, Program] = {}
        self._captures = True
        self._under_way: tuple[Program, int] | None = None
        self._before: list[SampledBatch] = []
        self.draws = self._count_draws()

    def launch(self, arrivals: Arrivals, uniform: NDArray[np.float32] | None) -> None:
        """Begin to choose for these rows, as `uniform` [draws, n] decides; None: the best."""
        if self._under_way is not None:
            raise RuntimeError("launched while choices are under way: collect those first")
        if self._states is not None:
            self._make_room(self._states, int(arrivals.row.max(initial=0)) + 1)
        self._before = []
        for first in range(0, max(len(arrivals), 1), MOST_ROWS):
            if self._under_way is not None:
                self._before.append(self._fetch())
            part = slice(first, first + MOST_ROWS)
            rows = len(arrivals.row[part])
            program = self.program(padded(rows))
            program.fill(arrivals, part, None if uniform is None else uniform[:, part])
            self._lane.start(program.run)
            self._under_way = program, rows

    def collect(self) -> SampledBatch:
        """Wait for what was launched."""
        parts = [*self._before, self._fetch()]
        return parts[0] if len(parts) == 1 else _together(parts)

    def _fetch(self) -> SampledBatch:
        assert self._under_way is not None, "nothing was launched"
        program, rows = self._under_way
        self._under_way = None
        self._lane.wait()
        return program.chosen(rows)

    def program(self, size: int) -> Program:
        """What is done for batches of this padded size; captured when it is first asked for."""
        program = self._programs.get(size)
        if program is None:
            program = self._programs[size] = self._new_program(size)
            self._lane.follow()  # its memory is being cleared by the caller's stream
            if self._captures:
                self._capture(program)
        return program

    def _new_program(self, size: int) -> Program:
        draws = 0 if self._greedy else self.draws
        return Program(
            self._judge, self._joined, self._within, self._spec, self._lane.device, size, draws, self._states
        )

    def _make_room(self, states: RowStates, rows: int) -> None:
        """For states of so many rows. Graphs know where the states lay, so they go with those."""
        states.reserve(rows)
        if states.table is not self._table:
            self._programs.clear()
            self._table = states.table
        self._lane.follow()  # others, too, write there: matches that ended are forgotten

    def _capture(self, program: Program) -> None:
        apart: Exception | None = None
        if self._joined is not None:
            try:
                program.run = self._lane.capture(program.choose_by_kernels)
            except Exception as error:  # whatever their compiler stumbles over, the operations may be sound
                self._joined, apart = None, error
            else:
                return
        try:
            program.run = self._lane.capture(program.run)
            if apart is not None:
                log.warning("graphs are captured without joined kernels and take up to twice as long: %s", _line(apart))
        except RuntimeError as error:
            self._captures = False
            log.warning(
                "no graph of this net can be captured on %s, so each batch is launched operation by operation, which "
                "takes several times as long: %s",
                self._lane.device,
                _line(error),
            )

    def _count_draws(self) -> int:
        """By asking once about one row."""
        draws: list[int] = []

        def run() -> None:
            with torch.inference_mode(), self._within():
                legal = torch.ones(1, self._spec.actions, dtype=torch.bool, device=self._lane.device)
                rows = torch.zeros(1, self._spec.obs.nbytes, dtype=torch.uint8, device=self._lane.device)
                draws.append(self._judge(leaves(self._spec.obs, rows), legal, None)[0].draws)

        self._lane.start(run)
        self._lane.wait()
        return draws[0]


class Program:
    """What is done for a batch of one padded size, on memory of its own. Rows past those filled in are what they were:
    nobody reads what is chosen for them, and what they remember is kept in the spare row of the states."""

    def __init__(
        self,
        judge: Judge,
        joined: Joined | None,
        within: Within,
        spec: GameSpec,
        device: torch.device,
        size: int,
        draws: int,
        states: RowStates | None,
    ) -> None:
        self._judge, self._joined, self._within, self._draws, self._states = judge, joined, within, draws, states
        inputs: dict[str, tuple[str, tuple[int, ...]]] = {
            "obs": ("uint8", (size, spec.obs.nbytes)),
            "legal": ("bool", (size, spec.actions)),
            "uniform": ("float32", (draws, size)),
        }
        outputs: dict[str, tuple[str, tuple[int, ...]]] = {
            "action": ("int32", (size,)),
            "logp": ("float32", (size,)),
            "value": ("float32", (size,)),
        }
        if states is not None:
            inputs |= {"row": ("int64", (size,)), "opens": ("bool", (size,))}
            outputs["memory"] = ("float32", (size, states.size))
        self._inputs, self._outputs = TransferBuffer(inputs, device), TransferBuffer(outputs, device)
        self._leaves = leaves(spec.obs, self._inputs.tensors["obs"])
        self._padding = 0 if states is None else len(states.table) - 1
        if states is not None:
            self._inputs.arrays["row"][:] = self._padding  # a capture runs before the first rows are filled in
        self.run: Run = self._choose

    def fill(self, arrivals: Arrivals, part: slice, uniform: NDArray[np.float32] | None) -> None:
        obs = arrivals.obs[part]
        inputs, rows = self._inputs.arrays, len(obs)
        inputs["obs"][:rows] = obs
        inputs["legal"][:rows] = arrivals.legal[part]
        if uniform is not None:
            inputs["uniform"][:, :rows] = uniform
        if self._states is not None:
            inputs["row"][:rows], inputs["row"][rows:] = arrivals.row[part], self._padding
            inputs["opens"][:rows] = arrivals.opens[part]

    def chosen(self, rows: int) -> SampledBatch:
        """Copies: the memory is written again by the next run."""
        outputs = {name: array[:rows].copy() for name, array in self._outputs.arrays.items()}
        return SampledBatch(outputs["action"], outputs["logp"], outputs["value"], outputs.get("memory"))

    def _choose(self) -> None:
        inputs, outputs, states = self._inputs.tensors, self._outputs.tensors, self._states
        with torch.inference_mode(), self._within():
            self._inputs.send()
            recall = None if states is None else states.recall_at(inputs["row"], inputs["opens"])
            self._draw(*self._judge(self._leaves, inputs["legal"], recall))
            if states is not None and recall is not None:
                states.keep(recall)
                outputs["memory"].copy_(recall.before)
            self._outputs.fetch()

    def choose_by_kernels(self) -> None:
        """The same choices. Kernels read and write page-locked memory themselves, where they do so once."""
        from ludus.policies.gpu.kernels import deciding  # which needs triton

        assert self._joined is not None
        inputs, outputs, states = self._inputs.tensors, self._outputs.seen, self._states
        with torch.inference_mode(), self._within():
            self._inputs.pull()
            recall = None if states is None else states.recall_at(inputs["row"], inputs["opens"])
            found = self._joined(self._leaves, inputs["legal"], recall)
            asked = deciding.DrawInputs(inputs["legal"], inputs["uniform"] if self._draws else None)
            decided = deciding.DrawOutputs(outputs["action"], outputs["logp"], outputs["value"])
            if not deciding.decide(found, asked, decided):
                self._draw(*(found.judged(asked.legal) if isinstance(found, Heads) else found))
                self._outputs.push()
            if states is not None and recall is not None:
                states.keep(recall)
                torch.add(recall.before, 0, out=outputs["memory"])

    def _draw(self, said: Distribution, value: Tensor) -> None:
        inputs, outputs = self._inputs.tensors, self._outputs.tensors
        action = said.draw(inputs["uniform"]) if self._draws else said.best()
        outputs["action"].copy_(action)
        outputs["logp"].copy_(said.log_prob(action))
        outputs["value"].copy_(value)


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _together(parts: list[SampledBatch]) -> SampledBatch:
    action, logp, value = (np.concatenate([part[at] for part in parts]) for at in range(3))
    memories = [part.memory for part in parts if part.memory is not None]
    return SampledBatch(action, logp, value, np.concatenate(memories) if memories else None)
