"""A host that owes an answer can be asked for a sign of life."""

from __future__ import annotations

from pathlib import Path

from tests.playing import first_legal, toy_fleet, voided


def test_an_empty_question_between_choices_is_answered_and_changes_nothing(tmp_path: Path) -> None:
    endings: list[list[tuple[int, int]]] = []
    for nudges in (0, 3):
        ended: list[tuple[int, int]] = []
        with toy_fleet(tmp_path / str(nudges)) as fleet:
            while len(ended) < 8:
                arrivals = fleet.recv(10.0, wait_all=True)  # else the quicker of two hosts decides who is first
                ended += [(ending.match, ending.seed) for ending in arrivals.endings]
                fleet.send(arrivals.row, first_legal(arrivals))
                for _ in range(nudges):
                    fleet.nudge()
            assert not voided(fleet)
            assert fleet.health.restarts == 0
        endings.append(ended)
    assert endings[0] == endings[1]
