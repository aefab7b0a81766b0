"""Inference on a CUDA device: one captured CUDA graph per padded batch size, so that a batch costs one launch.

Without graphs, the launch overhead of about 40 small kernels (copies, forward pass, sampling) exceeds their run time by
far (benchmarks/bench_inference.py). Random numbers are drawn on the CPU and copied in with the rows, so a graph chooses
the same actions as the other inference paths.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

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
from ludus.policies.sampling import SampledBatch
from ludus.spec import GameSpec
from ludus.types import Arrivals

MAX_ROWS = 8192  # per graph; larger batches are split and run one part after the other

Forward = Callable[[dict[str, Tensor], Tensor, Recall | None], tuple[Distribution, Tensor]]
"""Maps observation leaves, legal actions [n, A] and hidden states to a distribution and values [n]: `Net.forward`."""
FusedForward = Callable[[dict[str, Tensor], Tensor, Recall | None], Heads | tuple[Distribution, Tensor]]
"""The same with fused kernels: `nets.net.forward_fused`."""
Precision = Callable[[], AbstractContextManager[object]]
"""Returns the context (autocast or none) for the forward pass and for sampling."""

log = logging.getLogger(__name__)


def padded(rows: int) -> int:
    """Return the batch size of the graph that serves `rows` rows: the next power of two."""
    return 1 << max(rows - 1, 0).bit_length()


class Engine:
    """Samples actions for any number of rows on a stream's device, one batch at a time.

    Graphs read the weights and the hidden states by address: update the weights in place, and only between `collect`
    and the next `launch`.
    """

    def __init__(
        self,
        forward: Forward,
        spec: GameSpec,
        stream: Stream,
        *,
        greedy: bool = False,
        states: RowStates | None = None,
        precision: Precision = nullcontext,
        fused: FusedForward | None = None,
    ) -> None:
        self._forward, self._precision, self._spec, self._stream = forward, precision, spec, stream
        self._fused = fused if stream.fuses else None
        self._greedy, self._states = greedy, states
        self._state_table = None if states is None else states.table
        self._programs: dict[int, Program] = {}
        self._captures = True
        self._running: tuple[Program, int] | None = None
        self._finished_parts: list[SampledBatch] = []
        self.draws = self._count_draws()

    def launch(self, arrivals: Arrivals, uniform: NDArray[np.float32] | None) -> None:
        """Start to sample actions for these rows.

        uniform: random numbers [draws, n] as for `Distribution.draw`; None takes the most probable actions. Raises
        RuntimeError if the previous batch was not collected.
        """
        if self._running is not None:
            raise RuntimeError("launched while a batch is running: collect that batch first")
        if self._states is not None:
            self._reserve_states(self._states, int(arrivals.row.max(initial=0)) + 1)
        self._finished_parts = []
        for first in range(0, max(len(arrivals), 1), MAX_ROWS):
            if self._running is not None:
                self._finished_parts.append(self._wait())
            part = slice(first, first + MAX_ROWS)
            rows = len(arrivals.row[part])
            program = self.program(padded(rows))
            program.fill(arrivals, part, None if uniform is None else uniform[:, part])
            self._stream.start(program.run)
            self._running = program, rows

    def collect(self) -> SampledBatch:
        """Wait for the batch that was launched and return its actions."""
        parts = [*self._finished_parts, self._wait()]
        return parts[0] if len(parts) == 1 else _concatenate(parts)

    def _wait(self) -> SampledBatch:
        assert self._running is not None, "nothing was launched"
        program, rows = self._running
        self._running = None
        self._stream.wait()
        return program.sampled(rows)

    def program(self, size: int) -> Program:
        """Return the program for batches of this padded size. The first call for a size captures its graph."""
        program = self._programs.get(size)
        if program is None:
            program = self._programs[size] = self._new_program(size)
            self._stream.follow()  # the caller's stream may still be clearing the program's new buffers
            if self._captures:
                self._capture(program)
        return program

    def _new_program(self, size: int) -> Program:
        draws = 0 if self._greedy else self.draws
        return Program(
            self._forward, self._fused, self._precision, self._spec, self._stream.device, size, draws, self._states
        )

    def _reserve_states(self, states: RowStates, rows: int) -> None:
        """Grow the hidden-state table to `rows`. Captured graphs hold its address, so reallocating it discards them."""
        states.reserve(rows)
        if states.table is not self._state_table:
            self._programs.clear()
            self._state_table = states.table
        self._stream.follow()  # the caller's stream may still be resetting the states of matches that ended

    def _capture(self, program: Program) -> None:
        """Replace `program.run` by the replay of a CUDA graph. Captures the fused kernels or, if that fails, the
        PyTorch operations. If neither can be captured, `program.run` stays and a warning is logged."""
        fused_error: Exception | None = None
        if self._fused is not None:
            try:
                program.run = self._stream.capture(program.sample_fused)
            except Exception as error:  # the kernels' compiler raises many types; the plain operations may still work
                self._fused, fused_error = None, error
            else:
                return
        try:
            program.run = self._stream.capture(program.run)
            if fused_error is not None:
                log.warning(
                    "CUDA graphs are captured without fused kernels, so inference takes up to twice as long: %s",
                    _first_line(fused_error),
                )
        except RuntimeError as error:
            self._captures = False
            log.warning(
                "this net cannot be captured as a CUDA graph on %s, so its kernels are launched one by one, which "
                "takes several times as long: %s",
                self._stream.device,
                _first_line(error),
            )

    def _count_draws(self) -> int:
        """Return `Distribution.draws` of the net, after a forward pass of one row."""
        draws: list[int] = []

        def run() -> None:
            with torch.inference_mode(), self._precision():
                legal = torch.ones(1, self._spec.actions, dtype=torch.bool, device=self._stream.device)
                rows = torch.zeros(1, self._spec.obs.nbytes, dtype=torch.uint8, device=self._stream.device)
                dist, _ = self._forward(leaves(self._spec.obs, rows), legal, None)
                draws.append(dist.draws)

        self._stream.start(run)
        self._stream.wait()
        return draws[0]


class Program:
    """The work for one batch of a padded size, with buffers of its own.

    Padding rows keep whatever the buffers held before. Their outputs are ignored, and their hidden states are written
    to the spare row of the hidden-state table.
    """

    def __init__(
        self,
        forward: Forward,
        fused: FusedForward | None,
        precision: Precision,
        spec: GameSpec,
        device: torch.device,
        size: int,
        draws: int,
        states: RowStates | None,
    ) -> None:
        self._forward, self._fused, self._precision, self._draws, self._states = (
            forward,
            fused,
            precision,
            draws,
            states,
        )
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
            outputs["hidden_state"] = ("float32", (size, states.size))
        self._inputs, self._outputs = TransferBuffer(inputs, device), TransferBuffer(outputs, device)
        self._leaves = leaves(spec.obs, self._inputs.tensors["obs"])
        self._spare_row = 0 if states is None else len(states.table) - 1
        if states is not None:
            self._inputs.arrays["row"][:] = self._spare_row  # a capture runs before the first `fill`
        self.run: Run = self._sample

    def fill(self, arrivals: Arrivals, part: slice, uniform: NDArray[np.float32] | None) -> None:
        """Copy a part of the arrivals into the input buffers."""
        obs = arrivals.obs[part]
        inputs, rows = self._inputs.arrays, len(obs)
        inputs["obs"][:rows] = obs
        inputs["legal"][:rows] = arrivals.legal[part]
        if uniform is not None:
            inputs["uniform"][:, :rows] = uniform
        if self._states is not None:
            inputs["row"][:rows], inputs["row"][rows:] = arrivals.row[part], self._spare_row
            inputs["opens"][:rows] = arrivals.opens[part]

    def sampled(self, rows: int) -> SampledBatch:
        """Return copies of the outputs of the first `rows` rows."""
        outputs = {name: array[:rows].copy() for name, array in self._outputs.arrays.items()}
        return SampledBatch(outputs["action"], outputs["logp"], outputs["value"], outputs.get("hidden_state"))

    def _sample(self) -> None:
        """Copy the inputs to the device, run the net, sample, and copy the outputs back."""
        inputs, outputs, states = self._inputs.tensors, self._outputs.tensors, self._states
        with torch.inference_mode(), self._precision():
            self._inputs.send()
            recall = None if states is None else states.recall_at(inputs["row"], inputs["opens"])
            self._draw(*self._forward(self._leaves, inputs["legal"], recall))
            if states is not None and recall is not None:
                states.keep(recall)
                outputs["hidden_state"].copy_(recall.before)
            self._outputs.fetch()

    def sample_fused(self) -> None:
        """Do the same as `_sample` with fused kernels, which read and write page-locked host memory directly."""
        from ludus.policies.gpu.kernels import deciding  # imports triton

        assert self._fused is not None
        inputs, outputs, states = self._inputs.tensors, self._outputs.mapped, self._states
        with torch.inference_mode(), self._precision():
            self._inputs.pull()
            recall = None if states is None else states.recall_at(inputs["row"], inputs["opens"])
            net_outputs = self._fused(self._leaves, inputs["legal"], recall)
            draw_inputs = deciding.DrawInputs(inputs["legal"], inputs["uniform"] if self._draws else None)
            draw_outputs = deciding.DrawOutputs(outputs["action"], outputs["logp"], outputs["value"])
            if not deciding.decide(net_outputs, draw_inputs, draw_outputs):
                if isinstance(net_outputs, Heads):
                    net_outputs = net_outputs.outputs(draw_inputs.legal)
                self._draw(*net_outputs)
                self._outputs.push()
            if states is not None and recall is not None:
                states.keep(recall)
                torch.add(recall.before, 0, out=outputs["hidden_state"])

    def _draw(self, dist: Distribution, value: Tensor) -> None:
        """Sample actions with PyTorch and write them, their log-probabilities and the values to the output tensors."""
        inputs, outputs = self._inputs.tensors, self._outputs.tensors
        action = dist.draw(inputs["uniform"]) if self._draws else dist.best()
        outputs["action"].copy_(action)
        outputs["logp"].copy_(dist.log_prob(action))
        outputs["value"].copy_(value)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _concatenate(parts: list[SampledBatch]) -> SampledBatch:
    action, logp, value = (np.concatenate([part[at] for part in parts]) for at in range(3))
    states = [part.hidden_state for part in parts if part.hidden_state is not None]
    return SampledBatch(action, logp, value, np.concatenate(states) if states else None)
