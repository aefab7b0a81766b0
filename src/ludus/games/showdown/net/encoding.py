"""The Pokemon encoder of the pointer net: a two-layer MLP over names and features, then pooling per side.

It is one autograd function with a gradient of its own, because autograd would write every [2B * 6, D] array about twice
as often. Axes: B rows, 6 Pokemon per side, S active Pokemon per side, D width. Along axes of length 2B or 2B * 6, the
own sides of all rows come before the foes' sides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn.functional import embedding_bag

from ludus.games.showdown.net.columns import SIDE, FeatureColumns
from ludus.games.showdown.net.pooling import pool, pool_gradient
from ludus.games.showdown.net.sums import sum_rows_gradient

ENCODED = ("own", "foe", "own_active", "foe_active")  # features of FeatureColumns


def encode(
    names: Tensor, inputs: Mapping[str, Tensor], columns: FeatureColumns, into: nn.Linear, out: nn.Linear
) -> tuple[Tensor, Tensor]:
    """Return the vectors of the own Pokemon [B, 6, D] and the pooled sides [2B, (S + 2) D]: for each side the vectors
    of its active Pokemon, then mean and maximum of its benched Pokemon.

    names: the embeddings [names, D], summed by inputs["names"] [B, 12, k]. inputs: also the features of `columns`.
    into, out: the first layer, which is applied to the features, and the second layer.
    """
    device = names.device.type
    dtype = precision_on(device)
    B = len(inputs["names"])
    ids = inputs["names"].view(B, 2, SIDE, -1).transpose(0, 1).reshape(2 * B * SIDE, -1)
    features = tuple(inputs[name].flatten(0, 1).to(dtype) for name in ENCODED)
    names, first, second, bias = (part.to(dtype) for part in (names, into.weight, out.weight, out.bias))
    with torch.autocast(device, enabled=False):
        if torch.is_grad_enabled():
            encoded_and_pooled = _Encode.apply(names, first, second, bias, ids, columns, *features)  # type: ignore[no-untyped-call]  # torch leaves it untyped
            return cast(tuple[Tensor, Tensor], encoded_and_pooled)
        _, encoded, pooled = _encoded(names, first, second, bias, ids, columns, features)
    return encoded[:B], pooled


def precision_on(device: str) -> torch.dtype:
    """Return the dtype in which Pokemon are encoded: on a CPU the dtype of autocast, because memory bandwidth limits
    the speed there; on a GPU always float32."""
    if device == "cpu" and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return torch.float32


def parted(weight: Tensor, columns: FeatureColumns) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return views of the first layer's weights [D, columns] for the features own, foe, own_active and foe_active. The
    views overlap, because the sides share weights: `foe` is `own` without its first `own_only` columns, and
    `own_active` is the beginning of `foe_active`."""
    common = columns.own.shape[1]
    live = common + columns.own_active.shape[1]
    return weight[:, :common], weight[:, columns.own_only : common], weight[:, common:live], weight[:, common:]


def _encoded(
    names: Tensor,
    into: Tensor,
    out: Tensor,
    bias: Tensor,
    ids: Tensor,
    columns: FeatureColumns,
    features: tuple[Tensor, ...],
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the hidden layer [2B * 6, D], the vectors of all Pokemon [2B, 6, D] and the pooled sides
    [2B, (S + 2) D]."""
    own, foe, own_active, foe_active = (
        (feature, weight.t()) for feature, weight in zip(features, parted(into, columns), strict=True)
    )
    hidden = embedding_bag(ids, names, mode="sum")
    for side, common, active in zip(hidden.chunk(2), (own, foe), (own_active, foe_active), strict=True):
        side.addmm_(*common)
        first = side.view(-1, SIDE, side.shape[1])[:, : columns.slots]
        first.add_(torch.mm(*active).view(first.shape))
    hidden.relu_()
    encoded = torch.addmm(bias, hidden, out.t()).relu_().view(-1, SIDE, len(out))
    return hidden, encoded, pool(encoded, columns.slots)


class _Encode(Function):
    """`_encoded` with a gradient. Returns the vectors of the own Pokemon and the pooled sides."""

    @staticmethod
    def forward(
        ctx: Any,  # torch's own
        names: Tensor,
        into: Tensor,
        out: Tensor,
        bias: Tensor,
        ids: Tensor,
        columns: FeatureColumns,
        *features: Tensor,
    ) -> tuple[Tensor, Tensor]:
        hidden, encoded, pooled = _encoded(names, into, out, bias, ids, columns, features)
        ctx.save_for_backward(into, out, ids, hidden, encoded, pooled, *features)
        ctx.columns, ctx.names = columns, len(names)
        return encoded[: len(encoded) // 2], pooled

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # Any: torch's own
        into, out, ids, hidden, encoded, pooled, *features = ctx.saved_tensors
        columns: FeatureColumns = ctx.columns
        of_encoded = pool_gradient(encoded, pooled, columns.slots, gradients[1])
        of_encoded[: len(encoded) // 2].add_(gradients[0])
        of_encoded = _through_relu(of_encoded.flatten(0, 1), encoded.flatten(0, 1))
        of_hidden = _through_relu(of_encoded @ out, hidden)
        of_into = torch.zeros_like(into)
        own, foe = (side.view(-1, SIDE, side.shape[1]) for side in of_hidden.chunk(2))
        active = slice(0, columns.slots)
        sides = (own, foe, own[:, active], foe[:, active])
        for weight, gradient, feature in zip(parted(of_into, columns), sides, features, strict=True):
            weight.addmm_(gradient.flatten(0, 1).t(), feature)
        of_names = sum_rows_gradient(ids, of_hidden, ctx.names)
        return of_names, of_into, of_encoded.t() @ hidden, of_encoded.sum(0), *[None] * (2 + len(features))


def _through_relu(gradient: Tensor, result: Tensor) -> Tensor:
    """Return the gradient before a ReLU with this result. Changes `gradient` in place."""
    through: Tensor = torch.ops.aten.threshold_backward.grad_input(gradient, result, 0, grad_input=gradient)
    return through
