from __future__ import annotations

import json

import pytest
from scripts import metrics_page, readme_table

from ludus.metrics import names


def result(format_name: str, rate: float, repeats: int = 5) -> str:
    rows = {name: {"median": rate, "low": rate, "high": rate} for name, _ in readme_table.ROWS}
    machine = {"cpu": "a processor", "cores": 2}
    ratios = {"random_vs_peer": 15.04}
    spread = {"random_vs_peer": [13.9, 16.2]}
    page = {"format": format_name, "repeats": repeats, "rows": rows, "ratios": ratios, "ratio_spread": spread}
    return json.dumps({**page, "machine": machine, "hosts": 2, "commit": "0123456789"})


def test_speed_tables_show_the_last_result_with_its_range() -> None:
    def line(median: float) -> str:
        machine = {"cpu": "a processor", "cores": 2}
        rows = {"server": {"median": median, "low": 1.25, "high": 12345.6}}
        return json.dumps({"rows": rows, "machine": machine, "device": "a GPU", "commit": "0123456"})

    body = readme_table.speed([line(1.0), line(20_000.0)], {"server": "rows/s"})
    assert "| rows/s | 20,000 | 1.2 to 12,346 |" in body
    assert "Machine: a processor, 2 cores, a GPU (commit 0123456)." in body
    assert "Not measured" in readme_table.speed([], {})


def test_the_table_of_runs_holds_the_latest_of_each_kind_with_its_interval() -> None:
    def line(wins: int) -> str:
        score = {"matches": 400, "wins": wins, "ties": 0, "interval": [0.75, 0.85]}
        run = {"run": "gen1", "minutes": 9.0, "decisions": 4_000_000, "machine": {"cores": 2}}
        return json.dumps({**run, "scores": {"heuristic": score}})

    body = readme_table.strength([line(200), line(320)])
    assert "80.0% (75% to 85%)" in body
    assert "50.0%" not in body
    assert "9 min, 2 cores, 4.0 M decisions" in body


def test_an_opponent_that_a_run_was_not_measured_against_has_an_empty_cell() -> None:
    def line(name: str, *opponents: str) -> str:
        score = {"matches": 400, "wins": 200, "ties": 0, "interval": [0.45, 0.55]}
        run = {"run": name, "minutes": 9.0, "decisions": 4_000_000, "machine": {"cores": 2}}
        return json.dumps({**run, "scores": dict.fromkeys(opponents, score)})

    body = readme_table.strength([line("gen1", "random", "heuristic"), line("gen9-best", "heuristic")])
    assert body.splitlines()[-1].endswith("4.0 M decisions | - | 50.0% (45% to 55%) |")


def test_runs_against_other_opponents_are_left_to_their_own_pages() -> None:
    def line(name: str, opponent: str) -> str:
        score = {"matches": 400, "wins": 200, "ties": 0, "interval": [0.45, 0.55]}
        run = {"run": name, "minutes": 9.0, "decisions": 4_000_000, "machine": {"cores": 2}}
        return json.dumps({**run, "scores": {opponent: score}})

    body = readme_table.strength([line("gen1", "heuristic"), line("rocket", "chaser")])
    assert "gen1" in body
    assert "rocket" not in body


def test_runs_told_apart_by_many_matches_stand_below_each_other() -> None:
    def line(run: str, wins: int) -> str:
        score = {"matches": 4000, "wins": wins, "ties": 0, "interval": [0.851, 0.869]}
        return json.dumps({"run": run, "scores": {"heuristic": score}})

    body = readme_table.longer([line("short", 3440), line("long", 3500)])
    assert body.splitlines()[0] == "| 4,000 matches | heuristic |"
    assert body.splitlines()[2:] == ["| short | 86.0% (85.1% to 86.9%) |", "| long | 87.5% (85.1% to 86.9%) |"]


def test_the_metrics_page_is_up_to_date() -> None:
    assert metrics_page.PAGE.read_text() == metrics_page.page(), "run: python scripts/metrics_page.py"


def test_the_metrics_page_names_every_metric_and_activity() -> None:
    page = metrics_page.page()
    for name in (*(metric.name for metric in names.METRICS), *(activity.name for activity in names.ACTIVITIES)):
        assert name in page


def test_the_tables_of_measured_numbers_are_up_to_date() -> None:
    for path, text in readme_table.written().items():
        assert path.read_text() == text, "run: python scripts/readme_table.py"


def test_the_latest_full_result_of_each_format_is_shown() -> None:
    lines = [result("gen1", 1000), result("gen9", 500), result("gen1", 2000), result("gen1", 9999, repeats=2)]
    page = readme_table.table(readme_table.latest(lines))
    assert "| decisions/s | gen1 | gen9 |" in page
    assert "| **ludus**, random policy | 2,000 | 500 |" in page
    assert "15.0x (13.9 to 16.2)" in page
    assert "9,999" not in page


def test_without_results_the_readme_says_how_to_measure() -> None:
    assert "Not measured yet" in readme_table.table({})


def test_a_readme_without_markers_is_refused() -> None:
    with pytest.raises(SystemExit, match="must hold"):
        readme_table.filled("# ludus", "numbers")
