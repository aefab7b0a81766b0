"""Batches that are drawn from a dataset."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ludus.config.settings import DataConfig
from ludus.data import rows, sampler
from ludus.data.dataset import Dataset
from ludus.data.sampler import SamplerState, SegmentSampler
from ludus.data.selecting import Selection
from ludus.data.source import DatasetSource, refuse_stale_rows
from ludus.errors import CheckpointError, ConfigError, DatasetError
from ludus.policies.checkpoints import checkpoint
from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec
from ludus.types import SegmentBatch

SEGMENTS = 8


def spec_of(folder: Path) -> GameSpec:
    note = Dataset.open(folder).manifest.rows_spec
    assert note is not None
    return checkpoint.rebuild_game(note, {})


def drawn(
    folder: Path, batches: int, *, length: int = 1, state: SamplerState | None = None, **selection: object
) -> tuple[list[SegmentBatch], SegmentSampler]:
    dataset, spec = Dataset.open(folder), spec_of(folder)
    config = DataConfig(str(folder), **{"holdout": 0.0, **selection})  # type: ignore[arg-type]  # of several types
    chosen = Selection.of(config, dataset.manifest.policies)
    source = SegmentSampler(dataset, spec, chosen, segments=SEGMENTS, length=length, gamma=0.9, seed=7, state=state)
    taken = []
    for _ in range(batches):
        batch = SegmentLayout(spec, SEGMENTS, length).allocate()
        source.next(batch)
        taken.append(batch)
    return taken, source


def keys(batches: list[SegmentBatch]) -> list[bytes]:
    """What each drawn decision observed and did; the same decision may occur in several matches."""
    return [
        batch.obs[b, t].tobytes() + batch.action[b, t].tobytes() + batch.reward[b, t].tobytes()
        for batch in batches
        for b in range(SEGMENTS)
        for t in range(batch.action.shape[1])
    ]


def recorded(folder: Path) -> list[bytes]:
    dataset, spec = Dataset.open(folder), spec_of(folder)
    each = [
        rows.read(dataset.rows_path(one), row_bytes=spec.obs.nbytes, actions=spec.actions) for one in dataset.shards
    ]
    return [
        one.obs[at].tobytes() + one.action[at].tobytes() + one.reward[at].tobytes()
        for one in each
        for at in range(one.decisions)
    ]


@pytest.mark.parametrize("open_shards", [1, 16])
def test_an_epoch_holds_every_decision_once(rendered: Path, open_shards: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "OPEN_SHARDS", open_shards)
    expected = recorded(rendered)
    batches, source = drawn(rendered, len(expected) // SEGMENTS)
    left = sorted(expected)
    for key in keys(batches):
        left.remove(key)
    assert len(left) == len(expected) % SEGMENTS
    assert source.state == SamplerState(0, len(batches))
    source.next(batches[0])
    assert source.state == SamplerState(1, 1)


def test_two_epochs_have_different_orders_and_the_same_seed_the_same(rendered: Path) -> None:
    epoch = len(recorded(rendered)) // SEGMENTS
    batches, _ = drawn(rendered, 2 * epoch)
    again, _ = drawn(rendered, 2 * epoch)
    assert keys(batches) == keys(again)
    assert keys(batches[:epoch]) != keys(batches[epoch:])


@pytest.mark.parametrize("position", [0, 1, 5, 37])
def test_a_sampler_continues_where_another_stopped(rendered: Path, position: int) -> None:
    _, first = drawn(rendered, position)
    expected, _ = drawn(rendered, position + 4)
    resumed, _ = drawn(rendered, 4, state=first.state)
    assert keys(resumed) == keys(expected[position:])


def test_segments_are_consecutive_decisions_and_end_with_the_return_that_follows(rendered: Path) -> None:
    batches, _ = drawn(rendered, 6, length=3)
    dataset, spec = Dataset.open(rendered), spec_of(rendered)
    runs: set[bytes] = set()
    for shard in dataset.shards:
        each = rows.read(dataset.rows_path(shard), row_bytes=spec.obs.nbytes, actions=spec.actions)
        returns = rows.returns(each, 0.9)
        for at in range(each.decisions - 2):
            after = 0.0 if each.ends[at + 2] else returns[at + 3]
            runs.add(each.obs[at : at + 3].tobytes() + np.float32(after).tobytes() + each.ends[at : at + 3].tobytes())
    for batch in batches:
        for b in range(SEGMENTS):
            assert batch.obs[b].tobytes() + batch.next_value[b].tobytes() + batch.ends[b].tobytes() in runs


def test_masks_allow_the_recorded_actions(rendered: Path) -> None:
    (batch,), _ = drawn(rendered, 1, length=3)
    assert np.take_along_axis(batch.legal, batch.action[..., None], axis=2).all()
    assert not batch.legal.all()


def test_filters_select_winners_policies_and_the_newest_matches(rendered: Path) -> None:
    dataset = Dataset.open(rendered)
    per_seat = []
    for _, content in dataset.ledgers():
        per_seat.append((content.matches.policy, content.matches.score, content.matches.count))
    policy, score, count = (np.concatenate(parts) for parts in zip(*per_seat, strict=True))
    for selection, expected in (
        ({"won": True}, count[score > 0.5].sum()),
        ({"policies": ("scripted:random",)}, count[policy == 1].sum()),
        ({"newest": 10}, count[-10:].sum()),
        ({"newest": 45}, count[-45:].sum()),
        ({"won": True, "policies": ("scripted:perfect",)}, count[(score > 0.5) & (policy == 0)].sum()),
    ):
        _, source = drawn(rendered, 0, **selection)
        assert source.available == expected, selection


def test_held_out_matches_are_never_drawn_and_complete_the_others(rendered: Path) -> None:
    dataset = Dataset.open(rendered)
    trained, held_out = Selection(holdout=0.3), Selection(holdout=0.3, held_out=True)
    for _, content in dataset.ledgers():
        one, other = trained.seats(content.matches), held_out.seats(content.matches)
        assert (one ^ other).all()
        for seed in np.unique(content.matches.seed):  # both sides of a seed are on one side
            assert len(np.unique(other[content.matches.seed == seed])) == 1
    shares = [held_out.seats(content.matches).mean() for _, content in dataset.ledgers()]
    assert 0.05 < np.mean(shares) < 0.6


def test_an_unknown_policy_and_too_few_decisions_are_refused(rendered: Path) -> None:
    with pytest.raises(ConfigError, match=r"no policy 'scripted:randm'.*did you mean scripted:random"):
        drawn(rendered, 0, policies=("scripted:randm",))
    with pytest.raises(DatasetError, match="fewer than one batch"):
        drawn(rendered, 0, newest=1, policies=("scripted:random",), won=True)


def test_a_damaged_shard_is_left_out_with_a_warning(copied: Path, caplog: pytest.LogCaptureFixture) -> None:
    dataset = Dataset.open(copied)
    path = dataset.rows_path(dataset.shards[0])
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with caplog.at_level(logging.WARNING):
        _, source = drawn(copied, 3)
    assert source.available == dataset.shards[1].decisions
    assert "rows/000000.safetensors is damaged" in caplog.text


def test_rows_of_another_schema_are_refused_with_what_to_do(copied: Path) -> None:
    dataset, spec = Dataset.open(copied), spec_of(copied)
    newer = GameSpec(spec.name, spec.seats, spec.actions, spec.obs, spec.schema + 1, spec.layout)
    with pytest.raises(DatasetError, match=r"has rows of schema 1, .* has schema 2 now; render them with `ludus data"):
        refuse_stale_rows(dataset, newer)
    dataset.update(replayable=False)
    with pytest.raises(DatasetError, match="cannot be played again; use the version of ludus"):
        refuse_stale_rows(dataset, newer)


def test_a_position_in_another_dataset_is_refused(copied: Path, tmp_path: Path) -> None:
    spec, config = spec_of(copied), DataConfig(str(copied))
    layout = SegmentLayout(spec, SEGMENTS, 1)
    source = DatasetSource(config, spec, layout, gamma=1.0, seed=1)
    assert source.next(lambda: False) is not None
    source.save(tmp_path / "position")
    resumed = DatasetSource(config, spec, layout, gamma=1.0, seed=1, saved=tmp_path / "position")
    expected, actual = source.next(lambda: False), resumed.next(lambda: False)
    assert expected is not None
    assert actual is not None
    np.testing.assert_array_equal(expected.obs, actual.obs)
    other = msgspec.structs.replace(config, won=True)
    with pytest.raises(CheckpointError, match="position in another dataset"):
        DatasetSource(other, spec, layout, gamma=1.0, seed=1, saved=tmp_path / "position")
