"""Encodes lists of entities as tokens, for the nets that read entities.

Axes: B rows, N entities of a list, D width.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import torch
from torch import Tensor, nn

from ludus.policies.nets.reals import scaled
from ludus.spec import GameSpec, Leaf


class Entities(nn.Module):
    """Encodes the N entities of a group as tokens [B, N, D]: the sum of a linear layer over their numbers, an embedding
    for each id, and a learned vector for their position. An id's embedding is a learned vector plus a linear layer over
    its row in the game's table."""

    def __init__(self, spec: GameSpec, leaves: tuple[Leaf, ...], width: int) -> None:
        super().__init__()
        self.ids = {leaf.name: table for leaf in leaves if (table := _table(spec, leaf)) is not None}
        self.numbers = {leaf.name: leaf.is_real for leaf in leaves if leaf.name not in self.ids}
        numbers = sum(prod(leaf.shape[1:]) for leaf in leaves if leaf.name not in self.ids)
        self.numbers_in = nn.Linear(numbers, width) if numbers else None
        self.place = nn.Parameter(torch.randn(leaves[0].shape[0], width) * 0.1)
        self.named = nn.ParameterDict()
        self.described = nn.ModuleDict()
        for table in dict.fromkeys(self.ids.values()):
            rows = torch.from_numpy(spec.tables[table].copy())
            self.register_buffer(f"table_{table}", rows)
            self.named[table] = nn.Parameter(torch.randn(len(rows), width) * 0.1)
            self.described[table] = nn.Linear(rows.shape[1], width, bias=False)

    def read(self, obs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the ids [B, N, ids] of each id leaf by name, and all other numbers [B, N, numbers] as `numbers`."""
        parts = {name: obs[name].to(torch.int32)[:, :, None].flatten(2) for name in self.ids}
        if self.numbers:
            numbers = [scaled(obs[name], real)[:, :, None].flatten(2) for name, real in self.numbers.items()]
            parts["numbers"] = torch.cat(numbers, dim=2)
        return parts

    def forward(self, parts: Mapping[str, Tensor]) -> Tensor:
        """Return the tokens [B, N, D] of the tensors that `read` returned."""
        vectors = self.place.expand(len(next(iter(parts.values()))), -1, -1)
        if self.numbers_in is not None:
            vectors = vectors + self.numbers_in(parts["numbers"])
        tables = {name: self._vectors(name) for name in self.named}
        for leaf, table in self.ids.items():
            vectors = vectors + nn.functional.embedding(parts[leaf], tables[table]).sum(2)
        return vectors

    def _vectors(self, table: str) -> Tensor:
        """Return the embeddings [ids, D] of all ids of a table."""
        vectors: Tensor = self.named[table] + self.described[table](self.get_buffer(f"table_{table}"))
        return vectors


def _table(spec: GameSpec, leaf: Leaf) -> str | None:
    """Return the name of the table that the ids of a leaf index into, or None if the leaf holds no ids. The table has
    the name of the leaf, with or without a final s."""
    if leaf.is_real:
        return None
    return next((name for name in (leaf.name, leaf.name.removesuffix("s")) if name in spec.tables), None)
