"""Leaves out entities and options that no row of a batch has, for the net `entities`.

A list has room for the largest case, and most decisions fill little of it. Axes: B rows, T tokens, A actions.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ludus.policies.nets.lists import Lists


class Trimming:
    """Shortens each list, and the options, to the last entry that is known or legal in any row."""

    def __init__(self, lists: Lists) -> None:
        self._lengths = list(lists.lengths.values())
        self._holders = {name: _place(lists, group) for name, group in lists.holders.items()}
        self._has_options = lists.has_options

    def __call__(self, inputs: Mapping[str, Tensor], legal: Tensor) -> dict[str, Tensor]:
        """Return the inputs [B, ...] that `EntityNet.prepare` returned, shortened. The outputs of the net for legal
        actions stay equal, apart from rounding."""
        flags, A = _known_or_referred(inputs), legal.shape[1]
        T = len(flags)
        parts, places, lengths, at = [torch.zeros(1, dtype=torch.int64)], torch.full((T + 1,), -1), [], 1
        for length in self._lengths:
            lengths.append(_up_to_last(flags[at : at + length]))
            parts.append(torch.arange(at, at + lengths[-1]))
            at += length
        rest = torch.cat([*parts, torch.arange(at, T)])  # the grids follow the lists
        places[rest] = torch.arange(len(rest))
        places[places < 0] = len(rest)  # stands for no entity
        options = _up_to_last(legal.any(0)) if self._has_options else A
        trimmed = {"known": inputs["known"][:, rest]}
        for name, tensor in inputs.items():
            owner, _, leaf = name.partition(".")
            if owner == "refers":
                holder = self._holders[leaf]
                trimmed[name] = places[tensor[:, : options if holder is None else lengths[holder]]]
            elif owner == "options":
                trimmed[name] = tensor[:, :options]
            elif owner.isdigit():
                trimmed[name] = tensor[:, : lengths[int(owner)]]
            elif name != "known":
                trimmed[name] = tensor
        return trimmed


def _known_or_referred(inputs: Mapping[str, Tensor]) -> Tensor:
    """Return which tokens [T] are known in any row, or which another entity or an option refers to."""
    flags = inputs["known"].any(0)
    T = len(flags)
    flags = torch.cat((flags, flags.new_zeros(1)))
    for name, position in inputs.items():
        if name.startswith("refers."):
            flags[position.flatten()] = True
    return flags[:T]


def _place(lists: Lists, group: str) -> int | None:
    """Return the place of a list among the lists, or None for the options."""
    return list(lists.lengths).index(group) if group else None


def _up_to_last(flags: Tensor) -> int:
    """Return the number of entries up to the last True, at least 1."""
    true = flags.nonzero()
    return int(true[-1]) + 1 if len(true) else 1
