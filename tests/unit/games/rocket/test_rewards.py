"""Reward terms, against a slow and obvious twin; weights, sparse rewards and files of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from ludus.errors import ConfigError
from ludus.games.rocket import scene
from ludus.games.rocket.options import RocketOptions, check, rewards_of
from ludus.games.rocket.rewards import TERMS, Earlier, RewardFile, Rewards, read_rewards
from ludus.games.rocket.scene import Scene

N, TEAM, PASSED_S = 5, 2, 8 / 120


def random_scene(seed: int) -> Scene:
    """Numbers anywhere; orange's view is blue's turned by half."""
    generator = np.random.default_rng(seed)
    ball = _both_views(generator.normal(size=(N, 25)) * 1000)
    cars = _both_views(generator.normal(size=(N, 2 * TEAM, 36)) * 1000)
    cars[:, :, : scene.ON_GROUND + 1] = generator.integers(0, 2, (N, 2 * TEAM, 9, 1))
    cars[:, :, scene.BOOST] = generator.uniform(0, 100, (N, 2 * TEAM, 1))
    flags = generator.integers(0, 2, (N, 2 * TEAM, len(scene.FLAG))).astype(np.float32)
    touches, scored = generator.integers(0, 3, (N, 2 * TEAM)), generator.integers(-1, 2, N)
    numbers = [np.zeros((N, 2 * 34)), *(each.reshape(N, -1) for each in (ball, cars, flags)), np.zeros((N, 34))]
    return Scene.of(np.concatenate(numbers, axis=1).astype(np.float32), scene.SceneColumns(2 * TEAM), touches, scored)


def _both_views(numbers: np.ndarray) -> np.ndarray:
    turned = numbers.copy()
    for vector in (0, 7, 10) if numbers.shape[-1] == 25 else (11, 18, 21, 24, 27, 30):
        turned[..., vector : vector + 2] *= -1
    return np.stack((numbers, turned), axis=-1).astype(np.float32)


def twin(before: Scene, after: Scene, arena: int, seat: int) -> Mapping[str, float]:
    """What a car earns by some of the terms, in blue's view and number by number."""
    team = seat // TEAM
    car, was = after.cars[arena, seat, :, 0].astype(float), before.cars[arena, seat, :, 0].astype(float)
    ball, ball_was = after.ball[arena, :, 0].astype(float), before.ball[arena, :, 0].astype(float)
    goal = np.array((0.0, 5120.0 if team == 0 else -5120.0, 321.4))
    to_goal, to_ball = goal - ball[0:3], ball[0:3] - car[11:14]
    to_goal, to_ball = to_goal / np.linalg.norm(to_goal), to_ball / np.linalg.norm(to_ball)
    touched = after.touches[arena, seat] > 0
    return {
        "goal": float(after.scored[arena] == team),
        "concede": float(after.scored[arena] == 1 - team),
        "touch": float(touched),
        "touch_strength": float(touched) * float(np.linalg.norm(ball[7:10] - ball_was[7:10])) / 6000,
        "ball_to_goal": float(np.dot(ball[7:10], to_goal)) / 6000 * PASSED_S,
        "speed_to_ball": float(np.dot(car[18:21], to_ball)) / 2300 * PASSED_S,
        "face_ball": float(np.dot(car[24:27], to_ball)) * PASSED_S,
        "behind_ball": PASSED_S * float((ball[1] - car[12]) * (1 if team == 0 else -1) > 0),
        "speed": float(np.linalg.norm(car[18:21])) / 2300 * PASSED_S,
        "air": PASSED_S * float(car[8] == 0),
        "boost": (car[10] / 100) ** 0.5 * PASSED_S,
        "boost_gain": max(car[10] - was[10], 0) / 100,
        "pickup": car[6] - was[6],
        "save": car[3] - was[3],
        "shot": car[4] - was[4],
        "demo": car[5] - was[5],
        "demoed": float(car[7] > was[7]),
    }


def test_terms_are_what_their_twins_say() -> None:
    before, after = random_scene(1), random_scene(2)
    earned = Rewards(RewardFile(dict.fromkeys(TERMS, 1.0)), TEAM)
    terms = earned.earned(Earlier.of(before), after, PASSED_S)
    for arena in range(N):
        for seat in range(2 * TEAM):
            for name, value in twin(before, after, arena, seat).items():
                assert terms[arena, seat, earned.names.index(name)] == pytest.approx(value, rel=1e-4, abs=1e-6), name


