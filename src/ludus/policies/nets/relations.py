"""Relations between entities: leaves that hold positions of other entities, such as what a card attacks.

Axes: B rows, T tokens, n entities of a list, k positions of each, D width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from ludus.policies.nets.lists import Lists


class Relations(nn.Module):
    """Passes messages along relations: an entity receives a linear function of the tokens that it refers to, and each
    of those receives one of its token."""

    def __init__(self, lists: Lists, width: int) -> None:
        super().__init__()
        starts, at = {}, 1  # of each list among the tokens; the state token is first
        for group, length in lists.lengths.items():
            starts[group] = at
            at += length
        self.targets = {name: (starts[group], lists.lengths[group]) for name, group in lists.refers.items()}
        holders = {name: group for name, group in lists.holders.items() if group}
        self.sources = {name: list(lists.lengths).index(group) for name, group in holders.items()}
        self.there = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in self.sources)
        self.back = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in self.sources)

    def read(self, obs: Mapping[str, Tensor], none: int) -> dict[str, Tensor]:
        """Return the positions [B, n, k] among the tokens for each leaf that refers to entities, as `refers.<leaf>`.
        `none` stands for no entity, or one that does not exist."""
        inputs = {}
        for name, (start, length) in self.targets.items():
            position = obs[name].to(torch.int64)[:, :, None].flatten(2)  # 0 stands for none
            exists = (position > 0) & (position <= length)
            inputs[f"refers.{name}"] = torch.where(exists, position - 1 + start, none)
        return inputs

    def forward(self, inputs: Mapping[str, Tensor], tokens: Tensor, starts: Sequence[int]) -> Tensor:
        """Return the sums [B, T, D] of the messages that the tokens [B, T, D] receive. `starts` has the position of the
        first token of each list."""
        received = torch.zeros_like(_padded(tokens))
        for (name, at_list), there, back in zip(self.sources.items(), self.there, self.back, strict=True):
            position = inputs[f"refers.{name}"]
            own = slice(starts[at_list], starts[at_list] + position.shape[1])
            replies = back(tokens[:, own]).float().repeat_interleave(position.shape[2], dim=1)
            at = position.flatten(1)[:, :, None].expand_as(replies)
            received = received.scatter_add(1, at, replies)
            received[:, own] += gathered(there(tokens).float(), position)
        return received[:, :-1]


def gathered(tokens: Tensor, position: Tensor) -> Tensor:
    """Return the sums [B, n, D] of the tokens [B, T, D] at the positions [B, n, k], where T stands for none."""
    B, n, k = position.shape
    at = position.flatten(1)[:, :, None].expand(B, n * k, tokens.shape[2])
    return _padded(tokens).gather(1, at).view(B, n, k, -1).sum(2)


def _padded(tokens: Tensor) -> Tensor:
    """Return tokens [B, T + 1, D] with a zero token at the end."""
    return nn.functional.pad(tokens, (0, 0, 0, 1))
