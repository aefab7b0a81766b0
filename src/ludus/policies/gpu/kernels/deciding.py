"""Fused kernels that choose actions: both heads, mask, softmax, sampling and log-probability in one kernel.

Given the same random numbers, they choose the same actions as `Categorical`, which takes a dozen operations. `Program`
in `gpu/graphs.py` uses them. Axes: n rows, A actions, K inputs of the heads.

Each kernel program computes ROWS rows. Names that end in `_at` are pointers to read from, in `_to` to write to.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from ludus.policies.distributions import MASKED, Categorical, Distribution
from ludus.policies.nets.heads import Heads

ROWS = 16  # rows per kernel program; the minimum for tensor cores
MOST_ACTIONS = 512  # limit of A, because a kernel program holds all actions of its rows
MOST_INPUTS, MOST_WEIGHTS = 256, 8192  # limits of the inputs and weights of the policy head that are read at a time


class DrawInputs(NamedTuple):
    """The mask of legal actions and the random numbers."""

    legal: Tensor  # [n, A] bool
    uniform: Tensor | None  # [1, n] uniform random numbers; None: take the most probable actions


class DrawOutputs(NamedTuple):
    """The tensors that a kernel writes to, [n] each."""

    action: Tensor  # int32
    logp: Tensor  # float32
    value: Tensor  # float32


def decide(net_outputs: Heads | tuple[Distribution, Tensor], inputs: DrawInputs, outputs: DrawOutputs) -> bool:
    """Choose an action for each of n rows and write it to `outputs`, with its log-probability and value.

    net_outputs: the uncomputed heads of a net, or its distribution and values [n]. Returns False, without writing, if
    there is no kernel for the distribution or for so many actions.
    """
    if inputs.legal.shape[1] > MOST_ACTIONS:
        return False
    if isinstance(net_outputs, Heads) and net_outputs.bins is None:
        _by_heads(net_outputs, inputs, outputs)
        return True
    dist, value = net_outputs.outputs(inputs.legal) if isinstance(net_outputs, Heads) else net_outputs
    if not isinstance(dist, Categorical):
        return False
    _by_logits(dist.log_probs, value, inputs, outputs)
    return True


def _by_logits(logits: Tensor, value: Tensor, inputs: DrawInputs, outputs: DrawOutputs) -> None:
    """Run the kernel that samples from logits [n, A] and copies the values [n]."""
    rows, actions = logits.shape
    logits, value = logits.contiguous(), value.contiguous()
    _logits_kernel[(triton.cdiv(rows, ROWS),)](
        logits,
        value,
        *_pointers(inputs),
        *outputs,
        rows,
        actions,
        ROWS=ROWS,
        ACTIONS=_columns(actions),
        GREEDY=inputs.uniform is None,
        ILLEGAL=MASKED,
    )


def _by_heads(heads: Heads, draw_inputs: DrawInputs, draw_outputs: DrawOutputs) -> None:
    """Run the kernel that computes both heads and samples."""
    hidden, policy, value = heads.hidden, heads.policy, heads.value
    hidden = hidden.to(policy.weight.dtype).contiguous()
    rows, inputs = hidden.shape
    actions = policy.out_features
    at_once = max(min(MOST_WEIGHTS // _columns(actions), MOST_INPUTS, triton.next_power_of_2(inputs)), ROWS)
    _heads_kernel[(triton.cdiv(rows, ROWS),)](
        hidden,
        policy.weight,
        policy.bias,
        value.weight,
        value.bias,
        *_pointers(draw_inputs),
        *draw_outputs,
        rows,
        actions,
        inputs,
        value.in_features,
        ROWS=ROWS,
        ACTIONS=_columns(actions),
        INPUTS=at_once,
        STEPS=triton.cdiv(inputs, at_once),
        GREEDY=draw_inputs.uniform is None,
        ILLEGAL=MASKED,
    )


def _columns(actions: int) -> int:
    """Return the number of actions padded to a power of two, at least ROWS."""
    columns: int = triton.next_power_of_2(actions)
    return max(columns, ROWS)


def _pointers(inputs: DrawInputs) -> tuple[Tensor, Tensor]:
    """Return the mask and the random numbers as kernel arguments. Greedy kernels read no random numbers; they get the
    mask as a placeholder."""
    legal = inputs.legal.view(torch.uint8)
    return legal, legal if inputs.uniform is None else inputs.uniform


@triton.jit
def _logits_kernel(
    logits_at,
    value_at,
    legal_at,
    uniform_at,
    action_to,
    logp_to,
    value_to,
    rows,
    actions,
    ROWS: tl.constexpr,
    ACTIONS: tl.constexpr,
    GREEDY: tl.constexpr,
    ILLEGAL: tl.constexpr,
):
    row, _column, in_rows, in_columns, at, inside = _places(rows, actions, ROWS, ACTIONS)
    logits = tl.load(logits_at + at, inside, 0.0).to(tl.float32)
    legal = tl.load(legal_at + at, inside, 0) != 0
    uniform = tl.load(uniform_at + row, in_rows, 0.0)
    tl.store(value_to + row, tl.load(value_at + row, in_rows, 0.0).to(tl.float32), in_rows)
    action, logp = _draw(logits, legal, in_columns, uniform, ROWS, ACTIONS, GREEDY, ILLEGAL)
    tl.store(action_to + row, action, in_rows)
    tl.store(logp_to + row, logp, in_rows)


@triton.jit
def _heads_kernel(
    hidden_at,
    policy_at,
    policy_bias_at,
    value_at,
    value_bias_at,
    legal_at,
    uniform_at,
    action_to,
    logp_to,
    value_to,
    rows,
    actions,
    inputs,
    value_inputs,
    ROWS: tl.constexpr,
    ACTIONS: tl.constexpr,
    INPUTS: tl.constexpr,
    STEPS: tl.constexpr,
    GREEDY: tl.constexpr,
    ILLEGAL: tl.constexpr,
):
    row, column, in_rows, in_columns, at, inside = _places(rows, actions, ROWS, ACTIONS)
    # load what is needed last before the products: a load takes about as long as all of them
    legal = tl.load(legal_at + at, inside, 0) != 0
    uniform = tl.load(uniform_at + row, in_rows, 0.0)
    policy_bias = tl.load(policy_bias_at + column, in_columns, 0.0).to(tl.float32)
    value_bias = tl.load(value_bias_at).to(tl.float32)
    logits = tl.zeros((ROWS, ACTIONS), tl.float32)
    value = tl.zeros((ROWS,), tl.float32)
    if STEPS <= 8:
        for step in tl.static_range(STEPS):
            added_logits, added_value = _part(
                hidden_at, policy_at, value_at, row, column, rows, actions, inputs, value_inputs, step * INPUTS, INPUTS
            )
            logits, value = logits + added_logits, value + added_value
    else:
        for step in range(STEPS):
            added_logits, added_value = _part(
                hidden_at, policy_at, value_at, row, column, rows, actions, inputs, value_inputs, step * INPUTS, INPUTS
            )
            logits, value = logits + added_logits, value + added_value
    rounded = hidden_at.dtype.element_ty  # round as separate linear layers would
    value = (value + value_bias).to(rounded).to(tl.float32)
    logits = (logits + policy_bias[None, :]).to(rounded).to(tl.float32)
    tl.store(value_to + row, value, in_rows)
    action, logp = _draw(logits, legal, in_columns, uniform, ROWS, ACTIONS, GREEDY, ILLEGAL)
    tl.store(action_to + row, action, in_rows)
    tl.store(logp_to + row, logp, in_rows)


@triton.jit
def _places(rows, actions, ROWS: tl.constexpr, ACTIONS: tl.constexpr):
    """Return the row numbers [ROWS] and action numbers [ACTIONS] of this kernel program, masks of those that exist, and
    the offsets and mask [ROWS, ACTIONS] of the same elements in an array [rows, actions]."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, ACTIONS)
    in_rows, in_columns = row < rows, column < actions
    at, inside = row[:, None] * actions + column[None, :], in_rows[:, None] & in_columns[None, :]
    return row, column, in_rows, in_columns, at, inside


