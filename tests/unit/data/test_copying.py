"""Merging, filtering and exporting datasets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests import datasets

from ludus.api import datasets as api
from ludus.data import exporting, rows
from ludus.data.dataset import Dataset
from ludus.errors import ConfigError, DatasetError, SetupError


def trajectories(folder: Path) -> list[tuple[object, ...]]:
    """Everything about the matches of a dataset but their order."""
    dataset = Dataset.open(folder)
    return sorted(
        (
            each.seed,
            each.seat,
            each.policy,
            each.score,
            each.action.tobytes(),
            each.obs.tobytes(),
            each.reward.tobytes(),
        )
        for each in exporting.trajectories(dataset, exporting.with_rows(dataset))
    )


def test_merging_parts_gives_the_whole_and_repeats_nothing(rendered: Path, tmp_path: Path) -> None:
    api.copy([rendered], tmp_path / "part", newest=25)
    result = api.copy([tmp_path / "part", rendered], tmp_path / "whole")
    assert result.repeated == 25
    assert result.dataset.manifest.matches == 60
    assert trajectories(tmp_path / "whole") == trajectories(rendered)
    assert api.check(tmp_path / "whole").damage == []


def test_policies_keep_their_names_when_datasets_list_them_in_another_order(rendered: Path, tmp_path: Path) -> None:
    datasets.played(tmp_path / "other", 20, a="random", b="perfect")
    result = api.copy([rendered, tmp_path / "other"], tmp_path / "both")
    assert [policy.name for policy in result.dataset.manifest.policies] == ["scripted:perfect", "scripted:random"]
    wins = {True: 0, False: 0}
    for _, content in result.dataset.ledgers():
        is_perfect = content.matches.policy == 0
        wins[True] += int((content.matches.score[is_perfect] > 0.5).sum())
        wins[False] += int((content.matches.score[~is_perfect] > 0.5).sum())
    assert wins[True] > 4 * wins[False]


def test_filtering_takes_matches_with_their_rows(rendered: Path, tmp_path: Path) -> None:
    result = api.copy([rendered], tmp_path / "newest", newest=30)
    assert result.dataset.manifest.matches == 30
    assert set(trajectories(tmp_path / "newest")) < set(trajectories(rendered))
    assert len(trajectories(tmp_path / "newest")) == 60
    with pytest.raises(ConfigError, match="no policy 'scripted:perfekt'"):
        api.copy([rendered], tmp_path / "none", policies=["scripted:perfekt"])


def test_a_copy_leaves_damaged_shards_out_and_names_them(copied: Path, tmp_path: Path) -> None:
    path = Dataset.open(copied).ledger_path(Dataset.open(copied).shards[0])
    path.write_bytes(path.read_bytes()[:-1])
    result = api.copy([copied], tmp_path / "usable")
    assert result.dataset.manifest.matches == 20
    (line,) = result.damage
    assert "ledger/000000.ledger is damaged" in line


def test_datasets_of_different_options_are_not_merged(rendered: Path, copied: Path, tmp_path: Path) -> None:
    dataset = Dataset.open(copied)
    dataset.update(options={**dataset.manifest.options, "pile": 30})
    with pytest.raises(DatasetError, match="cannot be merged: their options differ"):
        api.copy([rendered, copied], tmp_path / "both")
    assert not (tmp_path / "both" / "manifest.json").exists()


def test_parquet_holds_every_decision_with_its_leaves(rendered: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    decisions = api.export(rendered, "parquet", tmp_path)
    table = parquet.read_table(tmp_path / "part-000000.parquet")
    dataset = Dataset.open(rendered)
    spec = exporting.with_rows(dataset)
    each = list(exporting.trajectories(dataset, spec))
    assert table.num_rows == decisions == dataset.manifest.decisions
    np.testing.assert_array_equal(table["action"].to_numpy(), np.concatenate([one.action for one in each]))
    np.testing.assert_array_equal(np.array(table["legal"].to_pylist()), np.concatenate([one.legal for one in each]))
    leaf = spec.obs.leaves[0].name
    expected = np.concatenate([exporting.leaves(one.obs, spec)[leaf].reshape(len(one.obs), -1) for one in each])
    np.testing.assert_allclose(np.array(table[f"obs.{leaf}"].to_pylist()), expected)


def test_minari_reads_the_exported_episodes(rendered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minari = pytest.importorskip("minari")
    pytest.importorskip("h5py")
    assert api.export(rendered, "minari", tmp_path / "nim") == Dataset.open(rendered).manifest.decisions
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    loaded = minari.load_dataset("ludus/nim-v0")
    dataset = Dataset.open(rendered)
    each = [one for one in exporting.trajectories(dataset, exporting.with_rows(dataset)) if len(one.action)]
    assert loaded.total_episodes == len(each)
    for episode, one in zip(loaded.iterate_episodes(), each, strict=True):
        np.testing.assert_array_equal(episode.actions, one.action)
        np.testing.assert_allclose(episode.rewards, one.reward)
        np.testing.assert_array_equal(episode.observations["legal"][:-1], one.legal)
        assert bool(episode.terminations[-1])


@pytest.mark.parametrize(
    ("arrange", "to", "error", "message"),
    [
        (lambda folder: None, "parket", ConfigError, "did you mean parquet"),
        (lambda folder: Dataset.open(folder).update(rows_spec=None), "parquet", DatasetError, "has no rows; make them"),
    ],
)
def test_exports_that_cannot_work_say_why(
    copied: Path, tmp_path: Path, arrange: Callable[[Path], None], to: str, error: type[Exception], message: str
) -> None:
    arrange(copied)
    with pytest.raises(error, match=message):
        api.export(copied, to, tmp_path / "out")


def test_a_missing_package_is_named_with_its_extra() -> None:
    with pytest.raises(SetupError, match=r"pip install 'ludus-rl\[parquet\]'"):
        exporting.needed("no_such_package", "parquet")


def test_rows_of_another_game_are_refused(copied: Path) -> None:
    dataset = Dataset.open(copied)
    with pytest.raises(DatasetError, match="does not fit the game"):
        rows.read(dataset.rows_path(dataset.shards[0]), row_bytes=8, actions=99)
