"""Matches on real arenas: goals, demolitions, boosts and limits; the same seed leads to the same bits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("RocketSim", reason="needs the extra rocket")

from tests.unit.games.rocket.playing import BOOST, GAS, REST, act, ball, body, car, endless, matches, placed, until_over

from ludus.games.rocket.arena import Pitch
from ludus.games.rocket.matches import RocketMatches
from ludus.games.rocket.options import RocketOptions
from ludus.games.rocket.scene import SceneReader
from ludus.games.rocket.simulator import rocketsim
from ludus.sdk.match import Turn


def history(played: RocketMatches, slot: int, seed: int, decisions: int) -> list[bytes]:
    generator = np.random.default_rng(seed)
    said = [played.start([slot], [seed]).obs.tobytes()]
    for _ in range(decisions):
        chosen = generator.integers(0, 90, (1, played._spec.seats)).astype(np.int32)
        turn = played.advance([slot], chosen)
        said.append(turn.obs.tobytes() + turn.reward.tobytes())
    return said


@pytest.mark.parametrize("team", [1, 3])
def test_the_same_seed_and_actions_are_the_same_match_in_any_arena_after_any_other(team: int) -> None:
    starts = {"kickoff": 1.0, "random": 1.0, "ground": 1.0}
    options = endless(
        team_size=team,
        starts=starts,
        feature_set="rich",
    )
    played = matches(options, slots=2)
    for seed in range(2):
        first = history(played, 0, seed, 60)
        history(played, 1, seed + 10, 30)
        assert history(played, 1, seed, 60) == first
        assert history(matches(options), 0, seed, 60) == first


@pytest.mark.parametrize("scorer", [0, 1])
def test_a_goal_ends_the_match_for_the_team_that_scored(scorer: int) -> None:
    side = 1 - 2 * scorer
    shot = placed(ball(0, side * 4000, velocity=(0, side * 2500, 0)), car(3000, 0), car(3000, 500))
    options = RocketOptions(rewards={"goal": 10.0, "concede": -7.0})
    played = matches(options, shot)
    played.start([0], [1])
    turn, earned = until_over(played, REST, REST)
    assert turn.score == ((1.0, 0.0) if scorer == 0 else (0.0, 1.0))
    assert not turn.truncated
    assert earned[scorer] == 10.0
    assert earned[1 - scorer] == -7.0
    assert (turn.facts["goals"], turn.facts["timeout"], turn.facts["no_touch"]) == (1.0, 0.0, 0.0)
    assert (turn.facts[f"reward_goal@{scorer}"], turn.facts[f"reward_goal@{1 - scorer}"]) == (10.0, 0.0)


def test_terms_of_all_turns_add_up_to_rewards_and_facts() -> None:
    played = matches(RocketOptions(timeout_s=2.0), slots=2)
    first = played.start([0, 1], [1, 2])
    assert first.terms is None
    terms, rewards = np.zeros((2, 2, len(played._rewards.names))), np.zeros((2, 2))
    over: Mapping[int, Turn] = {}
    while not over:
        turn = played.advance([0, 1], np.full((2, 2), BOOST, np.int32))
        assert turn.terms is not None
        terms += turn.terms.earned
        rewards += turn.reward
        over = turn.over
    assert np.allclose(terms.sum(axis=2), rewards, atol=1e-4)
    assert np.abs(terms).sum() > 0.1
    facts = over[1].facts
    earned = [[facts[f"reward_{name}@{seat}"] for name in played._rewards.names] for seat in range(2)]
    assert np.allclose(earned, terms[1], atol=1e-4)


def test_a_lost_match_leaves_the_terms_of_the_others_in_their_places() -> None:
    played = matches(RocketOptions(), slots=2)
    played.start([0, 1], [1, 2])
    alone = matches(RocketOptions())
    alone.start([0], [2])
    played._pitches[0] = None
    actions = np.full((2, 2), BOOST, np.int32)
    both, one = played.advance([0, 1], actions), alone.advance([0], actions[:1])
    assert set(both.lost) == {0}
    assert both.terms is not None
    assert one.terms is not None
    assert np.array_equal(both.terms.earned[1], one.terms.earned[0])


def test_team_mates_share_the_score_of_their_team() -> None:
    shot = placed(ball(0, 4000, velocity=(0, 2500, 0)), *(car(3000, 300 * each) for each in range(4)))
    played = matches(RocketOptions(team_size=2), shot)
    played.start([0], [1])
    assert until_over(played, *[REST] * 4)[0].score == (1.0, 1.0, 0.0, 0.0)


def test_a_limit_truncates_and_hands_over_the_last_state() -> None:
    rest = placed(ball(0, 0), car(-3000, -1000), car(3000, 1000))
    played = matches(RocketOptions(timeout_s=2.0, no_touch_s=100.0), rest)
    played.start([0], [1])
    turn, _ = until_over(played, REST, REST)
    assert turn.truncated
    assert turn.score == (0.5, 0.5)
    assert turn.obs.shape == (2, played._spec.obs.nbytes)
    assert turn.obs.any()
    assert (turn.facts["turns"], turn.facts["seconds"], turn.facts["timeout"]) == (30.0, 2.0, 1.0)


def test_a_ball_that_nobody_touches_truncates_and_a_touch_starts_the_time_again() -> None:
    before_the_ball = placed(ball(0, 0), car(0, -600), car(3000, 1000))
    played = matches(RocketOptions(timeout_s=100.0, no_touch_s=3.0), before_the_ball)
    played.start([0], [1])
    touched = 0
    for decision in range(1, 100):
        turn = act(played, GAS if not touched else REST, REST)
        assert not turn.over
        if played._touches[0, 0]:
            touched = decision
            break
    assert 0 < touched < 45
    last, _ = until_over(played, REST, REST)
    assert last.truncated
    assert last.facts["no_touch"] == 1.0
    assert last.facts["turns"] >= touched + 45
    assert last.facts["touches@0"] >= 1
    assert last.facts["touches@1"] == 0


def test_a_demolished_car_is_gone_for_three_seconds_and_then_drives_again() -> None:
    ram = placed(ball(-3000, -3000), car(0, -1000, velocity=(0, 2300, 0)), car(0, 0, yaw=0.0), boost=100.0)
    options = endless(
        rewards={"demo": 1.0, "demoed": -2.0},
    )
    played = matches(options, ram)
    played.start([0], [1])
    gone, earned = [], np.zeros(2, np.float32)
    for _ in range(80):
        turn = act(played, BOOST, REST)
        earned += turn.reward[0]
        gone.append(float(view(played, turn.obs[0], "car")[1, 16]))
    assert earned.tolist() == [1.0, -2.0]
    demolished = [left for left in gone if left > 0]
    assert max(demolished) == pytest.approx(3.0, abs=0.1)
    assert len(demolished) == pytest.approx(3.0 * 15, abs=2)
    assert gone[-1] == 0.0


def test_a_shot_that_the_other_team_stops_is_a_shot_and_a_save() -> None:
    shot = placed(ball(0, 2000), car(0, 1500, velocity=(0, 2000, 0)), car(3000, -3000))
    played = matches(endless(rewards={"shot": 1.0, "save": 1.0}), shot)
    played.start([0], [1])
    pitch = played._pitches[0]
    assert pitch is not None
    earned, hits = np.zeros(2, np.float32), 0
    for decision in range(60):
        turn = act(played, REST if hits else GAS, REST)
        assert not turn.over
        earned += turn.reward[0]
        hits = hits or (decision if played._touches[0, 0] else 0)
        if hits and decision == hits + 6:  # the keeper is put into its way
            at = pitch.arena.ball.get_state().pos
            state = pitch.cars[1].get_state()
            pitch._move(state, body(at.x, at.y + 400, at.z, yaw=-np.pi / 2, velocity=(0, -1500, 0)))
            pitch.cars[1].set_state(state)
    assert earned.tolist() == [1.0, 1.0]


def test_where_a_demolished_car_returns_is_decided_by_the_seed_of_the_match() -> None:
    into = placed(ball(3000, 3000), car(0, -2000, velocity=(0, 2290, 0)), car(0, -500), boost=100.0)
    places = set()
    for seed in range(8):
        paths = []
        for _ in range(2):
            played = matches(endless(), into)
            played.start([0], [seed])
            rows = [act(played, BOOST if decision < 15 else REST, REST).obs for decision in range(60)]
            paths.append(np.stack(rows))
        assert np.array_equal(paths[0], paths[1])
        timers = [float(view(played, row[0], "car")[1, 16]) for row in paths[0]]
        assert max(timers) > 2.0
        assert timers[-1] == 0.0
        places.add(round(float(view(played, paths[0][-1][0], "car")[1, 0]) * 2300))
    assert len(places) > 1


def test_boost_is_used_up_and_a_pad_gives_some_and_is_empty_for_its_time() -> None:
    to_pad = placed(ball(3000, 3000), car(0, -3600), car(-3000, 3000), boost=5.0)
    played = matches(
        endless(
            rewards={"pickup": 1.0, "boost_gain": 1.0},
        ),
        to_pad,
    )
    played.start([0], [1])
    amounts, timers, rewards = [], [], []
    for _ in range(120):
        turn = act(played, BOOST, REST)
        amounts.append(float(view(played, turn.obs[0], "car")[0, 15]) * 100)
        timers.append(np.array(view(played, turn.obs[0], "pads"), np.float64) * 10)
        rewards.append(float(turn.reward[0, 0]))
    assert amounts[0] < 5.0
    assert max(np.diff(amounts)) > 8
    taken = next(index for index, each in enumerate(timers) if each[0].any())
    pad = int(timers[taken][0].argmax())
    assert timers[taken][1][33 - pad] == timers[taken][0][pad]
    assert timers[taken][0][pad] == pytest.approx(4.0, abs=8 / 120)
    assert timers[taken + 15][0][pad] == pytest.approx(timers[taken][0][pad] - 1.0, abs=1e-3)
    assert timers[taken + 60][0][pad] == 0.0
    assert rewards[taken] == pytest.approx(1.0 + (amounts[taken] - amounts[taken - 1]) / 100, abs=1e-3)


def test_a_pad_that_is_taken_again_as_soon_as_it_is_full_starts_anew_whatever_rounding_left() -> None:
    simulator = rocketsim()
    pitch, reader, passed_s = Pitch(simulator, 1), SceneReader(1, 2), 8 / 120
    taken = simulator.BoostPadState()
    taken.is_active, taken.cooldown = False, 3.99
    pitch.pads[7].set_state(taken)
    for rounding in (-1e-6, 1e-6):
        reader._cooldown[0, 7] = passed_s + rounding
        assert reader.scene([0], [pitch], passed_s).cooldown[0, 7] == pytest.approx(3.99)


def test_tick_skip_is_how_long_a_decision_holds() -> None:
    for skip in (1, 4, 8):
        played = matches(
            endless(
                tick_skip=skip,
            ),
            slots=1,
        )
        played.start([0], [3])
        before = played._pitches[0]
        assert before is not None
        ticks = before.arena.tick_count
        act(played, GAS, GAS)
        assert before.arena.tick_count - ticks == skip


@pytest.mark.parametrize("call", ["step", "read_state"])
def test_an_arena_that_raises_loses_its_match_and_the_others_go_on(call: str) -> None:
    played = matches(endless(), slots=3)
    played.start([0, 1, 2], [1, 2, 3])
    whole = matches(endless(), slots=3)
    whole.start([0, 1, 2], [1, 2, 3])
    broken = played._pitches[1]
    assert broken is not None
    setattr(broken, call, _fail)
    actions = np.full((3, 2), GAS, np.int32)
    turn, expected = played.advance([0, 1, 2], actions), whole.advance([0, 1, 2], actions)
    assert {place: str(error) for place, error in turn.lost.items()} == {1: "the arena is broken"}
    assert np.array_equal(turn.obs[[0, 2]], expected.obs[[0, 2]])
    again = played.start([1], [2])
    assert not again.lost
    assert np.array_equal(again.obs, matches(endless()).start([0], [2]).obs)


def test_both_teams_see_the_field_from_their_own_side() -> None:
    mirrored = placed(ball(0, 0), car(500, -2000), car(-500, 2000, yaw=-np.pi / 2))
    played = matches(
        endless(
            feature_set="rich",
        ),
        mirrored,
    )
    turn = played.start([0], [1])
    for _ in range(10):
        for leaf in played._spec.obs.leaves:
            blue, orange = view(played, turn.obs[0], leaf.name)
            assert np.allclose(blue, orange, atol=2e-3), leaf.name
        turn = act(played, GAS, GAS)


def view(played: RocketMatches, rows: NDArray[np.uint8], leaf: str) -> NDArray[np.float32]:
    return played._spec.obs.leaf(rows, leaf).astype(np.float32)


def _fail(*_: object) -> None:
    raise RuntimeError("the arena is broken")
