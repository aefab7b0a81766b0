"""Scripted players of Magic read what is asked from observations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.errors import ConfigError
from ludus.games.forge.scripted import KNOCKS, CurvePolicy, ForgeAiPolicy, RandomOptionPolicy
from ludus.spec import GameSpec, ObsSpec
from ludus.types import Arrivals

ASKS = ["SEATING", "PLAY", "TARGET", "ATTACK"]
DOES = [
    "PASS",
    "LAND",
    "CAST",
    "ACTIVATE",
    "CARD",
    "PLAYER",
    "STACKED",
    "ATTACK",
    "BLOCK",
    "KEEP",
    "FIRST",
    "YES",
    "NUMBER",
    "STAY",
]
EFFECTS = ["DealDamage", "Pump", "PumpAll", "PutCounter", "Attach", "Untap", "Regenerate", "Animate", "GainLife"]
CARD_COLUMNS = [
    "is_here", "is_mine", "is_subject", "is_tapped", "on_battlefield", "is_creature", "cost", "power", "toughness",
]  # fmt: skip
OPTION_COLUMNS = ["number", "cost", "is_mine"]
CARDS, ACTIONS = 4, 4
Option = dict[str, Any]  # Any: the name of what it does, and numbers of its columns


def spec() -> GameSpec:
    leaves = {
        "card_numbers": ("fixed8", (CARDS, len(CARD_COLUMNS))),
        "option_does": ("uint8", (ACTIONS,)),
        "option_card": ("uint8", (ACTIONS,)),
        "option_numbers": ("fixed8", (ACTIONS, len(OPTION_COLUMNS))),
        "state": ("fixed8", (len(ASKS) + len(EFFECTS),)),
    }
    layout = {
        "asks": ASKS, "does": DOES, "effects": EFFECTS, "card_columns": CARD_COLUMNS, "option_columns": OPTION_COLUMNS,
    }  # fmt: skip
    return GameSpec("forge", 2, ACTIONS, ObsSpec.pack(leaves), 1, layout)


def asked(
    asks: str,
    options: list[Option],
    cards: list[dict[str, float]] | None = None,
    effect: str = "",
    opens: bool = False,
) -> Arrivals:
    """Return one row with a question, its options and the cards on the table."""
    game = spec()
    obs = np.zeros((1, game.obs.nbytes), np.uint8)
    state = np.zeros((1, len(ASKS) + len(EFFECTS)))
    numbers, table = np.zeros((1, ACTIONS, len(OPTION_COLUMNS))), np.zeros((1, CARDS, len(CARD_COLUMNS)))
    does, means = np.zeros((1, ACTIONS)), np.zeros((1, ACTIONS))
    state[0, ASKS.index(asks)] = 1
    if effect:
        state[0, len(ASKS) + EFFECTS.index(effect)] = 1
    for at, card in enumerate(cards or []):
        for column, value in {"is_here": 1, **card}.items():
            table[0, at, CARD_COLUMNS.index(column)] = value
    for at, option in enumerate(options):
        does[0, at], means[0, at] = DOES.index(option["does"]), option.get("card", 0)
        for at_column, column in enumerate(OPTION_COLUMNS):
            numbers[0, at, at_column] = option.get(column, 0)
    leaves = {
        "state": state,
        "card_numbers": table,
        "option_does": does,
        "option_card": means,
        "option_numbers": numbers,
    }
    for name, values in leaves.items():
        game.obs.write(obs, name, values)
    legal = np.arange(ACTIONS)[None] < len(options)
    zero = np.zeros(1, np.int32)
    return Arrivals(zero, zero.astype(np.int64), obs, legal, np.zeros(1, np.float32), np.array([opens]))


SEATING = [{"does": "PASS"}, {"does": "YES"}]


def test_forges_ai_is_called_by_a_sequence_that_nobody_draws_by_chance() -> None:
    policy = ForgeAiPolicy(spec(), 1)
    answers = [int(policy.act(asked("SEATING", SEATING, opens=at == 0)).action[0]) for at in range(len(KNOCKS))]
    assert tuple(answers) == KNOCKS
    assert int(policy.act(asked("SEATING", SEATING, opens=True)).action[0]) == KNOCKS[0]  # the next match


def test_the_sequence_continues_where_it_was_saved() -> None:
    first, second = ForgeAiPolicy(spec(), 1), ForgeAiPolicy(spec(), 1)
    for at in range(5):
        first.act(asked("SEATING", SEATING, opens=at == 0))
    second.restore(first.state())
    assert int(second.act(asked("SEATING", SEATING)).action[0]) == KNOCKS[5]


def test_a_host_that_lets_nobody_in_is_named() -> None:
    with pytest.raises(ConfigError, match=r"set options\.forge_ai to true"):
        ForgeAiPolicy(spec(), 1).act(asked("PLAY", [{"does": "PASS"}, {"does": "LAND"}], opens=True))


@pytest.mark.parametrize("policy", [RandomOptionPolicy, CurvePolicy])
def test_other_policies_play_their_seats_themselves(policy: type[RandomOptionPolicy]) -> None:
    for seed in range(20):
        action = policy(spec(), seed).act(asked("SEATING", SEATING, opens=True)).action
        assert int(action[0]) != KNOCKS[0]


def test_the_greedy_player_plays_a_land_then_the_dearest_spell() -> None:
    policy = CurvePolicy(spec(), 1)
    spells: list[Option] = [{"does": "PASS"}, {"does": "CAST", "cost": 0.25}, {"does": "CAST", "cost": 0.5}]
    assert int(policy.act(asked("PLAY", spells)).action[0]) == 2
    assert int(policy.act(asked("PLAY", [*spells, {"does": "LAND"}])).action[0]) == 3
    assert int(policy.act(asked("PLAY", [{"does": "PASS"}, {"does": "ACTIVATE"}])).action[0]) == 0


def test_the_greedy_player_aims_damage_at_the_opponent_and_boosts_at_its_own() -> None:
    cards = [{"is_mine": 1, "power": 0.25}, {"power": 0.5}]
    targets = [{"does": "CARD", "card": 1}, {"does": "CARD", "card": 2}]
    policy = CurvePolicy(spec(), 1)
    assert int(policy.act(asked("TARGET", targets, cards, effect="DealDamage")).action[0]) == 1
    assert int(policy.act(asked("TARGET", targets, cards, effect="Pump")).action[0]) == 0


@pytest.mark.parametrize(("toughness_of_blocker", "attacks"), [(0.25, 1), (0.75, 0)])
def test_the_greedy_player_attacks_where_no_blocker_wins(toughness_of_blocker: float, attacks: int) -> None:
    mine = {"is_mine": 1, "is_subject": 1, "power": 0.5, "toughness": 0.25, "on_battlefield": 1, "is_creature": 1}
    blocker = {"power": 0.5, "toughness": toughness_of_blocker, "on_battlefield": 1, "is_creature": 1}
    question = asked("ATTACK", [{"does": "STAY", "card": 1}, {"does": "ATTACK", "card": 1}], [mine, blocker])
    assert int(CurvePolicy(spec(), 1).act(question).action[0]) == attacks
