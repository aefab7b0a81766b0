from __future__ import annotations

import math

import pytest

from ludus.metrics import names
from ludus.metrics.exporters import text


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0"), (2, "2"), (2.25, "2.2"), (12345.6, "12,346"), (9_412_345, "9.41 M"), (2.5e9, "2.50 G"), (math.nan, "-")],
)
def test_counts_are_short(value: float, words: str) -> None:
    assert text.count(value) == words


@pytest.mark.parametrize(
    ("value", "words"), [(0, "0"), (0.00083, "0.00083"), (-0.01234, "-0.0123"), (1e-6, "1.0e-06"), (math.nan, "-")]
)
def test_decimals_keep_three_digits(value: float, words: str) -> None:
    assert text.decimal(value) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0:00"), (59.6, "1:00"), (228, "3:48"), (3723, "1:02:03"), (math.inf, "-"), (-1, "0:00")]
)
def test_durations_read_like_a_clock(seconds: float, words: str) -> None:
    assert text.duration(seconds) == words


def test_a_log_line_names_what_went_wrong_only_when_it_did() -> None:
    quiet = text.line({names.PROGRESS: 0.5, names.PHASE: "training", names.VOIDED: 0})
    loud = text.line({names.PROGRESS: 0.5, names.PHASE: "training", names.VOIDED: 32})
    assert quiet.startswith("50% training | ")
    assert "voided" not in quiet
    assert "voided 32" in loud


def test_a_log_line_counts_servers_where_there_are_some() -> None:
    numbers: dict[str, float | str] = {names.SERVERS_TOTAL: 4, names.SERVERS_ALIVE: 3, names.SERVERS_RESTARTS: 1}
    assert text.line(numbers).endswith("| servers 3/4 | servers restarted 1")
    assert "servers" not in text.line({names.PROGRESS: 0.5})


def test_a_log_line_says_how_far_an_evaluation_is_while_it_lasts() -> None:
    numbers: dict[str, float | str] = {
        names.PROGRESS: 0.5,
        names.EVALUATED: 120,
        names.EVALUATION_MATCHES: 400,
        names.EVALUATION_OPPONENT: "max_damage",
    }
    during = text.line({**numbers, names.PHASE: "evaluating"})
    assert during.startswith("50% evaluating 120/400 against max_damage | ")
    assert text.line({**numbers, names.PHASE: "training"}).startswith("50% training | ")


def test_a_log_line_shows_nodes_beside_hosts_in_a_run_on_a_cluster() -> None:
    alone = text.line({names.PROGRESS: 0.5, names.PHASE: "training"})
    assert "nodes" not in alone
    nodes: dict[str, float | str] = {names.NODES_ALIVE: 2, names.NODES_TOTAL: 3}
    actors: dict[str, float | str] = {names.ACTORS_PLAYING: 4, names.ACTORS_TOTAL: 5}
    line = text.line({names.PROGRESS: 0.5, names.PHASE: "training", **nodes, **actors})
    assert "| actors 4/5 | nodes 2/3" in line
