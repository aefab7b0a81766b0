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
    for each id, and, if they are `placed`, a learned vector for their position. An id's embedding is a learned vector
    plus a linear layer over its row in the game's table."""

    def __init__(self, spec: GameSpec, leaves: tuple[Leaf, ...], width: int, *, placed: bool = True) -> None:
        super().__init__()
        self.ids = {leaf.name: table for leaf in leaves if (table := _table(spec, leaf)) is not None}
        self.numbers = {leaf.name: leaf.is_real for leaf in leaves if leaf.name not in self.ids}
        numbers = sum(prod(leaf.shape[1:]) for leaf in leaves if leaf.name not in self.ids)
        self.numbers_in = nn.Linear(numbers, width) if numbers else None
        self.place = nn.Parameter(torch.randn(leaves[0].shape[0], width) * 0.1) if placed else None
        self.frozen: dict[str, Tensor] = {}  # by key; empty until `freeze`
        self.named = nn.ParameterDict()
        self.described = nn.ModuleDict()
        self.rows = {leaf: len(spec.tables[table]) for leaf, table in self.ids.items()}
        for table in dict.fromkeys(self.ids.values()):
            rows = torch.from_numpy(spec.tables[table].copy())
            self.register_buffer(f"table_{_key(table)}", rows)
            self.named[_key(table)] = nn.Parameter(torch.randn(len(rows), width) * 0.1)
            self.described[_key(table)] = nn.Linear(rows.shape[1], width, bias=False)

    def read(self, obs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the ids [B, N, ids] of each id leaf by name, and all other numbers [B, N, numbers] as `numbers`. An id
        that the table does not have becomes 0."""
        parts = {}
        for name, rows in self.rows.items():
            ids = obs[name].to(torch.int32)[:, :, None].flatten(2)
            parts[name] = torch.where((ids >= 0) & (ids < rows), ids, 0)
        if self.numbers:
            numbers = [scaled(obs[name], real)[:, :, None].flatten(2) for name, real in self.numbers.items()]
            parts["numbers"] = torch.cat(numbers, dim=2)
        return parts

    def forward(self, parts: Mapping[str, Tensor]) -> Tensor:
        """Return the tokens [B, N, D] of the tensors that `read` returned."""
        B, N = next(iter(parts.values())).shape[:2]
        vectors = [] if self.place is None else [self.place[:N].expand(B, -1, -1)]
        if self.numbers_in is not None:
            vectors.append(self.numbers_in(parts["numbers"]))
        tables = {key: self._vectors(key) for key in self.named}
        for leaf, table in self.ids.items():
            vectors.append(nn.functional.embedding(parts[leaf], tables[_key(table)]).sum(2))
        return sum(vectors[1:], vectors[0])

    def freeze(self) -> None:
        """Encode the tables once for all later forward passes without gradients. Call it again after every change of
        the weights. Overwrites the previous tensors, because captured CUDA graphs read them by address."""
        before, self.frozen = self.frozen, {}
        with torch.no_grad():
            for key in self.named:
                vectors = self._vectors(key)
                before[key] = before[key].copy_(vectors) if key in before else vectors
        self.frozen = before

    def _vectors(self, key: str) -> Tensor:
        """Return the embeddings [ids, D] of all ids of a table."""
        if self.frozen and not torch.is_grad_enabled():
            return self.frozen[key]
        vectors: Tensor = self.named[key] + self.described[key](self.get_buffer(f"table_{key}"))
        return vectors


def _key(table: str) -> str:
    """Return the name of a table as PyTorch accepts it for a parameter."""
    key = table.replace(".", "_")
    return f"{key}_" if hasattr(nn.ParameterDict, key) or hasattr(nn.ModuleDict, key) else key


def _table(spec: GameSpec, leaf: Leaf) -> str | None:
    """Return the name of the table that the ids of a leaf index into, or None if the leaf holds no ids. The layout of
    the spec names the table (`ids`), or the table has the name of the leaf, with or without a final s."""
    if leaf.is_real:
        return None
    ids = spec.layout.get("ids")
    entry = ids.get(leaf.name) if isinstance(ids, dict) else None
    tables = {name for name, rows in spec.tables.items() if rows.ndim == 2 and rows.size}
    return next((name for name in (entry, leaf.name, leaf.name.removesuffix("s")) if name in tables), None)
