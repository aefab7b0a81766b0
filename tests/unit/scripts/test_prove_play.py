from __future__ import annotations

from pathlib import Path
from typing import Any

from scripts import prove_play

from ludus.games.showdown.play.outsiders import OpponentRecord, PlayResult


def line(opponent: str, wins: int, invalid: int = 0) -> dict[str, Any]:  # Any: one line of JSON
    result = PlayResult(total=OpponentRecord(wins=wins, losses=400 - wins), invalid=invalid, seconds=1.0)
    result.voided["the server said nothing"] = 2
    return {"checkpoint": "run, update 7", "commit": "abc", **prove_play.line_of(opponent, "gen1randombattle", result)}


def test_a_line_holds_the_wilson_interval_of_its_wins() -> None:
    assert line("random", 320)["interval"] == [0.758, 0.8363]


def test_the_page_shows_the_latest_result_of_each_opponent(tmp_path: Path) -> None:
    prove_play.keep([line("random", 100), line("max_base_power", 300)], tmp_path)
    prove_play.keep([line("random", 320, invalid=1)], tmp_path)
    assert len((tmp_path / "play.jsonl").read_text().splitlines()) == 3
    rows = (tmp_path / "play.md").read_text().splitlines()[-2:]
    assert "| poke-env max_base_power | 75.0% |" in rows[0]
    assert rows[1].startswith(
        "| gen1randombattle | poke-env random | 80.0% | 75.8% to 83.6% | 320 | 80 | 0 | 1 | 0 | 2 |"
    )


def test_each_agent_has_rows_of_its_own(tmp_path: Path) -> None:
    prove_play.keep([line("random", 100), {**line("random", 300), "checkpoint": "other, update 9"}], tmp_path)
    rows = (tmp_path / "play.md").read_text().splitlines()[-2:]
    assert "other, update 9" in rows[0]
    assert "run, update 7" in rows[1]
