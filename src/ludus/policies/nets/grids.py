"""Encodes leaves that are grids, such as a map, with convolutions.

Axes: B rows, D width, P patches.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from ludus.spec import Leaf

LARGEST_SIDE = 8  # of the patches of a grid
FIRST_CHANNELS = 16


class GridTokens(nn.Module):
    """Encodes a grid [B, height, width, channels] as tokens [B, P, D]: convolutions halve each side until it is at most
    `LARGEST_SIDE`, and each cell of the result is the token of one patch of the grid."""

    def __init__(self, leaf: Leaf, width: int) -> None:
        super().__init__()
        height, wide, channels = leaf.shape
        strides = []
        while height > LARGEST_SIDE or wide > LARGEST_SIDE:
            stride = 2 if height > LARGEST_SIDE else 1, 2 if wide > LARGEST_SIDE else 1
            height, wide = -(-height // stride[0]), -(-wide // stride[1])
            strides.append(stride)
        sizes = [channels, *(min(FIRST_CHANNELS << step, width) for step in range(len(strides))), width]
        self.layers = nn.ModuleList(
            nn.Conv2d(before, after, 3, stride, padding=1)
            for (before, after), stride in zip(pairwise(sizes), [*strides, (1, 1)], strict=True)
        )
        for layer in self.layers:
            assert isinstance(layer, nn.Conv2d)
            nn.init.orthogonal_(layer.weight, 2**0.5)
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)
        self.patches = height * wide
        self.place = nn.Parameter(torch.randn(self.patches, width) * 0.1)

    def forward(self, grid: Tensor) -> Tensor:
        """Return the tokens [B, P, D] of a grid [B, channels, height, width]."""
        for at, layer in enumerate(self.layers):
            grid = layer(grid) if at == 0 else layer(relu(grid))
        return grid.flatten(2).transpose(1, 2) + self.place
