from __future__ import annotations

from ludus.games import hooks, registry
from ludus.games.showdown.hooks import stable_log, table_lines
from ludus.metrics import names


def test_voluntary_switches_are_shown_as_a_share_of_decisions() -> None:
    assert table_lines({names.FACT("switches"): 6.0, names.FACT("moves"): 44.0}) == [("voluntary switches", "12%")]


def test_no_line_is_shown_before_the_first_battle_has_ended() -> None:
    assert table_lines({}) == []
    assert table_lines({names.FACT("switches"): 0.0, names.FACT("moves"): 0.0}) == []


def test_the_time_of_day_is_no_part_of_a_log() -> None:
    assert stable_log("|t:|1\n|turn|1") == stable_log("|t:|2\n|turn|1") == "|turn|1"


def test_battles_on_servers_have_the_same_hooks() -> None:
    on_servers = registry.load("showdown-server")
    assert hooks.stable_log_of(on_servers) is stable_log
    assert hooks.table_lines_of(on_servers) is table_lines
