from __future__ import annotations

from pathlib import Path

import pytest

from ludus.config.schema import RunConfig
from ludus.evaluation import report
from ludus.metrics import names
from ludus.metrics.exporters import csv
from ludus.metrics.exporters.evaluations import Evaluation, Score
from ludus.metrics.observer import Numbers


def rows(tmp_path: Path, *reports: Numbers) -> report.Figures:
    with csv.ProgressCsv(tmp_path / "progress.csv") as progress:
        for each in reports:
            progress.on_progress(each)
    return report.figures(csv.read(tmp_path / "progress.csv"))


def test_figures_take_the_last_counters_and_weigh_shares_by_time(tmp_path: Path) -> None:
    share = names.SHARE(names.POLICIES)
    figures = rows(
        tmp_path,
        {names.TRAINING_S: 10.0, names.DECISIONS: 5000, names.MATCHES: 10, share: 0.1, names.REPORT_S: 10.0},
        {names.TRAINING_S: 20.0, names.REPORT_S: 99.0},
        {names.TRAINING_S: 40.0, names.DECISIONS: 8000, names.MATCHES: 20, share: 0.5, names.REPORT_S: 30.0},
    )
    assert figures.training_s == 40.0
    assert figures.counters[names.DECISIONS] == 8000
    assert figures.decisions_per_s == pytest.approx(200)
    assert figures.matches_per_hour == pytest.approx(1800)
    assert figures.shares == {names.POLICIES: pytest.approx(0.4)}


def test_a_stage_that_few_reports_mention_has_its_share_of_the_whole_run(tmp_path: Path) -> None:
    update, evaluate = names.SHARE(names.UPDATE), names.SHARE(names.EVALUATE)
    figures = rows(tmp_path, {update: 0.8, names.REPORT_S: 30.0}, {evaluate: 1.0, names.REPORT_S: 10.0})
    assert figures.shares == {names.UPDATE: pytest.approx(0.6), names.EVALUATE: pytest.approx(0.25)}


def test_the_page_has_the_table_the_figures_and_the_command() -> None:
    score = Score("heuristic", matches=400, wins=340, losses=58, ties=2)
    evaluation = Evaluation(training_s=600.0, updates=900, decisions=4e6, final=True, scores=(score,))
    figures = report.Figures(600.0, {names.DECISIONS: 4_000_000, names.VOIDED: 3}, {names.UPDATE: 0.25})
    page = report.markdown("showdown gen1randombattle", [evaluation], figures, "ludus train gen1")
    assert "| heuristic | 85.0% | 81.2% to 88.2% | 340 | 58 | 2 | 400 |" in page
    assert "| decisions | 4,000,000 |" in page
    assert "| voided matches | 3 |" in page
    assert "| learner | update | 25.0% |" in page
    assert "```\nludus train gen1\n```" in page


def test_a_run_without_an_evaluation_says_so_and_draws_nothing(tmp_path: Path) -> None:
    path = report.write(tmp_path, RunConfig(game="toy"), "ludus train toy")
    assert "ended before its first evaluation" in path.read_text()
    assert not (tmp_path / report.CURVE).exists()
