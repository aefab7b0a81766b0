"""A net at play on a device: for each padded number of rows one captured graph, so that a batch is one launch.

Small nets are bound by launches there: copying in, the forward, the draw and copying out are some 40 operations, which
take ten times as long to launch one by one as to compute (benchmarks/bench_inference.py). Numbers are drawn here and
copied in with the rows, so choices are those of any other path for the same numbers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludus.policies.blocks import Block, leaves
from ludus.policies.distributions import Distribution
from ludus.policies.lanes import Lane, Run
from ludus.spec import GameSpec
from ludus.types import Arrivals

MOST_ROWS = 8192  # of one graph; what is more is chosen for in parts, one after the other

Judge = Callable[[dict[str, Tensor], Tensor], tuple[Distribution, Tensor]]  # leaves, legal -> what the net says, values

log = logging.getLogger(__name__)


def padded(rows: int) -> int:
    """How many rows a graph is captured for, where so many come: the next power of two."""
    return 1 << max(rows - 1, 0).bit_length()


class Chosen(NamedTuple):
    action: NDArray[np.int32]  # [n]
    logp: NDArray[np.float32]  # [n]
    value: NDArray[np.float32]  # [n]


class Engine:
    """Chooses for any number of rows on a lane's device. One batch at a time: the next one lies in the same memory.

    Weights are the judge's matter. They may change whenever nothing is under way, as long as they lie where they lay.
    """

    def __init__(self, judge: Judge, spec: GameSpec, lane: Lane, *, greedy: bool = False) -> None:
        self._judge, self._spec, self._lane, self._greedy = judge, spec, lane, greedy
        self._programs: dict[int, Program] = {}
        self._captures = True
        self._under_way: tuple[Program, int] | None = None
        self._before: list[Chosen] = []
        self.draws = self._count_draws()

    def launch(self, arrivals: Arrivals, uniform: NDArray[np.float32] | None) -> None:
        """Begin to choose for these rows, as `uniform` [draws, n] decides; None: the best."""
        if self._under_way is not None:
            raise RuntimeError("launched while choices are under way: collect those first")
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

    def collect(self) -> Chosen:
        """Wait for what was launched."""
        parts = [*self._before, self._fetch()]
        return parts[0] if len(parts) == 1 else Chosen(*map(np.concatenate, zip(*parts, strict=True)))

    def _fetch(self) -> Chosen:
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
            if self._captures:
                self._capture(program)
        return program

    def _new_program(self, size: int) -> Program:
        return Program(self._judge, self._spec, self._lane.device, size, 0 if self._greedy else self.draws)

    def _capture(self, program: Program) -> None:
        try:
            program.run = self._lane.capture(program.run)
        except RuntimeError as error:
            self._captures = False
            reason = str(error).strip().partition("\n")[0]
            log.warning(
                "no graph of this net can be captured on %s, so each batch is launched operation by operation, which "
                "takes several times as long: %s",
                self._lane.device,
                reason,
            )

    def _count_draws(self) -> int:
        """By asking once about one row."""
        draws: list[int] = []

        def run() -> None:
            with torch.inference_mode():
                legal = torch.ones(1, self._spec.actions, dtype=torch.bool, device=self._lane.device)
                rows = torch.zeros(1, self._spec.obs.nbytes, dtype=torch.uint8, device=self._lane.device)
                draws.append(self._judge(leaves(self._spec.obs, rows), legal)[0].draws)

        self._lane.start(run)
        self._lane.wait()
        return draws[0]


class Program:
    """What is done for a batch of one padded size, on memory of its own. Rows past those filled in are what they were:
    nobody reads what is chosen for them."""

    def __init__(self, judge: Judge, spec: GameSpec, device: torch.device, size: int, draws: int) -> None:
        self._judge, self._draws = judge, draws
        self._inputs = Block(
            {
                "obs": ("uint8", (size, spec.obs.nbytes)),
                "legal": ("bool", (size, spec.actions)),
                "uniform": ("float32", (draws, size)),
            },
            device,
        )
        self._outputs = Block(
            {"action": ("int32", (size,)), "logp": ("float32", (size,)), "value": ("float32", (size,))}, device
        )
        self._leaves = leaves(spec.obs, self._inputs.tensors["obs"])
        self.run: Run = self._choose

    def fill(self, arrivals: Arrivals, part: slice, uniform: NDArray[np.float32] | None) -> None:
        obs = arrivals.obs[part]
        inputs, rows = self._inputs.arrays, len(obs)
        inputs["obs"][:rows] = obs
        inputs["legal"][:rows] = arrivals.legal[part]
        if uniform is not None:
            inputs["uniform"][:, :rows] = uniform

    def chosen(self, rows: int) -> Chosen:
        """Copies: the memory is written again by the next run."""
        outputs = self._outputs.arrays
        return Chosen(*(outputs[name][:rows].copy() for name in Chosen._fields))

    def _choose(self) -> None:
        with torch.inference_mode():
            self._inputs.send()
            said, value = self._judge(self._leaves, self._inputs.tensors["legal"])
            action = said.draw(self._inputs.tensors["uniform"]) if self._draws else said.best()
            for name, result in (("action", action), ("logp", said.log_prob(action)), ("value", value)):
                self._outputs.tensors[name].copy_(result)
            self._outputs.fetch()
