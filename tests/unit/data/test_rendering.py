"""Rows that are rendered from the ledger."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from tests import datasets
from tests.datasets import flip_byte

from ludus.api.datasets import agreement, check, export, render
from ludus.data import match_ledger, rows
from ludus.data.dataset import Dataset
from ludus.data.recorder import LedgerRecorder
from ludus.data.rows import Rows
from ludus.errors import DatasetError
from ludus.policies.checkpoints import checkpoint
from ludus.types import Arrivals

Seen = dict[tuple[int, int], list[tuple[bytes, bytes]]]


def rows_of(folder: Path) -> list[tuple[match_ledger.LedgerShard, Rows]]:
    dataset = Dataset.open(folder)
    assert dataset.manifest.rows_spec is not None
    spec = checkpoint.rebuild_game(dataset.manifest.rows_spec, {})
    return [
        (content, rows.read(dataset.rows_path(shard), row_bytes=spec.obs.nbytes, actions=spec.actions))
        for shard, content in dataset.ledgers()
    ]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """What every match and seat observed while the dataset was generated."""
    observed: Seen = defaultdict(list)
    choose = LedgerRecorder.choose

    def spy(self: LedgerRecorder, arrivals: Arrivals, action: NDArray[np.int32]) -> None:
        for index, (match, row) in enumerate(zip(arrivals.match.tolist(), arrivals.row.tolist(), strict=True)):
            bits = np.packbits(arrivals.legal[index], bitorder="little")
            observed[match, row % 2].append((arrivals.obs[index].tobytes(), bits.tobytes()))
        choose(self, arrivals, action)

    monkeypatch.setattr(LedgerRecorder, "choose", spy)
    return observed


def test_rendered_rows_are_what_the_players_saw(tmp_path: Path, seen: Seen) -> None:
    datasets.played(tmp_path, 60)
    assert render(tmp_path, workers=1)
    for content, each in rows_of(tmp_path):
        at = 0
        for match in each.match.tolist():
            for seat in range(2):
                observed = seen[int(content.matches.number[match]), seat]
                first = int(content.first[match, seat])
                for step, (obs, legal) in enumerate(observed):
                    assert each.obs[at].tobytes() == obs
                    assert each.legal[at].tobytes() == legal
                    assert each.action[at] == content.action[first + step]
                    assert each.opens[at] == (step == 0)
                    assert each.ends[at] == (step == len(observed) - 1)
                    at += 1
        assert at == each.decisions == content.decisions
        reward = np.add.reduceat(each.reward, np.flatnonzero(each.opens))
        np.testing.assert_allclose(reward, content.matches.reward[content.matches.count > 0], atol=1e-6)


def test_rendering_again_does_nothing_while_rows_are_current(copied: Path) -> None:
    dataset = Dataset.open(copied)
    paths = [dataset.rows_path(shard) for shard in dataset.shards]
    before = [path.stat().st_mtime_ns for path in paths]
    render(copied, workers=1)
    assert [path.stat().st_mtime_ns for path in paths] == before
    render(copied, workers=1, again=True)
    assert all(path.stat().st_mtime_ns > time for path, time in zip(paths, before, strict=True))


def test_only_rows_of_another_schema_are_rendered_again(copied: Path) -> None:
    dataset = Dataset.open(copied)
    expected, path = list(dataset.shards), dataset.rows_path(dataset.shards[0])
    before = path.stat().st_mtime_ns
    assert expected[1].rows is not None
    dataset.set_rows(expected[1], msgspec.structs.replace(expected[1].rows, fingerprint="of an older observation"))
    render(copied, workers=1)
    assert Dataset.open(copied).shards == expected
    assert path.stat().st_mtime_ns == before


def test_a_match_that_ends_differently_has_no_rows(copied: Path) -> None:
    dataset = Dataset.open(copied)
    content = dataset.ledger(dataset.shards[1])
    score = content.matches.score.copy()
    score[3] = 1 - score[3]
    dataset.update(shards=[])
    arrays: dict[str, Any] = {**content.matches.arrays(), "score": score}
    dataset.add(match_ledger.LedgerShard(match_ledger.Matches(**arrays), content.action, content.facts), 0.0)
    diverged: list[int] = []
    render(copied, workers=1, progress=lambda now: diverged.append(now.diverged))
    assert diverged[-1] == 1
    ((_, each),) = rows_of(copied)
    assert sorted(each.match.tolist()) == [at for at in range(20) if at != 3]


def test_the_rest_of_a_dataset_with_damaged_shards_is_rendered_exported_and_compared(
    copied: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dataset = Dataset.open(copied)
    first, second = dataset.shards
    flip_byte(dataset.ledger_path(first))
    assert render(copied, workers=1, again=True)
    assert "ledger/000000.ledger is damaged" in caplog.text
    assert export(copied, "parquet", tmp_path / "rest") == second.decisions
    assert agreement(copied, "scripted:perfect", held_out=0.0).decisions == second.decisions
    flip_byte(dataset.rows_path(Dataset.open(copied).shards[1]))
    assert export(copied, "parquet", tmp_path / "nothing") == 0
    assert "rows/000001.safetensors is damaged" in caplog.text


def test_matches_of_servers_cannot_be_rendered(copied: Path) -> None:
    Dataset.open(copied).update(replayable=False)
    with pytest.raises(DatasetError, match="were played on servers"):
        render(copied, workers=1)


@pytest.mark.parametrize("kind", ["ledger", "rows"])
def test_check_names_a_damaged_file_and_counts_the_rest(copied: Path, kind: str) -> None:
    whole = check(copied)
    assert (whole.damage, whole.matches, whole.rows) == ([], 60, whole.decisions)
    dataset = Dataset.open(copied)
    shard = dataset.shards[1]
    flip_byte(dataset.ledger_path(shard) if kind == "ledger" else dataset.rows_path(shard))
    result = check(copied)
    (line,) = result.damage
    assert f"{kind}/000001" in line
    left = whole.decisions - shard.decisions
    assert (result.matches, result.rows) == ((40, whole.rows) if kind == "ledger" else (60, left))


def test_returns_are_the_discounted_rewards_to_the_end_of_each_match() -> None:
    random = np.random.default_rng(3)
    count = np.array([1, 4, 2, 7])
    ends = np.zeros(count.sum(), np.bool_)
    ends[np.cumsum(count) - 1] = True
    reward = random.normal(size=len(ends)).astype(np.float32)
    empty = np.zeros((len(ends), 1), np.uint8)
    each = Rows(empty, empty, np.zeros(len(ends), np.int32), reward, ends, ends, np.arange(4, dtype=np.int32))
    expected, total = np.zeros(len(ends)), 0.0
    for at in reversed(range(len(ends))):
        total = reward[at] + 0.9 * (0.0 if ends[at] else total)
        expected[at] = total
    np.testing.assert_allclose(rows.returns(each, 0.9), expected, atol=1e-5)
