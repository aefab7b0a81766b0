"""Reward terms of a game written in Python: facts of the match, and an event for each turn if the fleet asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests import hosted, rewarding

from ludus.sdk.match import HostedGame, Turn
from ludus.wire import frames
from ludus.wire.frames import FrameKind

FIRST = {"goal": [1.0, -1.0], "boost": [0.2, 0.1]}
ENDS = {"goal": [0.0, 0.0], "boost": [0.0, 0.0]}


def together(options: Mapping[str, Any]) -> HostedGame:  # Any: none are given
    return HostedGame(rewarding.SPEC, group=rewarding.RewardingGroup)


def terms_of(fleet: hosted.Fleet) -> tuple[int, dict[str, list[float]]]:
    report = frames.decode_event(fleet.next(FrameKind.EVENT))["reward_terms"]
    rounded = {name: [round(each, 6) for each in values] for name, values in report["terms"].items()}
    return report["match"], rounded


@pytest.mark.parametrize("make", [rewarding.make_game, together], ids=["in turn", "together"])
def test_terms_come_before_the_turn_that_earned_them(make: Any) -> None:  # Any: a function of options
    with hosted.served(make, rewarding.SPEC) as fleet:
        fleet.configure(schedule=[(7, 11)], events=True)
        fleet.next(FrameKind.HELLO)
        fleet.arrivals()
        fleet.act([0, 1], [2, 1])
        assert terms_of(fleet) == (7, FIRST)
        fleet.arrivals()
        fleet.act([0, 1], [2, 1])
        assert terms_of(fleet) == (7, FIRST)
        fleet.arrivals()
        fleet.act([0, 1], [0, 0])
        assert terms_of(fleet) == (7, ENDS)
        assert fleet.ending().number == 7
        assert fleet.arrivals().done


def test_terms_of_a_match_are_added_up_as_facts_without_events() -> None:
    with hosted.served(rewarding.make_game, rewarding.SPEC) as fleet:
        fleet.configure(schedule=[(7, 11)])
        fleet.next(FrameKind.HELLO)
        for actions in ([2, 1], [2, 1], [0, 0]):
            fleet.arrivals()
            fleet.act([0, 1], actions)
        facts = {name: round(value, 6) for name, value in fleet.ending().facts.items()}
        earned = {"reward_goal@0": 2.0, "reward_goal@1": -2.0, "reward_boost@0": 0.4, "reward_boost@1": 0.2}
        assert facts == {"turns": 3.0, **earned}
        fleet.arrivals()


@pytest.mark.parametrize(
    "terms", [{"goal": [1.0]}, {"goal": [1.0, float("nan")]}, {"a@b": [1.0, 2.0]}, {"x" * 64: [1.0, 2.0]}]
)
def test_invalid_terms_lose_the_match_only(terms: Mapping[str, Sequence[float]]) -> None:
    class Wrong(rewarding.Rewarding):
        def advance(self, actions: Mapping[int, int]) -> Turn:
            turn = super().advance(actions)
            return Turn(turn.seats, turn.obs, turn.legal, turn.reward, terms=terms)

    with hosted.served(lambda options: HostedGame(rewarding.SPEC, Wrong), rewarding.SPEC) as fleet:
        fleet.configure()
        fleet.next(FrameKind.HELLO)
        fleet.arrivals()
        fleet.act([0, 1], [2, 1])
        assert "expected 2 finite numbers" in fleet.error().message
        assert fleet.arrivals().match.tolist() == [1, 1]