def test_weights_multiply_their_terms() -> None:
    before, after = random_scene(3), random_scene(4)
    plain, weighted = (
        Rewards(RewardFile({"touch": factor, "speed": 2 * factor}), TEAM).earned(Earlier.of(before), after, PASSED_S)
        for factor in (1.0, -3.0)
    )
    assert np.allclose(weighted, -3 * plain)


def test_sparse_rewards_are_goals_alone() -> None:
    options = RocketOptions(rewards={"goal": 2.0, "touch": 1.0, "concede": -1.0}, sparse=True)
    assert rewards_of(options).names == ("goal", "concede")


def test_team_spirit_shares_what_a_team_earned() -> None:
    before, after = random_scene(5), random_scene(6)
    own, half, shared = (
        Rewards(RewardFile({"speed": 1.0}, team_spirit=spirit), TEAM).earned(Earlier.of(before), after, PASSED_S)[
            ..., 0
        ]
        for spirit in (0.0, 0.5, 1.0)
    )
    for team in (slice(0, TEAM), slice(TEAM, 2 * TEAM)):
        mean = own[:, team].mean(axis=1, keepdims=True)
        assert np.allclose(shared[:, team], mean, atol=1e-6)
        assert np.allclose(half[:, team], (own[:, team] + mean) / 2, atol=1e-6)


def test_opponents_rewards_are_subtracted() -> None:
    before, after = random_scene(7), random_scene(8)
    own, half, zero_sum = (
        Rewards(RewardFile({"speed": 1.0}, opponent_scale=scale), TEAM).earned(Earlier.of(before), after, PASSED_S)[
            ..., 0
        ]
        for scale in (0.0, 0.5, 1.0)
    )
    blue, orange = own[:, :TEAM].mean(axis=1, keepdims=True), own[:, TEAM:].mean(axis=1, keepdims=True)
    assert np.allclose(half[:, :TEAM], own[:, :TEAM] - orange / 2, atol=1e-6)
    assert np.allclose(half[:, TEAM:], own[:, TEAM:] - blue / 2, atol=1e-6)
    assert np.allclose(zero_sum.sum(axis=1), 0.0, atol=1e-5)


def test_a_file_says_weights_and_whether_they_are_sparse(tmp_path: Path) -> None:
    path = tmp_path / "rewards.yaml"
    path.write_text("sparse: true\nweights: {goal: 5, touch: 1}\n")
    options = RocketOptions(rewards_file=str(path))
    check(options)
    assert rewards_of(options).names == ("goal",)
    assert read_rewards(str(path)).weights == {"goal": 5.0, "touch": 1.0}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("weights: {gaol: 1}", "there is no term 'gaol'; did you mean goal?"),
        ("weights: {goal: much}", "weights"),
        ("wieghts: {goal: 1}", "wieghts"),
        ("weights: {goal: .inf}", "expected a finite number"),
        ("weights: [", "rewards.yaml"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_what_is_wrong_in_it(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "rewards.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"options\.rewards_file") as refused:
        check(RocketOptions(rewards_file=str(path)))
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rewards": {"tuch": 1.0}}, "options.rewards: there is no term 'tuch'; did you mean touch?"),
        ({"rewards": {"touch": 1.0}, "sparse": True}, "sparse rewards need goal or concede"),
        ({"rewards_file": "nowhere.yaml"}, "nowhere.yaml: cannot be read"),
        ({"rewards_file": "a.yaml", "sparse": True}, "leave them out here"),
        ({"starts": {"kickof": 1.0}}, "options.starts: there is no start 'kickof'; did you mean kickoff?"),
        ({"starts": {"kickoff": 0.0}}, "no start has a weight"),
        ({"team_size": 3, "room": 2}, "options.room: 2 is less than team_size 3"),
    ],
)
def test_options_that_cannot_be_are_refused(options: Mapping[str, object], words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check(RocketOptions(**options))  # type: ignore[arg-type]
    assert words in str(refused.value)
