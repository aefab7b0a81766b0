"""The rich feature set says from inside the car what the default one says of the field."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("RocketSim", reason="needs the extra rocket")

from tests.unit.games.rocket.playing import endless, matches

from ludus.games.rocket import controls

GOAL = np.array((0.0, 5120.0, 321.4))


@pytest.mark.parametrize(("team", "room"), [(1, 1), (1, 3), (2, 3)])
def test_rich_features_follow_from_the_default_ones(team: int, room: int) -> None:
    played = matches(endless(team_size=team, room=room, feature_set="rich", starts={"random": 1.0}), slots=3)
    generator, obs = np.random.default_rng(2), played._spec.obs
    played.start(range(3), range(3))
    for _ in range(5):
        actions = generator.integers(0, 90, (3, 2 * team)).astype(np.int32)
        turn = played.advance(range(3), actions)
    for arena in range(3):
        for seat in range(2 * team):
            leaf = {each.name: obs.leaf(turn.obs[arena, seat], each.name).astype(float) for each in obs.leaves}
            ball, car = leaf["ball"], leaf["car"]
            forward, up = car[3:6], car[6:9]
            inside = np.array((forward, np.cross(up, forward), up))
            place, moves = car[0:3] * 2300, car[9:12] * 2300
            away = ball[0:3] * 2300 - place
            expected = [
                *(inside @ away / 2300),
                *(inside @ (ball[3:6] * 2300 - moves) / 2300),
                *(inside @ moves / 2300),
                *(inside @ (GOAL - place) / 2300),
                *(inside @ (GOAL * (1, -1, 1) - place) / 2300),
                np.linalg.norm(away) / 2300,
                np.dot(away, forward) / np.linalg.norm(away),
                place[2] / 2044,
            ]
            assert np.allclose(leaf["relative"], expected, atol=1e-4)
            there = 0
            for other, seen in zip(leaf["others"], leaf["others_relative"], strict=True):
                if not other.any():
                    assert not seen.any()
                    continue
                there += 1
                apart = [*(inside @ (other[0:3] - car[0:3])), *(inside @ (other[9:12] - car[9:12]))]
                assert np.allclose(seen, apart, atol=1e-4)
            assert there == 2 * team - 1
            assert np.array_equal(leaf["held"], controls.table()[actions[arena, seat]])
            assert leaf["clock"] == pytest.approx([5 * 8 / 120 / 1e6] * 2, abs=1e-6)
