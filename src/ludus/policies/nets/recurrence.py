"""The recurrent layer of a net (LSTM or GRU), between the encoder of an observation and the heads.

The hidden state of a row is one vector. It is zero before the first decision of a match.
Axes: n rows, C context, W width.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from ludus.config.settings import RecurrentConfig
from ludus.policies.nets.layers import linear

FORGET = 1.0  # initial bias of an LSTM's forget gate, so that it starts mostly open (Jozefowicz et al. 2015)


def state_size(config: RecurrentConfig) -> int:
    """Return the number of floats in a row's hidden state; 0 if the net is not recurrent."""
    return {"none": 0, "lstm": 2, "gru": 1}[config.kind] * config.width


def build_core(config: RecurrentConfig, context: int) -> Core | None:
    """Return a recurrent layer for context vectors of `context` floats, or None if the net is not recurrent."""
    return None if config.kind == "none" else Core(config, context)


class Core(nn.Module):
    """An LSTM or GRU with a residual connection: its output is added to the context, so the heads are the same with and
    without it. It computes in float32 even under autocast, because rounding errors would accumulate over a match.
    """

    def __init__(self, config: RecurrentConfig, context: int) -> None:
        super().__init__()
        self.width, self.size = config.width, state_size(config)
        self.sequence_length, self.burn_in = config.sequence_length, config.burn_in  # read by the learner
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
        """Return context [n, C] and hidden states [n, size] after one decision of each row, given those before it."""
        with torch.autocast(context.device.type, enabled=False):
            context = context.float()
            if isinstance(self.cells, nn.LSTM):
                hidden, cell = torch.lstm_cell(context, torch.split(state, self.width, dim=1), *self._weights())
                after = torch.cat((hidden, cell), dim=1)
            else:
                hidden = after = torch.gru_cell(context, state, *self._weights())
            return context + self.out(hidden), after

    def unroll(self, context: Tensor, times: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Run over n sequences of different lengths and return their contexts [N, C] and last hidden states [n, size].

        `context` is packed as in `PackedSequence`, the longest sequence first: the first times[0] of its N rows are the
        first decisions of all sequences, the next times[1] the second decisions, and so on. `times` [L] is on the CPU.
        `state` [n, size] holds the hidden states before the first decision of each sequence."""
        cells = self.cells
        with torch.autocast(context.device.type, enabled=False), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "RNN module weights")  # cuDNN copies the weights of some widths
            context = context.float()
            packed = PackedSequence(context, times)
            if isinstance(cells, nn.LSTM):
                hidden, cell = (part.contiguous()[None] for part in torch.split(state, self.width, dim=1))
                output, last = cells(packed, (hidden, cell))
                after = torch.cat(last, dim=2)[0]
            else:
                output, last = cells(packed, state[None])
                after = last[0]
            return context + self.out(output.data), after

    def _weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the weights for the input and for the hidden state, then the biases of both."""
        input_weight, state_weight, input_bias, state_bias = self.cells.parameters()
        return input_weight, state_weight, input_bias, state_bias


Recall = Callable[[Tensor], Tensor]
"""Maps the contexts [n, C] of n decisions to the output [n, C] of the recurrent layer, with their hidden states."""


def recalled(core: Core | None, context: Tensor, recall: Recall | None) -> Tensor:
    """Return the contexts [n, C] that the heads read: unchanged without a recurrent layer, else its output. If `recall`
    is None, every row is treated as the first decision of a match."""
    if core is None:
        return context
    if recall is None:
        return core.step(context, context.new_zeros(len(context), core.size, dtype=torch.float32))[0]
    return recall(context)
