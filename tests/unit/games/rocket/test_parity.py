"""Observations, goals and touches are RLGym's own, step by step in the same matches."""

from __future__ import annotations

import pytest

pytest.importorskip("RocketSim", reason="needs the extra rocket")
pytest.importorskip("rlgym.rocket_league", reason="needs the extra rocket")

from tests.unit.games.rocket.parity import furthest_apart

CLOSE = 1e-4


@pytest.mark.parametrize(("team", "room", "late"), [(1, 3, 1), (1, 1, 0), (3, 3, 1)])
def test_observations_are_those_of_rlgym(team: int, room: int, late: int) -> None:
    worst, _, touches = furthest_apart(team, 400, late=late, room=room)
    assert worst < CLOSE
    assert touches > 0


@pytest.mark.slow
@pytest.mark.parametrize("team", [1, 2, 3])
def test_observations_are_those_of_rlgym_over_ten_thousand_steps(team: int) -> None:
    worst, goals, touches = furthest_apart(team, 10_000, seed=100)
    assert worst < CLOSE
    assert goals > 0
    assert touches > 50
