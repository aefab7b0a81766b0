"""Conversion of observation leaves to float32, used by the nets' `prepare`."""

from __future__ import annotations

import torch
from torch import Tensor

from ludus.spec import FIXED_ONE


def reals(leaf: Tensor) -> Tensor:
    """Return a leaf of dtype float32, fixed16 or fixed8 as float32 numbers."""
    if leaf.dtype == torch.float32:
        return leaf
    return leaf.to(torch.float32) * (1 / (FIXED_ONE["fixed8"] if leaf.dtype == torch.int8 else FIXED_ONE["fixed16"]))


def scaled(leaf: Tensor, real: bool) -> Tensor:
    """Return a leaf as float32. If it is not `real`, its integers x become sign(x) log(1 + |x|): flags stay below 1,
    counts in the thousands below 10."""
    if real:
        return reals(leaf)
    whole = leaf.to(torch.float32)
    return whole.abs().log1p() * whole.sign()
