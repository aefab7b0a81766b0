"""`ludus.api.generating` on toy games."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests import datasets
from tests.datasets import flip_byte
from tests.serving import save_checkpoint

from ludus.api import generating
from ludus.api.datasets import agreement, check, render
from ludus.data import exporting
from ludus.data.dataset import Dataset
from ludus.data.generation import standings
from ludus.errors import ConfigError, DatasetError
from ludus.games.registry import Served


def numbers(folder: Path) -> list[int]:
    return sorted(int(one) for _, shard in Dataset.open(folder).ledgers() for one in shard.matches.number)


def test_every_planned_match_is_recorded_once_and_every_seed_from_both_sides(tmp_path: Path) -> None:
    result = datasets.played(tmp_path, 100)
    assert result.finished
    assert numbers(tmp_path) == list(range(100))
    sides = Counter()  # type: ignore[var-annotated]
    for _, shard in Dataset.open(tmp_path).ledgers():
        for seed, policy in zip(shard.matches.seed.tolist(), shard.matches.policy.tolist(), strict=True):
            sides[seed, tuple(policy)] += 1
    assert set(sides.values()) == {1}
    assert Counter(policy for _, policy in sides) == {(0, 1): 50, (1, 0): 50}
    (standing,) = result.standings
    assert (standing.policy, standing.matches) == ("scripted:perfect", 100)
    assert standing.win_rate > 0.8


def test_a_stopped_dataset_is_continued_without_playing_a_match_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = datasets.played(tmp_path, 60)
    assert first.matches == 60
    again = datasets.played(tmp_path, 100, resume=True)  # a plan may be extended
    assert (again.matches, again.planned) == (100, 100)
    assert numbers(tmp_path) == list(range(100))
    assert len(Dataset.open(tmp_path).shards) == 2


def test_a_dataset_is_the_same_in_one_call_and_in_two(tmp_path: Path) -> None:
    datasets.played(tmp_path / "two", 40)
    datasets.played(tmp_path / "two", 80, resume=True)
    datasets.played(tmp_path / "one", 80)
    seeds = []
    for name in ("one", "two"):
        shards = [shard.matches for _, shard in Dataset.open(tmp_path / name).ledgers()]
        number = np.concatenate([each.number for each in shards])
        seeds.append(np.concatenate([each.seed for each in shards])[np.argsort(number)])
    np.testing.assert_array_equal(seeds[0], seeds[1])


def test_a_second_call_without_resume_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    datasets.played(tmp_path, 20)
    before = (tmp_path / "manifest.json").read_bytes()
    with pytest.raises(DatasetError, match="already holds a dataset; continue it with --resume"):
        datasets.played(tmp_path, 20)
    assert (tmp_path / "manifest.json").read_bytes() == before


@pytest.mark.parametrize("changes", [{"seed": 2}, {"b": "perfect"}, {"options": {"pile": 30}}])
def test_resuming_with_other_arguments_is_refused(tmp_path: Path, changes: dict[str, object]) -> None:
    datasets.played(tmp_path, 20)
    with pytest.raises(ConfigError, match="was made with other"):
        datasets.played(tmp_path, 20, resume=True, **changes)  # type: ignore[arg-type]


def test_self_play_has_one_policy_and_a_seed_for_each_match(tmp_path: Path) -> None:
    result = datasets.played(tmp_path, 31, a="random", b=None)
    dataset = Dataset.open(tmp_path)
    assert [policy.name for policy in dataset.manifest.policies] == ["scripted:random"]
    assert len({int(seed) for _, shard in dataset.ledgers() for seed in shard.matches.seed}) == 31
    assert result.standings[0].matches == 31


def test_temperature_zero_plays_the_likeliest_action_and_one_does_not(tmp_path: Path) -> None:
    run = str(save_checkpoint(tmp_path / "run"))
    shares = {}
    for temperature in (0.0, 0.002, 1.0):
        data = tmp_path / f"at-{temperature}"
        generating.generate(run, matches=60, out=data, temperature=temperature, workers=1)
        assert [each.temperature for each in Dataset.open(data).manifest.policies] == [temperature]
        assert render(data, workers=1)
        shares[temperature] = agreement(data, run, held_out=0.0).share
    assert shares[0.0] == 1.0 > shares[0.002] > shares[1.0]


def test_a_flipped_byte_is_found_and_named(tmp_path: Path) -> None:
    datasets.played(tmp_path, 20)
    dataset = Dataset.open(tmp_path)
    path = dataset.ledger_path(dataset.shards[0])
    flip_byte(path)
    with pytest.raises(DatasetError, match=r"ledger/000000\.ledger is damaged"):
        list(dataset.ledgers())


def test_matches_of_a_damaged_shard_are_played_again_and_no_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    datasets.played(tmp_path, 20)
    datasets.played(tmp_path, 50, resume=True)
    dataset = Dataset.open(tmp_path)
    damaged, whole = (dataset.ledger_path(shard) for shard in dataset.shards)
    before = whole.read_bytes()
    flip_byte(damaged)
    assert sum(score.matches for score in standings(dataset)) == 30
    datasets.played(tmp_path, 50, resume=True)
    assert numbers(tmp_path) == list(range(50))
    assert whole.read_bytes() == before
    assert "ledger/000000.ledger is damaged" in caplog.text
    assert "20 matches of damaged shards are played again" in caplog.text
    assert damaged.with_name("000000.ledger.damaged").exists()
    assert check(tmp_path).damage == []


def test_a_shard_without_a_manifest_entry_is_removed_and_its_matches_are_played_again(tmp_path: Path) -> None:
    datasets.played(tmp_path, 20)
    (tmp_path / "ledger" / "000001.ledger").write_bytes(b"left by a killed process")
    (tmp_path / "ledger" / "notes.txt").write_bytes(b"of the user")
    datasets.played(tmp_path, 40, resume=True)
    assert numbers(tmp_path) == list(range(40))
    assert (tmp_path / "ledger" / "notes.txt").exists()


def test_rows_that_are_kept_while_playing_are_those_that_rendering_makes(tmp_path: Path) -> None:
    matchup = generating.resolve("scripted:perfect", None, matches=30, game="toy:nim")
    on_servers = replace(
        matchup,
        game=replace(matchup.game, serve=lambda options, servers, folder: nullcontext(Served(options, lambda: ()))),
    )
    live = generating.play(on_servers, tmp_path / "live", workers=1)
    assert not live.replayable
    assert check(tmp_path / "live").rows == live.decisions
    generating.play(matchup, tmp_path / "rendered", workers=1)
    render(tmp_path / "rendered", workers=1)
    rows = []
    for name in ("live", "rendered"):
        dataset = Dataset.open(tmp_path / name)
        each = exporting.trajectories(dataset, exporting.with_rows(dataset))
        rows.append(
            sorted((one.seed, one.seat, one.obs.tobytes(), one.legal.tobytes(), one.reward.tobytes()) for one in each)
        )
    assert rows[0] == rows[1]