@triton.jit
def _part(
    hidden_at,
    policy_at,
    value_at,
    row,
    column,
    rows,
    actions,
    inputs,
    value_inputs,
    begin,
    INPUTS: tl.constexpr,
):
    """Return what INPUTS inputs, from `begin` on, contribute to the logits [ROWS, ACTIONS] and values [ROWS]."""
    at = begin + tl.arange(0, INPUTS)
    in_rows, in_columns, in_inputs = row < rows, column < actions, at < inputs
    hidden = tl.load(hidden_at + row[:, None] * inputs + at[None, :], in_rows[:, None] & in_inputs[None, :], 0.0)
    weight = tl.load(policy_at + column[None, :] * inputs + at[:, None], in_columns[None, :] & in_inputs[:, None], 0.0)
    worth = tl.load(value_at + at, at < value_inputs, 0.0).to(tl.float32)
    return tl.dot(hidden, weight, input_precision="ieee"), tl.sum(hidden.to(tl.float32) * worth[None, :], axis=1)


@triton.jit
def _draw(
    logits,
    legal,
    in_columns,
    uniform,
    ROWS: tl.constexpr,
    ACTIONS: tl.constexpr,
    GREEDY: tl.constexpr,
    ILLEGAL: tl.constexpr,
):
    """Return the action of each row [ROWS] and its log-probability [ROWS]."""
    logits = tl.where(legal, logits, ILLEGAL)
    logits = tl.where(in_columns[None, :], logits, float("-inf"))
    top = tl.max(logits, axis=1)
    weight = tl.exp(logits - top[:, None])
    total = tl.sum(weight, axis=1)
    if GREEDY:
        candidates = logits == top[:, None]
    else:
        reach = tl.cumsum(weight / total[:, None], axis=1)
        below = tl.max(reach, axis=1) * (1 - 1e-6)  # as in `Categorical.draw`
        candidates = (reach > (uniform * below)[:, None]) & legal  # rounding may raise the sum at an illegal action
    columns = tl.broadcast_to(tl.arange(0, ACTIONS)[None, :], (ROWS, ACTIONS))
    action = tl.min(tl.where(candidates, columns, ACTIONS - 1), axis=1)
    logit = tl.sum(tl.where(columns == action[:, None], logits, 0.0), axis=1)
    return action, logit - top - tl.log(total)
