"""Fused kernels for the blocks of `TransformerNet`: residual addition with layer normalisation, and attention.

They compute no gradients. Axes: B rows, T tokens, D width, H heads of d numbers each. Names that end in `_at` are
pointers to read from, in `_to` to write to.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

MOST_TOKENS = 128  # limit of T and d: a program of `_attend` holds all tokens of one row and head
MOST_WIDTH = 4096  # limit of D: a program of `_add_norm` holds whole tokens
ELEMENTS = 2048  # numbers per program of `_add_norm`, about


def fits(tokens: int, width: int, heads: int) -> bool:
    """Return whether the kernels support so many tokens, this width D and so many heads."""
    return tokens <= MOST_TOKENS and width <= MOST_WIDTH and width // heads <= MOST_TOKENS


def add_norm(tokens: Tensor, added: Tensor | None, norm: nn.LayerNorm, dtype: torch.dtype) -> Tensor:
    """Add `added` [B, T, D], unless it is None, to `tokens` [B, T, D] in place. Returns the layer-normalised sum
    [B, T, D] as `dtype`."""
    rows, width = tokens.numel() // tokens.shape[-1], tokens.shape[-1]
    normed = torch.empty_like(tokens, dtype=dtype)
    columns = triton.next_power_of_2(width)
    at_once = max(ELEMENTS // columns, 1)
    _add_norm[(triton.cdiv(rows, at_once),)](
        tokens,
        tokens if added is None else added,
        norm.weight,
        norm.bias,
        normed,
        rows,
        width,
        norm.eps,
        ROWS=at_once,
        COLUMNS=columns,
        ADDS=added is not None,
    )
    return normed


def attend(projections: Tensor, mask: Tensor, heads: int) -> Tensor:
    """Return multi-head attention [B, T, D] of queries, keys and values, which are side by side in `projections`
    [B, T, 3 D]. Tokens attend to those whose `mask` [B, T] is True."""
    B, T, width = projections.shape
    depth = width // 3 // heads
    attended = projections.new_empty(B, T, heads * depth)
    _attend[(B, heads)](
        projections,
        mask.view(torch.uint8),
        attended,
        T,
        depth,
        depth**-0.5,
        TOKENS=max(triton.next_power_of_2(T), 16),
        DEPTH=max(triton.next_power_of_2(depth), 16),
        num_warps=1 if T <= 32 else 4,
    )
    return attended


@triton.jit
def _add_norm(
    tokens_at,
    added_at,
    weight_at,
    bias_at,
    normed_to,
    rows,
    width,
    eps,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    ADDS: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    inside = (row < rows)[:, None] & (column < width)[None, :]
    at = row[:, None] * width + column[None, :]
    tokens = tl.load(tokens_at + at, inside, 0.0)
    if ADDS:
        tokens += tl.load(added_at + at, inside, 0.0).to(tl.float32)
        tl.store(tokens_at + at, tokens, inside)
    mean = tl.sum(tokens, axis=1) / width
    away = tl.where(inside, tokens - mean[:, None], 0.0)
    variance = tl.sum(away * away, axis=1) / width
    weight = tl.load(weight_at + column, column < width, 0.0)
    bias = tl.load(bias_at + column, column < width, 0.0)
    normed = away * tl.rsqrt(variance + eps)[:, None] * weight[None, :] + bias[None, :]
    tl.store(normed_to + at, normed.to(normed_to.dtype.element_ty), inside)


@triton.jit
def _attend(
    projections_at,
    mask_at,
    attended_to,
    tokens,
    depth,
    scale,
    TOKENS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    row, head, heads = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    token = tl.arange(0, TOKENS)
    place = tl.arange(0, DEPTH)
    inside = (token < tokens)[:, None] & (place < depth)[None, :]
    width = heads * depth
    numbers = (row * tokens + token)[:, None]
    within = head * depth + place[None, :]
    query = tl.load(projections_at + numbers * 3 * width + within, inside, 0.0)
    key = tl.load(projections_at + numbers * 3 * width + width + within, inside, 0.0)
    value = tl.load(projections_at + numbers * 3 * width + 2 * width + within, inside, 0.0)
    mask = tl.load(mask_at + row * tokens + token, token < tokens, 0) != 0
    score = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
    score = tl.where(mask[None, :], score, float("-inf"))
    weight = tl.exp(score - tl.max(score, axis=1)[:, None])
    attended = tl.dot(weight.to(value.dtype), value, input_precision="ieee") / tl.sum(weight, axis=1)[:, None]
    tl.store(attended_to + numbers * width + within, attended.to(attended_to.dtype.element_ty), inside)
