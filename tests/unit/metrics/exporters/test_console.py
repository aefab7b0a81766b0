from __future__ import annotations

import io
import logging
from types import SimpleNamespace

import pytest
from rich.console import Console
from tests.clocks import Clock

from ludus.games import hooks, registry
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.metrics.exporters.console import LiveTable, Screen
from ludus.metrics.observer import Result

DURATIONS = ((names.MEAN_MS, 4.5), (names.P50_MS, 0.0321), (names.P95_MS, 1234.0))
NUMBERS: dict[str, float | str] = {
    names.PROGRESS: 0.38,
    names.PHASE: "evaluating",
    names.EVALUATED: 120,
    names.EVALUATION_MATCHES: 400,
    names.EVALUATION_OPPONENT: "max_damage",
    names.TRAINING_S: 3228.0,
    names.ETA_S: 5372.0,
    names.DECISIONS: 941_234_500,
    names.DECISIONS_PER_S: 112_203.0,
    names.MATCHES_PER_HOUR: 1_187_000.0,
    names.HOSTS_ALIVE: 15,
    names.HOSTS_TOTAL: 16,
    names.VOIDED: 32,
    names.FACT("switches"): 6.0,
    names.FACT("moves"): 44.0,
    names.CORES: 16,
    **{names.SHARE(activity.name): 0.02 for activity in names.ACTIVITIES},
    **{names.SHARE(activity): 0.6 for activity in (names.HOST_SIMULATE, names.POLICIES, names.UPDATE)},
    **{family(names.POLICIES): value for family, value in DURATIONS},
    **{names.TRAIN_WIN_RATE(name): 0.5 for name in ("past", "max_damage", "an_opponent_with_a_very_long_name")},
}

SERVERS: dict[str, float | str] = {
    names.SERVERS_ALIVE: 3,
    names.SERVERS_TOTAL: 4,
    names.SERVERS_RESTARTS: 2,
    names.SERVERS_RECYCLED: 5,
    names.SERVERS_MIB: 2113.4,
}


def results() -> list[Result]:
    return [
        SimpleNamespace(opponent=name, matches=100, wins=90, win_rate=0.9, interval=(0.826, 0.945))
        for name in ("random", "max_power", "max_damage", "heuristic")
    ]


def drawn(width: int, height: int, numbers: dict[str, float | str]) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    screen = Screen("showdown gen1randombattle  runs/gen1-1", hooks.table_lines_of(registry.load("showdown")))
    screen.numbers, screen.results, screen.evaluated_s = numbers, results(), 300.0
    with console.capture() as captured:
        console.print(screen)
    return captured.get().splitlines()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (100, 30), (140, 40), (60, 20), (200, 60)])
@pytest.mark.parametrize("more", [{}, SERVERS])
def test_the_table_fits_the_terminal(width: int, height: int, more: dict[str, float | str]) -> None:
    lines = drawn(width, height, {**NUMBERS, **more})
    assert len(lines) < height
    assert max(len(line) for line in lines) <= width


def test_nodes_are_shown_in_a_run_on_a_cluster() -> None:
    nodes: dict[str, float | str] = {names.NODES_ALIVE: 2, names.NODES_TOTAL: 3, names.NODES_REFUSED: 1}
    page = " ".join(" ".join(drawn(80, 30, {**NUMBERS, **nodes})).split())
    assert "nodes 2 of 3, 1 refused" in page


def test_servers_are_shown_where_a_run_has_some() -> None:
    page = " ".join(" ".join(drawn(80, 30, {**NUMBERS, **SERVERS})).split())
    assert "servers 3 of 4, 2.1 GiB" in page
    assert "restarted 2, recycled 5" in page
    assert "servers" not in "\n".join(drawn(80, 30, NUMBERS))


def test_everything_a_user_asks_for_is_on_a_screen_of_80_by_24() -> None:
    page = "\n".join(drawn(80, 24, NUMBERS))
    for words in (
        "112,203",
        "1.19 M",
        "38%",
        "53:48",
        "1:29:32 left",
        "15 of 16",
        "evaluating",
        "voided",
        "Wins at 5:00",
    ):
        assert words in page
    assert "voluntary switches     12%" in page
    for words in ("heuristic", "83-94", "hosts simulate", "learner update", "entropy", "KL"):
        assert words in page
    assert "actor policies 60% 4.5ms 32us 1.2s" in " ".join(page.split())
    assert "The hosts are busy 98% (simulate 60%): more will not help on 16 cores." in page


def test_the_shares_of_an_evaluation_do_not_stay_on_the_screen() -> None:
    metrics = Metrics(clock_ns=(clock := Clock()))
    for activity, seconds in ((names.UPDATE, 8.0), (names.EVALUATE, 60.0)):
        with metrics.activity(activity):
            clock.pass_s(seconds)
        page = " ".join(" ".join(drawn(80, 30, metrics.report())).split())
        assert "learner update 100%" in page
        assert "evaluate" not in page


def test_an_evaluation_is_followed_match_by_match_and_no_line_moves_when_it_ends() -> None:
    during, after = drawn(80, 24, NUMBERS), drawn(80, 24, {**NUMBERS, names.PHASE: "training"})
    assert during[2].endswith("120/400 against max_damage")
    assert after[2].strip() == ""
    assert len(during) == len(after)


def test_a_run_without_numbers_yet_shows_dashes() -> None:
    page = "\n".join(drawn(80, 24, {}))
    assert "starting hosts" in page
    assert "decisions/s" in page


def test_warnings_scroll_by_above_the_table_and_the_terminal_is_given_back() -> None:
    console = Console(file=io.StringIO(), width=100, height=30, force_terminal=True, color_system=None)
    logger = logging.getLogger("ludus")
    before = list(logger.handlers)
    with console.capture() as captured, LiveTable("toy", console) as table:
        table.on_progress(NUMBERS)
        logger.warning("host 1 died; restarting it")
        table.on_evaluation(results(), final=True)
    assert "host 1 died; restarting it" in captured.get()
    assert "Wins, final" in captured.get()
    assert captured.get().endswith("\x1b[?25h")  # the cursor is visible again
    assert logger.handlers == before


def test_the_stage_of_a_curriculum_is_shown() -> None:
    stage: dict[str, float | str] = {names.STAGE: 2, names.STAGES_TOTAL: 5, names.STAGE_NAME: "2v2"}
    assert any("stage 2 of 5: 2v2" in line for line in drawn(80, 24, {**NUMBERS, **stage}))
    assert not any("stage" in line and " of " in line for line in drawn(80, 24, NUMBERS))


@pytest.mark.parametrize("width", [80, 120])
def test_the_rating_stands_above_the_win_rates_with_its_interval(width: int) -> None:
    rating: dict[str, float | str] = {names.ELO: 1122.4, names.ELO_LOW: 1090.0, names.ELO_HIGH: 1158.0}
    assert "Wins at 5:00, Elo 1122 ±34" in "\n".join(drawn(width, 30, {**NUMBERS, **rating}))
    assert "Elo" not in "\n".join(drawn(width, 30, NUMBERS))
