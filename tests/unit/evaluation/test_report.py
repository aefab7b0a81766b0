from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from ludus.config.settings import RunConfig
from ludus.evaluation import curve, report
from ludus.metrics import names, times
from ludus.metrics.exporters import csv
from ludus.metrics.exporters.evaluations import Evaluation, Score
from ludus.metrics.observer import Numbers
from ludus.metrics.times import HOSTS, LEARNER, RunTimes, Times
from ludus.wire.durations import Durations


def rows(tmp_path: Path, *reports: Numbers) -> report.Figures:
    with csv.ProgressCsv(tmp_path / "progress.csv") as progress:
        for each in reports:
            progress.on_progress(each)
    return report.figures(csv.read(tmp_path / "progress.csv"))


def test_figures_take_the_last_counters(tmp_path: Path) -> None:
    figures = rows(
        tmp_path,
        {names.TRAINING_S: 10.0, names.DECISIONS: 5000, names.MATCHES: 10},
        {names.TRAINING_S: 20.0},
        {names.TRAINING_S: 40.0, names.DECISIONS: 8000, names.MATCHES: 20},
    )
    assert figures.training_s == 40.0
    assert figures.counters[names.DECISIONS] == 8000
    assert figures.decisions_per_s == pytest.approx(200)
    assert figures.matches_per_hour == pytest.approx(1800)


def test_the_page_says_where_the_time_went_and_who_kept_the_others_waiting(tmp_path: Path) -> None:
    spent = Times(
        {HOSTS: 2e9, LEARNER: 4e9},
        {
            names.HOST_SIMULATE: Durations.of([1_000_000] * 1900),
            names.HOST_WAIT: Durations.of([100_000_000]),
            names.UPDATE: Durations.of([10_000_000] * 100),
        },
    )
    times.write(tmp_path, RunTimes(spent, hosts=2, cores=2))
    page = report.write(tmp_path, RunConfig(game="toy"), "ludus train toy").read_text()
    assert "The hosts are busy 95% (simulate 95%): more will not help on 2 cores." in page
    assert re.search(r"\| hosts \| simulate \| 95\.0% \| 1\.0ms \| (1\.0ms|9\d\dus) \| 1\.0ms \|", page)
    assert "| learner | update | 25.0% | 10ms |" in page
    assert "| learner | other | 75.0% | - | - | - |" in page


def test_the_page_has_the_table_the_figures_and_the_command() -> None:
    score = Score("heuristic", matches=400, wins=340, losses=58, ties=2)
    evaluation = Evaluation(training_s=600.0, updates=900, decisions=4e6, final=True, scores=(score,))
    figures = report.Figures(600.0, {names.DECISIONS: 4_000_000, names.VOIDED: 3})
    page = report.markdown("showdown gen1randombattle", [evaluation], figures, "ludus train gen1")
    assert "| heuristic | 85.0% | 81.2% to 88.2% | 340 | 58 | 2 | 400 |" in page
    assert "| decisions | 4,000,000 |" in page
    assert "| voided matches | 3 |" in page
    assert "```\nludus train gen1\n```" in page


def test_a_run_without_an_evaluation_says_so_and_draws_nothing(tmp_path: Path) -> None:
    path = report.write(tmp_path, RunConfig(game="toy"), "ludus train toy")
    assert "ended before its first evaluation" in path.read_text()
    assert not (tmp_path / report.CURVE).exists()


def test_a_game_with_one_seat_is_told_by_what_it_earned(tmp_path: Path) -> None:
    alone = Score("none", matches=20, wins=0, losses=0, ties=20, reward=195.25, reward_interval=(190.0, 200.5))
    found = [Evaluation(60.0, 10, 1000, final, (alone,)) for final in (False, True)]
    page = report.markdown("gymnasium CartPole-v1", found, report.Figures(60.0, {}), "ludus train cartpole")
    assert "## Returns at the end" in page
    assert "| 195.25 | 190.00 to 200.50 | 20 |" in page
    assert "Win rates" not in page
    curve.draw(found, tmp_path / "curve.png", "gymnasium CartPole-v1")
    assert (tmp_path / "curve.png").stat().st_size > 1000


