"""LSTM and GRU cells written out gate by gate, to be run decision by decision, match by match."""

from __future__ import annotations

import torch
from torch import Tensor

from ludus.policies.nets.recurrence import Core


def written_out(core: Core, context: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """One decision of one row, [C] and [size], by the formulas of Hochreiter and Schmidhuber, and of Cho et al."""
    W = core.width
    named = dict(core.cells.named_parameters())
    seen = named["weight_ih_l0"] @ context + named["bias_ih_l0"]
    carried = named["weight_hh_l0"] @ state[:W] + named["bias_hh_l0"]
    if len(state) == 2 * W:
        let_in, keep, candidate, let_out = (seen + carried).chunk(4)
        cell = keep.sigmoid() * state[W:] + let_in.sigmoid() * candidate.tanh()
        hidden = let_out.sigmoid() * cell.tanh()
        after = torch.cat((hidden, cell))
    else:
        (reset, update, candidate), (old_reset, old_update, old) = seen.chunk(3), carried.chunk(3)
        proposed = (candidate + (reset + old_reset).sigmoid() * old).tanh()
        share = (update + old_update).sigmoid()
        hidden = after = (1 - share) * proposed + share * state
    return context + core.out.weight @ hidden + core.out.bias, after


def matches(opens: list[bool]) -> list[range]:
    """The decisions of a segment, match by match."""
    starts = [0, *(t for t, first in enumerate(opens) if first and t)]
    return [range(begin, end) for begin, end in zip(starts, [*starts[1:], len(opens)], strict=True)]
