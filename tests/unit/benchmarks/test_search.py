"""The benchmark of search turns scores into Elo."""

from __future__ import annotations

import pytest
from benchmarks import bench_search

from ludus.evaluation.arena import MatchupResult


def result(wins: int, losses: int, ties: int) -> MatchupResult:
    matches = wins + losses + ties
    return MatchupResult(
        opponent="itself", matches=matches, wins=wins, losses=losses, ties=ties, truncated=0, voided=0, moved=0,
        refused=0, decisions=99, turns=1.0, score=0.0, interval=(0.0, 1.0), reward=0.0, reward_interval=(0.0, 0.0),
    )  # fmt: skip


def test_a_score_of_three_quarters_is_191_elo() -> None:
    row = bench_search.row_of(result(300, 100, 0))
    assert row["elo"] == pytest.approx(190.8, abs=0.1)
    assert row["elo_low"] < row["elo"] < row["elo_high"]
    assert bench_search.sentence(row) == "75.0% of 400 matches, +191 Elo [+152 to +230]"


def test_ties_count_half() -> None:
    assert bench_search.row_of(result(0, 0, 10))["elo"] == 0
    assert bench_search.row_of(result(5, 3, 2))["score"] == 0.6


def test_a_clean_sweep_has_a_finite_elo() -> None:
    assert bench_search.elo(1.0) == pytest.approx(798.3, abs=0.1)
    assert bench_search.elo(0.0) == pytest.approx(-798.3, abs=0.1)