def test_a_game_with_one_seat_that_can_be_won_shows_its_win_rate() -> None:
    alone = Score("none", matches=20, wins=15, losses=3, ties=2, reward=1.5, reward_interval=(1.0, 2.0))
    lines = report.table([alone])
    assert lines[0] == "| win rate | 95% interval | won | lost | return, mean | 95% interval | matches |"
    assert lines[2] == "| 75.0% | 53.1% to 88.8% | 15 | 3 | 1.50 | 1.00 to 2.00 | 20 |"
    assert {line.count("|") for line in lines} == {8}


def test_the_page_says_when_each_stage_began(tmp_path: Path) -> None:
    told = [("one", 0.0, 0), ("one", 5.0, 3), ("two", 6.0, 4), ("one", 9.0, 7)]
    with csv.ProgressCsv(tmp_path / "progress.csv") as progress:
        for name, training_s, updates in told:
            number = {"one": 1, "two": 2}[name]
            stage: Numbers = {names.STAGE: number, names.STAGE_NAME: name}
            progress.on_progress({names.TRAINING_S: training_s, names.UPDATES: updates, **stage})
    page = report.write(tmp_path, RunConfig(game="toy"), "ludus train toy").read_text()
    table = page.partition("## Curriculum")[2].partition("Evaluations")[0]
    assert [line for line in table.splitlines() if line.startswith("|")][2:] == [
        "| 1 | one | 0:00 | 0 |",
        "| 2 | two | 0:06 | 4 |",
        "| 1 | one | 0:09 | 7 |",
    ]


def test_the_page_rates_the_run_and_draws_its_rating(tmp_path: Path) -> None:
    def scores(wins: int) -> tuple[Score, ...]:
        return Score("random", 100, 98, 2, 0), Score("heuristic", 100, wins, 100 - wins, 0)

    history = [Evaluation(60.0 * at, 10 * at, 1000, at == 3, scores(30 + 20 * at)) for at in (1, 2, 3)]
    page = "\n".join(report.rating_lines(history))
    assert "| heuristic | 1000 | by definition |" in page
    elo = int(re.search(r"\| this run \| (\d+) \|", page)[1])  # type: ignore[index]  # None fails the test as well
    assert 1250 < elo < 1450
    assert page.index("this run") < page.index("heuristic") < page.index("random"), "the strongest first"
    (tmp_path / report.EVALUATIONS).write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in history))
    report.write(tmp_path, RunConfig(game="toy"), "ludus train toy")
    assert (tmp_path / report.RATING_CURVE).stat().st_size > 1000
    assert f"]({report.RATING_CURVE})" in (tmp_path / report.REPORT).read_text()


def test_reward_terms_and_facts_are_a_table_and_a_picture(tmp_path: Path) -> None:
    with csv.ProgressCsv(tmp_path / "progress.csv") as progress:
        for second in range(30):
            facts = {names.FACT("reward_goal"): second / 10, names.FACT("a|<b>$"): 4.0}
            progress.on_progress({names.TRAINING_S: float(second), **facts})
    page = report.write(tmp_path, RunConfig(game="toy"), "ludus train toy").read_text()
    assert "## Reward terms" in page
    assert "| goal | 0.1 | 2.8 |" in page
    assert "| a\\|&lt;b>$ | 4 | 4 |" in page
    for picture in (report.REWARD_TERMS, report.FACTS):
        assert f"]({picture})" in page
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")


def test_a_run_without_facts_has_no_section_about_them(tmp_path: Path) -> None:
    with csv.ProgressCsv(tmp_path / "progress.csv") as progress:
        progress.on_progress({names.TRAINING_S: 1.0})
    page = report.write(tmp_path, RunConfig(game="toy"), "ludus train toy").read_text()
    assert "Reward terms" not in page
    assert not (tmp_path / report.FACTS).exists()
