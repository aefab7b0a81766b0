from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import msgspec
import numpy as np
import pytest

from ludus.config.settings import OpponentsConfig
from ludus.errors import ConfigError
from ludus.league.matchmaking import MatchmakerState, OpponentNews, SharedMatchmaker, nash_weights, scripted_names
from ludus.league.records import Record
from ludus.types import Ending, Pairing


def test_the_learner_plays_all_seats_of_one_team_or_of_both() -> None:
    config = OpponentsConfig(past=0.0, scripted=0.5, scripted_names=("strong",))
    league = SharedMatchmaker(config, teams=(0, 0, 1, 1), scripted=("strong",), seed=3)
    seen = Counter(league.pair(match).policies for match in range(600))
    me, other = "learner", "scripted:strong"
    assert set(seen) == {(me, me, me, me), (me, me, other, other), (other, other, me, me)}
    assert seen[me, me, me, me] == pytest.approx(300, abs=60)


def matchmaker(seats: int = 2, **shares: float) -> SharedMatchmaker:
    config = OpponentsConfig(past=shares.get("past", 0.0), scripted=shares.get("scripted", 0.0))
    return SharedMatchmaker(config, teams=range(seats), scripted=("random", "strong", "clever"), seed=3)


def ending(score: tuple[float, float], void: str = "") -> Ending:
    rows = np.arange(2, dtype=np.int32)
    return Ending(0, rows, np.array(score, np.float32), np.zeros(2, np.float32), False, 0, void=void)


def kind(pairing: Pairing) -> str:
    others = [name for name in pairing.policies if name != "learner"]
    return others[0].partition(":")[0] if others else "self"


def test_matches_are_shared_out_as_configured() -> None:
    league = matchmaker(past=0.3, scripted=0.2)
    league.set_past([10, 20])
    kinds = Counter(kind(league.pair(match)) for match in range(4000))
    assert kinds["past"] == pytest.approx(1200, abs=120)
    assert kinds["scripted"] == pytest.approx(800, abs=100)
    assert kinds["self"] == 4000 - kinds["past"] - kinds["scripted"]


def test_a_game_with_one_seat_has_a_win_rate_without_an_opponent() -> None:
    league = matchmaker(seats=1)
    for score in (1.0, 0.0, 1.0, 1.0):
        end = Ending(0, np.zeros(1, np.int32), np.array([score], np.float32), np.zeros(1, np.float32), False, 0)
        league.report(league.pair(0), end)
    assert (league.rates["none"].matches, league.rates["none"].score) == (4, 0.75)
    assert matchmaker().rates == {}


def test_exactly_one_drawn_seat_learns_against_others_and_both_in_self_play() -> None:
    league = matchmaker(past=0.5, scripted=0.5)
    league.set_past([10])
    seats = Counter(league.pair(match).policies.index("learner") for match in range(1000))
    assert seats[0] == pytest.approx(500, abs=70)
    assert matchmaker().pair(0).policies == ("learner", "learner")


def test_share_of_past_selves_is_self_play_until_there_are_any() -> None:
    league = matchmaker(past=1.0)
    assert kind(league.pair(0)) == "self"
    league.set_past([25])
    assert "past:25" in league.pair(1).policies


def test_one_past_self_plays_for_a_while_and_in_time_all_of_them() -> None:
    league = matchmaker(past=1.0)
    league.set_past([1, 2, 3])
    guests = ["".join(set(league.pair(match).policies) - {"learner"}) for match in range(3000)]
    changes = sum(one != other for one, other in pairwise(guests))
    assert set(guests) == {"past:1", "past:2", "past:3"}
    assert changes <= 3000 / 64


def test_past_self_that_left_the_pool_is_not_drawn_again() -> None:
    league = matchmaker(past=1.0)
    league.set_past([1])
    league.pair(0)
    league.set_past([2])
    assert all("past:2" in league.pair(match).policies for match in range(1, 200))


def test_game_with_one_seat_has_the_learner_alone() -> None:
    assert matchmaker(seats=1, scripted=1.0).pair(0).policies == ("learner",)


def test_win_rates_count_the_learners_seat_and_leave_voided_matches_out() -> None:
    league = matchmaker()
    league.report(Pairing(0, ("scripted:strong", "learner")), ending((0.0, 1.0)))
    league.report(Pairing(1, ("learner", "scripted:strong")), ending((0.0, 1.0)))
    league.report(Pairing(2, ("learner", "past:5")), ending((0.5, 0.5)))
    league.report(Pairing(3, ("learner", "past:5")), ending((1.0, 0.0), void="died"))
    league.report(Pairing(4, ("learner", "learner")), ending((1.0, 0.0)))
    assert {name: (rate.matches, rate.score) for name, rate in league.rates.items()} == {
        "strong": (2, 0.5),
        "past": (1, 0.5),
    }


def test_restored_matchmaker_draws_what_the_first_would_have_drawn() -> None:
    first = matchmaker(past=0.4, scripted=0.3)
    first.set_past([1, 2, 3])
    for match in range(100):
        first.pair(match)
    first.report(Pairing(0, ("learner", "past:1")), ending((1.0, 0.0)))
    encoded = msgspec.json.encode(first.state())
    second = matchmaker(past=0.4, scripted=0.3)
    second.set_past([1, 2, 3])
    second.restore(msgspec.json.decode(encoded, type=MatchmakerState))
    assert [first.pair(match) for match in range(200)] == [second.pair(match) for match in range(200)]
    assert second.rates == first.rates


