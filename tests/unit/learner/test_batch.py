from __future__ import annotations

import numpy as np
import pytest
import torch

from ludus.config.settings import PolicyConfig
from ludus.learner.batch import FlatBatch, Intake
from ludus.policies.nets import build
from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec, ObsSpec
from ludus.types import SegmentBatch

SPEC = GameSpec("fake", 1, 3, ObsSpec.pack({"x": ("float32", (2,))}), 1)
B, T = 5, 4


def segments() -> SegmentBatch:
    """The observation and the log-probability of a decision are its segment and its time."""
    filled = SegmentLayout(SPEC, B, T).allocate()
    for b in range(B):
        for t in range(T):
            SPEC.obs.leaf(filled.obs, "x")[b, t] = (b, t)
            filled.logp[b, t] = 10 * b + t
    filled.action[:] = np.arange(B * T).reshape(B, T) % 3
    filled.legal[:] = True
    return filled


@pytest.fixture
def flat() -> FlatBatch:
    net = build(SPEC, PolicyConfig(width=4), "mlp")
    return Intake(net, SPEC, torch.device("cpu"), rows=7).take(segments())


def test_decisions_stand_segment_after_segment_and_keep_what_belongs_to_them(flat: FlatBatch) -> None:
    assert flat.decisions == B * T
    assert flat.inputs["leaves"].tolist() == [[b, t] for b in range(B) for t in range(T)]
    assert flat.logp.tolist() == [10 * b + t for b in range(B) for t in range(T)]


def test_minibatches_hold_every_decision_once(flat: FlatBatch) -> None:
    minibatches = list(flat.minibatches(torch.Generator().manual_seed(1), 6))
    assert [minibatch.decisions for minibatch in minibatches] == [6, 6, 6, 2]
    at = torch.cat([minibatch.at for minibatch in minibatches])
    assert at.tolist() != list(range(B * T))
    assert sorted(at.tolist()) == list(range(B * T))
    for minibatch in minibatches:
        b, t = minibatch.inputs["leaves"].long().unbind(1)
        assert (b * T + t).tolist() == minibatch.at.tolist()
        assert (10 * b + t).tolist() == minibatch.logp.tolist()


@pytest.mark.parametrize(("decisions", "sizes"), [(9, [8, 8, 4]), (1, [4] * 5), (100, [20])])
def test_whole_segments_stay_together_and_in_their_order(flat: FlatBatch, decisions: int, sizes: list[int]) -> None:
    minibatches = list(flat.minibatches(torch.Generator().manual_seed(1), decisions, whole_segments=True))
    assert [minibatch.decisions for minibatch in minibatches] == sizes
    rows = torch.cat([minibatch.inputs["leaves"] for minibatch in minibatches]).view(-1, T, 2)
    assert (rows[:, :, 1] == torch.arange(T)).all()
    assert (rows[:, :, 0] == rows[:, :1, 0]).all()
    assert sorted(rows[:, 0, 0].tolist()) == list(range(B))


@pytest.mark.parametrize(("count", "sizes"), [(2, [8, 4]), (3, [4, 4, 4]), (9, [4, 4, 4])])
def test_minibatch_of_whole_segments_is_split_between_them(flat: FlatBatch, count: int, sizes: list[int]) -> None:
    whole = flat.take_segments(torch.tensor([4, 0, 2]))
    micro_batches = whole.split(count)
    assert [piece.decisions for piece in micro_batches] == sizes
    for name in ("at", "legal", "action", "logp"):
        assert torch.equal(torch.cat([getattr(piece, name) for piece in micro_batches]), getattr(whole, name))
    assert torch.equal(torch.cat([piece.inputs["leaves"] for piece in micro_batches]), whole.inputs["leaves"])


def test_minibatch_of_decisions_is_split_anywhere(flat: FlatBatch) -> None:
    assert [piece.decisions for piece in flat.take(torch.arange(7)).split(4)] == [2, 2, 2, 1]


def test_batch_can_be_gone_through_in_order(flat: FlatBatch) -> None:
    minibatches = list(flat.in_order(9))
    assert torch.cat([minibatch.at for minibatch in minibatches]).tolist() == list(range(B * T))


def test_nothing_is_kept_of_the_memory_that_is_filled_anew() -> None:
    source = segments()
    flat = Intake(build(SPEC, PolicyConfig(width=4), "mlp"), SPEC, torch.device("cpu"), rows=7).take(source)
    source.obs[:], source.legal[:], source.action[:], source.logp[:] = 255, False, 0, 0
    assert flat.inputs["leaves"].tolist() == [[b, t] for b in range(B) for t in range(T)]
    assert flat.legal.all()
    assert flat.logp[5] == 11
    assert flat.action[4] == 1
