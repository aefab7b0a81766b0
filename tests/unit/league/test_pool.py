from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ludus.league.pool import Pool, thinned
from ludus.policies.weights import read_tensors


@given(st.sets(st.integers(0, 10_000), max_size=40), st.integers(1, 12))
def test_thinning_keeps_at_most_so_many_and_always_the_newest(versions: set[int], keep: int) -> None:
    kept = thinned(sorted(versions), keep)
    assert len(kept) == min(len(versions), keep)
    assert set(kept) <= versions
    if versions:
        assert max(versions) in kept
        assert keep == 1 or min(versions) in kept


def test_snapshots_stay_spread_over_the_history_while_it_grows() -> None:
    kept: list[int] = []
    for version in range(25, 25 * 200 + 1, 25):
        kept = thinned([*kept, version], 8)
    gaps = [late - early for early, late in pairwise(kept)]
    assert kept[0] == 25
    assert kept[-1] == 5000
    assert max(gaps) <= 2.5 * 5000 / 7


def test_pool_holds_what_was_added_and_forgets_what_is_not_retained(tmp_path: Path) -> None:
    pool = Pool(tmp_path / "pool", 3)
    for version in (10, 20, 30, 40):
        pool.add(version, {"net.weight": torch.full((2,), float(version))})
    assert len(pool.versions()) == 3
    assert pool.versions()[-1] == 40
    assert read_tensors(pool.path(40))["net.weight"].tolist() == [40.0, 40.0]
    pool.retain([40])
    assert pool.versions() == [40]


def test_what_was_thinned_stays_on_the_disk_until_a_checkpoint_names_the_pool_without_it(tmp_path: Path) -> None:
    pool = Pool(tmp_path / "pool", 2)
    for version in (10, 20, 30):
        pool.add(version, {"net.weight": torch.ones(2)})
    assert pool.versions() == [10, 30]
    assert pool.path(20).exists()
    killed = Pool(tmp_path / "pool", 2)
    killed.retain([10, 20])
    assert killed.versions() == [10, 20]
    pool.add(30, {"net.weight": torch.ones(2)})
    pool.sweep()
    assert pool.versions() == [10, 30]
    assert not pool.path(20).exists()


def test_snapshot_that_cannot_be_written_leaves_the_pool_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = Pool(tmp_path / "pool", 3)
    pool.add(10, {"net.weight": torch.ones(2)})

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        pool.add(20, {"net.weight": torch.ones(2)})
    assert pool.versions() == [10]
    assert {path.name for path in (tmp_path / "pool").iterdir()} == {"v00000010.safetensors", "checksums.json"}
