"""A host that owes an answer can be asked for a sign of life."""

from __future__ import annotations

from pathlib import Path

from tests.playing import first_legal, play, toy_fleet, voided


def test_an_empty_question_between_choices_is_answered_and_changes_nothing(tmp_path: Path) -> None:
    endings = []
    for nudges in (0, 3):
        with toy_fleet(tmp_path / str(nudges)) as fleet:
            for _ in range(5):
                arrivals = fleet.recv(10.0, wait_all=True)
                fleet.send(arrivals.row, first_legal(arrivals))
                for _ in range(nudges):
                    fleet.nudge()
            played = play(fleet, lambda played: len(played.finished) >= 8)
            assert not voided(fleet)
            assert fleet.health.restarts == 0
        endings.append(sorted((ending.match, ending.seed) for ending in played.finished)[:4])
    assert endings[0] == endings[1]
