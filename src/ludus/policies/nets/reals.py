"""Leaves that hold measures, as the floats they say."""

from __future__ import annotations

import torch
from torch import Tensor

from ludus.spec import FIXED_ONE


def reals(leaf: Tensor) -> Tensor:
    """Of a leaf whose dtype is float32, fixed16 or fixed8."""
    if leaf.dtype == torch.float32:
        return leaf
    return leaf.to(torch.float32) * (1 / (FIXED_ONE["fixed8"] if leaf.dtype == torch.int8 else FIXED_ONE["fixed16"]))


def scaled(leaf: Tensor, real: bool) -> Tensor:
    """As floats; whole numbers as sign(x) log(1 + |x|): flags stay near one, counts of thousands near ten."""
    if real:
        return reals(leaf)
    whole = leaf.to(torch.float32)
    return whole.abs().log1p() * whole.sign()
