from __future__ import annotations

import json
from pathlib import Path

import msgspec

from ludus.diagnostics import serving_report
from ludus.diagnostics.serving_trials import LOCAL, ONE_BY_ONE, SERVER, ServingPlan, ServingTrial

PLAN = ServingPlan("runs/gen1/checkpoints/u00000120", "heuristic", 400, 4, 32)


def trial(name: str, wins: int, seconds: float) -> ServingTrial:
    return ServingTrial(name, 4, 400, wins, 400 - wins, 0, 9000, 0, 0, seconds, 1.5, 4.5)


TRIALS = [trial(LOCAL, 300, 40.0), trial(SERVER, 296, 50.0), trial(ONE_BY_ONE, 303, 500.0)]


def test_results_are_compared_with_one_process_and_with_single_rows() -> None:
    assert serving_report.ratios(TRIALS) == {"server_vs_one_process": 0.8, "server_vs_row_by_row": 10.0}
    assert TRIALS[0].battles_per_hour == 36_000
    assert serving_report.cells(TRIALS[1])[:4] == (SERVER, "28,800", "180", "74.0%")


def test_win_rates_must_agree_within_their_intervals() -> None:
    assert "The 95% intervals of the win rates overlap: the ways play alike." in serving_report.sentences(TRIALS)
    other = [*TRIALS[:2], msgspec.structs.replace(TRIALS[2], wins=200, losses=200, invalid=3, voided=2)]
    said = serving_report.sentences(other)
    assert "The 95% intervals of the win rates do not overlap: the ways do not play alike." in said
    assert "3 actions were invalid." in said
    assert "2 matches were lost with their host and played again." in said


def test_report_is_written_for_people_and_for_programs(tmp_path: Path) -> None:
    page = serving_report.write(tmp_path, PLAN, TRIALS, {"port": "any free one"})
    text = page.read_text()
    assert "| server | 28,800 | 180 | 74.0% | 69.5% to 78.1% |" in text
    assert "- port: any free one" in text
    result = json.loads((tmp_path / "result.json").read_text())
    assert [each["battles_per_hour"] for each in result["trials"]] == [36_000.0, 28_800.0, 2_880.0]
    assert (tmp_path / "speed.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