def test_scripted_opponents_are_all_but_random_unless_named() -> None:
    known = ("random", "strong")
    assert scripted_names(OpponentsConfig(), known) == ("strong",)
    assert scripted_names(OpponentsConfig(scripted_names=("random",)), known) == ("random",)
    with pytest.raises(ConfigError, match=r"opponents.scripted_names: .*'strng' .did you mean strong"):
        scripted_names(OpponentsConfig(scripted_names=("strng",)), known)


def test_shares_above_one_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"opponents: .*past=0.8 and scripted=0.4"):
        matchmaker(past=0.8, scripted=0.4)


def choosing(choose: str, **changes: object) -> SharedMatchmaker:
    """Meets past selves 1 to 3, of which it beats the first always and the last never."""
    config = msgspec.convert({"past": 1.0, "scripted": 0.0, "choose": choose, **changes}, OpponentsConfig)
    league = SharedMatchmaker(config, teams=(0, 1), scripted=("random", "strong"), seed=5)
    league.set_past([1, 2, 3])
    league.version = 100
    for version, wins in ((1, 100), (2, 50), (3, 0)):
        league.records[f"past:{version}"] = Record(wins, 100 - wins, 100, 100)
    return league


def drawn(league: SharedMatchmaker, blocks: int = 400) -> Counter[str]:
    met = Counter[str]()
    for match in range(64 * blocks):
        (opponent,) = set(league.pair(match).policies) - {"learner"}
        met[opponent] += 1
    return met


@pytest.mark.parametrize(
    ("weighting", "shares"),
    [("squared", (0.0, 0.2, 0.8)), ("variance", (0.03, 0.94, 0.03)), ("capped", (0.0, 0.5, 0.5))],
)
def test_pfsp_meets_opponents_by_what_they_teach(weighting: str, shares: tuple[float, ...]) -> None:
    met = drawn(choosing("pfsp", weighting=weighting))
    assert [met[f"past:{version}"] / met.total() for version in (1, 2, 3)] == pytest.approx(shares, abs=0.06)


def test_pfsp_returns_to_an_opponent_it_has_not_met_for_long() -> None:
    league = choosing("pfsp", half_life=10)
    assert drawn(league)["past:1"] == 0
    league.version = 300
    league.records["past:3"] = league.records["past:3"].at(300, 10)
    assert drawn(league)["past:1"] > 0


def test_results_of_other_actors_count_as_ones_own() -> None:
    league = choosing("pfsp")
    league.records.clear()
    assert drawn(league)["past:1"] > 64 * 100
    others = {"past:1": Record(100.0, 0.0, 100, 100), "past:2": Record(100.0, 0.0, 100, 100)}
    league.tell(OpponentNews(others=others))
    assert drawn(league)["past:1"] < 64 * 8


def test_latest_plays_the_newest_and_nash_the_mixture() -> None:
    assert set(drawn(choosing("latest"))) == {"past:3"}
    league = choosing("nash")
    league.tell(OpponentNews(weights={"past:1": 0.0, "past:2": 1.0, "past:3": 0.0}))
    assert set(drawn(league)) == {"past:2"}
    assert nash_weights({"a": 0.5, "b": 0.0}, ["a", "b", "newcomer"]).tolist() == [0.5, 0.0, 0.25]


def with_members(load: Callable[[str], bool] = lambda name: True, **changes: object) -> SharedMatchmaker:
    settings = {"past": 0.0, "scripted": 0.2, "league": "somewhere", "league_share": 0.5, **changes}
    config = msgspec.convert(settings, OpponentsConfig)
    league = SharedMatchmaker(config, teams=(0, 1), scripted=("strong",), seed=5, load=load)
    league.tell(OpponentNews(members=("main@1", "main@2")))
    return league


def test_members_of_a_league_have_a_share_of_their_own() -> None:
    league = with_members()
    kinds = Counter(kind(league.pair(match)) for match in range(4000))
    assert kinds["league"] == pytest.approx(2000, abs=140)
    assert kinds["scripted"] == pytest.approx(800, abs=100)
    league.report(Pairing(0, ("learner", "league:main@1")), ending((1.0, 0.0)))
    assert league.rates["league"].matches == 1
    assert league.records["league:main@1"].wins == 1.0


def test_a_member_that_cannot_be_loaded_does_not_play() -> None:
    asked: list[str] = []

    def load(name: str) -> bool:
        asked.append(name)
        return name == "main@2"

    league = with_members(load, scripted=0.0, league_share=1.0)
    assert all("league:main@2" in league.pair(match).policies for match in range(300))
    assert "main@1" in asked
    assert kind(with_members(lambda name: False, league_share=0.8).pair(0)) in ("self", "scripted")


def test_state_of_pfsp_and_league_survives_a_restart() -> None:
    first = with_members(choose="pfsp", past=0.2)
    first.set_past([1, 2])
    for match in range(200):
        pairing = first.pair(match)
        first.report(pairing, ending((1.0, 0.0)))
    second = with_members(choose="pfsp", past=0.2)
    second.set_past([1, 2])
    second.restore(msgspec.json.decode(msgspec.json.encode(first.state()), type=MatchmakerState))
    assert [first.pair(match) for match in range(300)] == [second.pair(match) for match in range(300)]
    assert first.state() == second.state()


def test_states_of_earlier_versions_are_read() -> None:
    old = msgspec.to_builtins(matchmaker().state())
    for name in ("member", "records", "starts", "news"):
        del old[name]
    matchmaker().restore(msgspec.convert(old, MatchmakerState))


def test_the_share_of_a_league_counts_towards_the_whole() -> None:
    with pytest.raises(ConfigError, match=r"past=0.5 and scripted=0.2 and league_share=0.5 are more than 1"):
        with_members(past=0.5)
