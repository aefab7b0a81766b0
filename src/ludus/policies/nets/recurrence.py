"""Memory inside a net: what was seen in a match so far, between the encoder of a state and the heads that act on it.

A row's state is one vector, zero before the first decision of a match. Axes: n rows, C context, W width.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from ludus.config.settings import RecurrentConfig
from ludus.policies.nets.layers import linear

FORGET = 1.0  # an LSTM's gate begins mostly open: what was seen stays (Jozefowicz et al. 2015)


def state_size(config: RecurrentConfig) -> int:
    """Floats of one row's state; 0 without memory."""
    return {"none": 0, "lstm": 2, "gru": 1}[config.kind] * config.width


def build_core(config: RecurrentConfig, context: int) -> Core | None:
    """For a context vector of that many floats; None without memory."""
    return None if config.kind == "none" else Core(config, context)


class Core(nn.Module):
    """Adds what it remembers to the context, so that heads read one vector with memory or without.

    Autocast stops here: what is rounded at one decision is carried to all that follow.
    """

    def __init__(self, config: RecurrentConfig, context: int) -> None:
        super().__init__()
        self.width, self.size = config.width, state_size(config)
        self.sequence_length, self.burn_in = config.sequence_length, config.burn_in  # for whoever learns
        self.cells: nn.LSTM | nn.GRU
        self.cells = (nn.LSTM if config.kind == "lstm" else nn.GRU)(context, config.width)
        self.out = linear(config.width, context, gain=1.0)
        for name, parameter in self.cells.named_parameters():
            if name.startswith("weight"):
                for gate in torch.split(parameter.data, config.width):
                    nn.init.orthogonal_(gate)
            else:
                nn.init.zeros_(parameter)
        if isinstance(self.cells, nn.LSTM):
            nn.init.constant_(self._weights()[2].data[config.width : 2 * config.width], FORGET)

    def step(self, context: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """One decision of each row: [n, C] and states [n, size] in, the same out."""
        with torch.autocast(context.device.type, enabled=False):
            context = context.float()
            if isinstance(self.cells, nn.LSTM):
                hidden, cell = torch.lstm_cell(context, torch.split(state, self.width, dim=1), *self._weights())
                after = torch.cat((hidden, cell), dim=1)
            else:
                hidden = after = torch.gru_cell(context, state, *self._weights())
            return context + self.out(hidden), after

    def unroll(self, context: Tensor, times: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Sequences of several lengths, the longest first, decision by decision: of [N, C] the first times[0] are their
        first decisions, the next times[1] the second ones, and so on; `times` [L] lies on the CPU. States [n, size] of
        all sequences in, and after the last decision of each out."""
        cells = self.cells
        with torch.autocast(context.device.type, enabled=False), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "RNN module weights")  # cuDNN copies flat weights of some widths
            context = context.float()
            packed = PackedSequence(context, times)
            if isinstance(cells, nn.LSTM):
                hidden, cell = (part.contiguous()[None] for part in torch.split(state, self.width, dim=1))
                said, last = cells(packed, (hidden, cell))
                after = torch.cat(last, dim=2)[0]
            else:
                said, last = cells(packed, state[None])
                after = last[0]
            return context + self.out(said.data), after

    def _weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Of what is seen, of the state; the biases of both."""
        seen, carried, seen_bias, carried_bias = self.cells.parameters()
        return seen, carried, seen_bias, carried_bias


Recall = Callable[[Tensor], Tensor]
"""The contexts [n, C] of some decisions in, with what is remembered at each of them out."""


def recalled(core: Core | None, context: Tensor, recall: Recall | None) -> Tensor:
    """The context that heads read. Without a `recall`, decisions are as the first of a match."""
    if core is None:
        return context
    if recall is None:
        return core.step(context, context.new_zeros(len(context), core.size, dtype=torch.float32))[0]
    return recall(context)
