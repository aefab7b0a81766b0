"""`ludus generate` on Showdown: real servers, which cannot play a match again, and formats that need teams."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.api import datasets
from ludus.api.generating import generate
from ludus.data.dataset import Dataset
from ludus.errors import DatasetError, HostRefused
from ludus.games.showdown.install import Installation

TEAMS = Path(__file__).parents[1] / "data" / "teams" / "gen1ou"
POLICIES = ("scripted:heuristic", "scripted:random")


def numbers(dataset: Dataset) -> list[int]:
    return sorted(int(each) for _, content in dataset.ledgers() for each in content.matches.number)


def test_matches_on_servers_keep_rows_and_logs_and_are_resumed_exactly(showdown: Installation, tmp_path: Path) -> None:
    data = tmp_path / "data"
    first = generate(*POLICIES, matches=4, out=data, game="showdown", servers=1, workers=1)
    assert (first.matches, first.replayable) == (4, False)
    generate(*POLICIES, matches=6, out=data, game="showdown", servers=1, workers=1, resume=True)
    dataset = Dataset.open(data)
    assert numbers(dataset) == list(range(6))
    for _, content in dataset.ledgers():
        assert (content.matches.log_bytes > 1000).all()
        assert b"|win|" in content.logs
    result = datasets.check(data)
    assert (result.damage, result.rows) == ([], dataset.manifest.decisions)
    same = datasets.agreement(data, "scripted:heuristic", of="scripted:heuristic", held_out=0.0)
    assert same.settled_share > 0.95  # the rows show what the policy saw
    with pytest.raises(DatasetError, match="were played on servers"):
        datasets.render(data)


def test_teams_of_a_folder_are_played_and_rendered(showdown: Installation, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with pytest.raises(HostRefused, match="format gen1ou needs teams"):
        generate(*POLICIES, matches=4, out=data, game="showdown:gen1ou", workers=1)
    generate(*POLICIES, matches=4, out=data, game="showdown:gen1ou", options={"teams": str(TEAMS)}, workers=1)
    assert datasets.render(data, workers=1)
    assert datasets.check(data).rows == Dataset.open(data).manifest.decisions
