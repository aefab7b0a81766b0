"""Memory inside a net, against cells written out gate by gate and run decision by decision, match by match."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.cells import matches, written_out
from torch import Tensor

from ludus.config.settings import RecurrentConfig
from ludus.policies.nets.recurrence import Core, build_core, state_size
from ludus.policies.nets.unrolling import Unrolling

CONTEXT, WIDTH = 5, 4


def core_of(kind: str, seed: int = 0) -> Core:
    torch.manual_seed(seed)
    core = build_core(RecurrentConfig(kind="lstm" if kind == "lstm" else "gru", width=WIDTH), CONTEXT)
    assert core is not None
    with torch.no_grad():
        for parameter in core.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return core


def reference(
    core: Core, context: Tensor, opens: NDArray[np.bool_], kept: Tensor, sequence_length: int, burn_in: int
) -> tuple[Tensor, NDArray[np.bool_]]:
    """What is recalled [B, T, C], and which decisions count."""
    said, counts = [], np.ones_like(opens)
    for b, segment in enumerate(opens.tolist()):
        for match in matches(segment):
            goes_on = not segment[match[0]]
            state = kept[b] if goes_on else torch.zeros(core.size)
            burned = min(burn_in, len(match)) if goes_on else 0
            for place, t in enumerate(match):
                if place < burned:
                    counts[b, t] = False
                if place <= burned or (place - burned) % sequence_length == 0:
                    state = state.detach()
                recalled, state = written_out(core, context[b, t], state)
                said.append(recalled.detach() if place < burned else recalled)
    return torch.stack(said).view_as(context), counts


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@settings(max_examples=25, deadline=None)
@given(
    segments=st.integers(1, 5),
    length=st.integers(1, 9),
    often=st.sampled_from([0.0, 0.2, 0.6]),
    sequence_length=st.integers(1, 10),
    burn_in=st.integers(0, 4),
    seed=st.integers(0, 1000),
)
def test_segments_and_their_gradients_are_those_of_matches_run_one_by_one(
    kind: str, segments: int, length: int, often: float, sequence_length: int, burn_in: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    opens = random.random((segments, length)) < often
    core = core_of(kind, seed)
    context = torch.randn(segments, length, CONTEXT, requires_grad=True)
    kept = torch.randn(segments, core.size)
    wanted = torch.randn(segments, length, CONTEXT)
    learned_by = [context, *core.parameters()]

    expected, counted = reference(core, context, opens, kept, sequence_length, burn_in)
    counting = torch.from_numpy(counted)
    expected_loss = ((expected - wanted).square().sum(2) * counting).sum()
    if not counted.any():
        return
    gradients = torch.autograd.grad(expected_loss, learned_by)

    unrolling = Unrolling(opens, kept, sequence_length, burn_in)
    found = unrolling.recall(core, context.flatten(0, 1)).view_as(context)
    assert unrolling.learned == counted.sum()
    assert (unrolling.counts is None) == counted.all()
    if unrolling.counts is not None:
        np.testing.assert_array_equal(unrolling.counts.numpy(), counted.reshape(-1))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    loss = ((found - wanted).square().sum(2) * counting).sum()
    torch.testing.assert_close(loss, expected_loss, rtol=1e-5, atol=1e-5)
    for ours, theirs in zip(torch.autograd.grad(loss, learned_by), gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_some_of_the_segments_are_recalled_as_among_all() -> None:
    core, random = core_of("lstm"), np.random.default_rng(0)
    opens = random.random((5, 6)) < 0.3
    context, kept = torch.randn(5, 6, CONTEXT), torch.randn(5, core.size)
    whole = Unrolling(opens, kept, 3, 2)
    every = whole.recall(core, context.flatten(0, 1)).view_as(context)
    some = whole.part(slice(1, 4)).recall(core, context[1:4].flatten(0, 1)).view(3, 6, CONTEXT)
    torch.testing.assert_close(some, every[1:4])


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_a_step_of_play_is_a_step_of_the_formulas(kind: str) -> None:
    core = core_of(kind)
    context, state = torch.randn(7, CONTEXT), torch.randn(7, core.size)
    said, after = core.step(context, state)
    for row in range(7):
        expected, expected_after = written_out(core, context[row], state[row])
        torch.testing.assert_close(said[row], expected, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(after[row], expected_after, rtol=1e-5, atol=1e-6)


def test_sizes_of_states() -> None:
    sizes = [state_size(RecurrentConfig(kind=kind, width=7)) for kind in ("none", "lstm", "gru")]
    assert sizes == [0, 14, 7]
    assert build_core(RecurrentConfig(), 5) is None
