"""From what a net says to what is chosen, as one kernel: mask, softmax, draw, log-probability.

`Categorical` does the same in a dozen operations, by the same numbers. Axes: n rows, A actions, K inputs of a head.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from ludus.policies.distributions import MASKED, Categorical, Distribution
from ludus.policies.nets.heads import Heads

ROWS = 16  # of one program; the least that tensor cores take
MOST_ACTIONS = 512  # a program holds all actions of its rows
MOST_INPUTS, MOST_WEIGHTS = 256, 8192  # of a head, read at a time


class DrawInputs(NamedTuple):
    """What decides: [n, A] the legal actions, [1, n] uniform numbers; None: the best are chosen."""

    legal: Tensor
    uniform: Tensor | None


class DrawOutputs(NamedTuple):
    """Where to write: [n] each."""

    action: Tensor  # int32
    logp: Tensor  # float32
    value: Tensor  # float32


def decide(net_outputs: Heads | tuple[Distribution, Tensor], inputs: DrawInputs, outputs: DrawOutputs) -> bool:
    """By what a net says of these rows. False where there is no kernel for it."""
    if inputs.legal.shape[1] > MOST_ACTIONS:
        return False
    if isinstance(net_outputs, Heads):
        _by_heads(net_outputs, inputs, outputs)
        return True
    dist, value = net_outputs
    if not isinstance(dist, Categorical):
        return False
    _by_logits(dist.log_probs, value, inputs, outputs)
    return True


def _by_logits(logits: Tensor, value: Tensor, inputs: DrawInputs, outputs: DrawOutputs) -> None:
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
    """The last layers, too."""
    hidden, policy, value = heads
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
    columns: int = triton.next_power_of_2(actions)
    return max(columns, ROWS)


def _pointers(inputs: DrawInputs) -> tuple[Tensor, Tensor]:
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
    # what is needed last is asked for first: each wait for memory takes as long as all products
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
    rounded = hidden_at.dtype.element_ty  # as layers of their own would
    value = (value + value_bias).to(rounded).to(tl.float32)
    logits = (logits + policy_bias[None, :]).to(rounded).to(tl.float32)
    tl.store(value_to + row, value, in_rows)
    action, logp = _draw(logits, legal, in_columns, uniform, ROWS, ACTIONS, GREEDY, ILLEGAL)
    tl.store(action_to + row, action, in_rows)
    tl.store(logp_to + row, logp, in_rows)


@triton.jit
def _places(rows, actions, ROWS: tl.constexpr, ACTIONS: tl.constexpr):
    """The rows and actions of this program, which of them there are, and where they stand in [rows, actions]."""
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
    """What some of the inputs add to logits and values."""
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
    """The action of each row and its log-probability."""
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
        candidates = (reach > (uniform * below)[:, None]) & legal  # a sum may round up where it has nothing to add
    columns = tl.broadcast_to(tl.arange(0, ACTIONS)[None, :], (ROWS, ACTIONS))
    action = tl.min(tl.where(candidates, columns, ACTIONS - 1), axis=1)
    logit = tl.sum(tl.where(columns == action[:, None], logits, 0.0), axis=1)
    return action, logit - top - tl.log(total)
