from __future__ import annotations

import json

import pytest
from scripts import metrics_page, readme_table

from ludus.metrics import names


def result(format_name: str, rate: float, repeats: int = 5) -> str:
    rows = {name: {"median": rate, "low": rate, "high": rate} for name, _ in readme_table.ROWS}
    machine = {"cpu": "a processor", "cores": 2}
    ratios = {"random_vs_peer": 15.04}
    page = {"format": format_name, "repeats": repeats, "rows": rows, "ratios": ratios, "machine": machine}
    return json.dumps({**page, "hosts": 2, "commit": "0123456789"})


def test_the_metrics_page_is_up_to_date() -> None:
    assert metrics_page.PAGE.read_text() == metrics_page.page(), "run: python scripts/metrics_page.py"


def test_the_metrics_page_names_every_metric_and_stage() -> None:
    page = metrics_page.page()
    for name in (*(metric.name for metric in names.METRICS), *(stage.name for stage in names.STAGES)):
        assert name in page


def test_the_table_in_the_readme_is_up_to_date() -> None:
    readme = readme_table.README.read_text()
    assert readme == readme_table.filled(readme, readme_table.measured()), "run: python scripts/readme_table.py"


def test_the_latest_full_result_of_each_format_is_shown() -> None:
    lines = [result("gen1", 1000), result("gen9", 500), result("gen1", 2000), result("gen1", 9999, repeats=2)]
    page = readme_table.table(readme_table.latest(lines))
    assert "| decisions/s | gen1 | gen9 |" in page
    assert "| **ludus**, random policy | 2,000 | 500 |" in page
    assert "15.0x" in page
    assert "9,999" not in page


def test_without_results_the_readme_says_how_to_measure() -> None:
    assert "Not measured yet" in readme_table.table({})


def test_a_readme_without_markers_is_refused() -> None:
    with pytest.raises(SystemExit, match="must hold"):
        readme_table.filled("# ludus", "numbers")
