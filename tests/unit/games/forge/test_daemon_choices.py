"""The decisions of a Forge daemon as options, the replies they make, and what a player sees of the game."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from ludus.errors import ConfigError, UntrustedError
from ludus.games import trust
from ludus.games.forge import daemon_view
from ludus.games.forge.daemon_choices import KINDS, MOST_OPTIONS, Question, question
from ludus.games.forge.daemon_game import game
from ludus.games.forge.daemon_lines import (
    DaemonError,
    Decision,
    Failure,
    GameResult,
    Note,
    RefusedLine,
    announces_persistence,
    read,
)
from ludus.games.forge.daemon_options import DaemonOptions, addresses, check, new_game, program

NAMES = ("Agent(1)-red", "Agent(2)-green")
SPEC = daemon_view.spec_of()


def card(number: int, name: str = "Bear", **fields: Any) -> dict[str, Any]:  # Any: JSON
    return {"id": number, "name": name, "mana_cost": "{1}{G}", "cmc": 2, "types": "Creature - Bear", **fields}


def decision(kind: str, player: int = 0, hands: Sequence[Sequence[int]] = ((1, 2), (3,)), **data: Any) -> Decision:
    players = [
        {
            "name": name,
            "life": 20,
            "hand_size": len(hand),
            "hand": [card(number, f"Card {number}") for number in hand],
            "library_size": 40,
            "battlefield": [card(10 + seat, power=2, toughness=2, tapped=True, keywords=["Flying"])],
            "mana_pool": {"total": 1, "green": 1},
        }
        for seat, (name, hand) in enumerate(zip(NAMES, hands, strict=True))
    ]
    state = {"players": players, "active_player": NAMES[0], "stack": []}
    fields = {"decision_type": kind, "player": NAMES[player], "turn": 3, "phase": "MAIN1", "game_state": state, **data}
    line = read(b"DECISION:" + msgspec.json.encode(fields))
    assert isinstance(line, Decision)
    return line


def asked(kind: str, **data: Any) -> Question:
    question_of = question(decision(kind, **data))
    assert question_of is not None
    return question_of


def items(*indices: int) -> list[dict[str, Any]]:
    return [{"index": index, "card_id": index, "name": f"Card {index}"} for index in indices]


ACTIONS = {"actions": [*items(0, 1), {"index": 2, "card_id": 2, "is_land": True}, {"index": -1, "card_id": -1}]}


@pytest.mark.parametrize(
    ("kind", "data", "choices", "kinds", "reply"),
    [
        ("choose_action", ACTIONS, [2], ["ability", "spell", "land", "pass"], "2"),
        ("choose_action", ACTIONS, [3], ["ability", "spell", "land", "pass"], "-1"),
        ("declare_attackers", {"attackers": items(0, 1, 2)}, [0, 1, 0], ["attack", "stay"], "0,2"),
        ("declare_attackers", {"attackers": items(0)}, [1], ["attack", "stay"], ""),
        (
            "declare_blockers",
            {"blockers": items(1, 4), "attackers": items(0, 1)},
            [1, 2],
            ["block", "block", "unblocked"],
            "1:1",
        ),
        ("choose_ability", {"abilities": items(0, 1)}, [1], ["ability", "ability"], "1"),
        ("play_trigger", {}, [0], ["yes", "no"], "y"),
        ("play_from_effect", {}, [1], ["yes", "no"], "n"),
        ("confirm_action", {}, [0], ["yes", "no"], "y"),
        ("choose_cards", {"cards": items(0, 1, 2), "min": 2, "max": 2}, [2, 0], ["card"] * 3, "2,0"),
        ("choose_cards", {"cards": items(0, 1), "min": 0, "max": 2}, [2], ["card", "card", "done"], ""),
        ("choose_entity", {"entities": items(0, 1)}, [1], ["entity", "entity"], "1"),
        ("choose_entity", {"entities": items(0), "optional": True}, [1], ["entity", "nobody"], "-1"),
        ("announce_value", {"min": 0, "max": 2}, [2], ["number"] * 3, "2"),
    ],
)
def test_each_type_of_decision_has_the_reply_of_its_choices(
    kind: str, data: dict[str, Any], choices: list[int], kinds: list[str], reply: str
) -> None:
    answered = asked(kind, **data)
    assert [option.kind for option in answered.options] == kinds
    for choice in choices:
        answered.choose(choice)
    assert answered.complete
    assert answered.reply == reply


def test_a_reveal_takes_no_reply_and_an_unknown_type_is_refused() -> None:
    assert question(decision("reveal", cards=["Bear"])) is None
    with pytest.raises(DaemonError, match="asked for 'choose_fate', which is no type of decision; known are choose_"):
        question(decision("choose_fate"))


@pytest.mark.parametrize(
    ("kind", "data", "choice", "reply"),
    [
        ("choose_action", ACTIONS, 2, "2"),
        ("choose_action", ACTIONS, "pass", "-1"),
        ("choose_action", ACTIONS, {"index": 1, "description": "x"}, "1"),
        ("declare_attackers", {"attackers": items(0, 1, 2)}, "0,2", "0,2"),
        ("declare_attackers", {"attackers": items(0, 1, 2)}, [1], "1"),
        ("declare_attackers", {"attackers": items(0, 1)}, "", ""),
        ("declare_blockers", {"blockers": items(0, 1), "attackers": items(0, 1)}, "1:0", "1:0"),
        ("confirm_action", {}, True, "y"),
        ("play_trigger", {}, "no", "n"),
        ("choose_cards", {"cards": items(0, 1, 2), "min": 0, "max": 3}, [2, 1], "1,2"),
        ("choose_entity", {"entities": items(0, 1), "optional": True}, -1, "-1"),
        ("announce_value", {}, 3, "3"),
    ],
)
def test_the_choice_of_the_ai_becomes_the_same_reply(
    kind: str, data: dict[str, Any], choice: object, reply: str
) -> None:
    followed = asked(kind, ai_choice=choice, **data)
    while not followed.complete:
        index = followed.demonstrated()
        assert index is not None
        followed.choose(index)
    assert followed.reply == reply


@pytest.mark.parametrize("choice", [9, "rubbish", None, [7]])
def test_a_choice_of_the_ai_that_is_no_option_is_not_imitated(choice: object) -> None:
    if choice is not None:
        assert asked("choose_action", ai_choice=choice, **ACTIONS).demonstrated() is None
    assert asked("choose_ability", abilities=items(0, 1), ai_choice=choice).demonstrated() is None


def test_more_options_than_the_net_has_keep_the_last_ones() -> None:
    many = asked("choose_action", actions=items(*range(60)))
    assert len(many.options) == MOST_OPTIONS
    assert many.options[-1].kind == "pass"
    assert many.options_cut == 61 - MOST_OPTIONS
    assert asked("choose_action", **ACTIONS).options_cut == 0


@pytest.mark.parametrize(
    ("least", "most", "cut"),
    [(0, 47, 0), (0, 48, 1), (5, 2**62, 2**62 - 52), (3, 2, 0), (0, None, 0)],
)
def test_numbers_beyond_those_of_the_net_are_counted(least: int, most: int | None, cut: int) -> None:
    announced = asked("announce_value", min=least, max=most)
    assert announced.options[0].number == least
    assert announced.options_cut == cut


@pytest.mark.parametrize(("hand", "cut"), [(62, 0), (63, 1), (80, 18)])
def test_cards_beyond_those_of_an_observation_are_counted(hand: int, cut: int) -> None:
    crowded = asked("choose_action", hands=(range(100, 100 + hand), (3,)), **ACTIONS)  # and two on the battlefield
    row = np.zeros(SPEC.obs.nbytes, np.uint8)
    assert daemon_view.write(SPEC, row, crowded, NAMES[0]) == cut


def written(question_of: Question, viewer: str) -> dict[str, Any]:
    row = np.zeros(SPEC.obs.nbytes, np.uint8)
    daemon_view.write(SPEC, row, question_of, viewer)
    return {leaf.name: SPEC.obs.leaf(row, leaf.name).copy() for leaf in SPEC.obs.leaves} | {"row": row}


def test_the_hand_of_the_other_player_never_passes_the_reader() -> None:
    first, second = asked("choose_action", **ACTIONS).decision.game_state.players
    assert [each.id for each in first.hand] == [1, 2]
    assert (second.hand, second.hand_size) == ([], 1)


def test_what_is_hidden_changes_no_byte_of_the_observation() -> None:
    seen = written(asked("choose_action", hands=((1, 2), (3, 4)), **ACTIONS), NAMES[0])
    other = written(asked("choose_action", hands=((1, 2), (8, 9)), **ACTIONS), NAMES[0])
    own = written(asked("choose_action", hands=((5, 2), (3, 4)), **ACTIONS), NAMES[0])
    assert (seen["row"] == other["row"]).all()
    assert (seen["row"] != own["row"]).any()


def test_the_other_player_is_shown_neither_the_options_nor_the_hand() -> None:
    shown = asked("choose_action", **ACTIONS).seen_by(NAMES[1])
    changed = asked("choose_action", hands=((7, 8), (3,)), **ACTIONS).seen_by(NAMES[1])
    assert (written(shown, NAMES[1])["row"] == written(changed, NAMES[1])["row"]).all()
    assert not written(shown, NAMES[1])["option_kind"].any()


def test_options_refer_to_the_cards_that_they_are_about() -> None:
    leaves = written(asked("choose_action", **ACTIONS), NAMES[0])
    assert [KINDS[kind] for kind in leaves["option_kind"][:4]] == ["ability", "spell", "land", "pass"]
    assert leaves["option_card"][:4].tolist() == [0, 1, 2, 0]  # cards 1 and 2 are the hand
    fighting = asked("declare_blockers", blockers=items(10), attackers=items(11))
    leaves = written(fighting, NAMES[0])
    assert leaves["option_card"][:2].tolist() == [3, 3]
    assert leaves["option_other"][:2].tolist() == [4, 0]


def test_cards_are_described_and_blocks_point_to_the_attacker() -> None:
    fight = asked("choose_action", **ACTIONS)
    state = fight.decision.game_state
    combat = msgspec.convert(
        {"attackers": [{"card_id": 10, "blocked_by": [{"card_id": 11}]}]}, type(state.combat) | Any
    )
    fight.decision.game_state = msgspec.convert({**msgspec.to_builtins(state), "combat": combat}, type(state))
    leaves = written(fight, NAMES[0])
    bear = dict(zip(daemon_view.CARD, leaves["card"][2] / 64, strict=True))
    assert {name: bear[name] for name in ("battlefield", "own", "Creature", "G", "power", "tapped", "flying")} == {
        **{"battlefield": 1, "own": 1, "Creature": 1, "G": 0.5, "power": 0.5, "tapped": 1, "flying": 1}
    }
    assert bear["attacking"] == 1
    assert leaves["blocks"][:4].tolist() == [0, 0, 0, 3]


def test_cards_that_only_the_decision_shows_are_entities() -> None:
    leaves = written(asked("choose_cards", cards=items(70, 71), min=1, max=1), NAMES[0])
    assert leaves["option_card"][:2].tolist() == [5, 6]
    assert leaves["card"][4, daemon_view.CARD.index("shown")] == 64


def test_an_action_that_the_ai_chose_is_noted_behind_the_leaves() -> None:
    rows = np.zeros((2, SPEC.obs.nbytes), np.uint8)
    daemon_view.demonstrate(rows[0], 47)
    assert daemon_view.demonstrated(rows).tolist() == [47, -1]
    assert not any(SPEC.obs.leaf(rows, leaf.name).any() for leaf in SPEC.obs.leaves)


def test_lines_are_read() -> None:
    assert read(b"GAME_RESULT: Draw in 12ms\n") == GameResult("", 12)
    assert read(b"GAME_RESULT: Agent(1)-red won in 7ms") == GameResult("Agent(1)-red", 7)
    assert read(b"GAME_TIMEOUT: Game exceeded 5 seconds") == Failure(True, "Game exceeded 5 seconds")
    assert read(b"GAME_ERROR: x") == Failure(False, "x")
    assert read(b"ERROR: Value 9 out of range [0, 3]") == RefusedLine("Value 9 out of range [0, 3]")
    assert read(b"SEED: 3") == Note("SEED: 3", True)
    assert read(b"\xff\x00hello") == Note("\ufffd hello", False)
    assert announces_persistence("FORGE DAEMON STATUS\n  Persistent: true")
    assert not announces_persistence("FORGE DAEMON STATUS\n  Active games: 0")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"DECISION:{", "sent a decision that cannot be read"),
        (b"DECISION:" + b"[" * 100_000, "sent a decision that cannot be read"),
        (b'DECISION:{"decision_type":"x","player":"A","game_state":{}}', "sent a decision of 'A' in a game of"),
        (b'DECISION:{"decision_type":"x","player":3,"game_state":{}}', "Expected `str`, got `int`"),
        (b"GAME_RESULT: ?", r"sent the result '\?', expected a winner or Draw"),
    ],
)
def test_lines_that_say_nothing_are_refused(line: bytes, message: str) -> None:
    with pytest.raises(DaemonError, match=message):
        read(line)


def test_the_line_that_begins_a_game_names_decks_and_limits() -> None:
    options = DaemonOptions(decks=("red.dck", "green.dck"), matchup="mirror", seeded=True, game_timeout_s=60)
    assert new_game(options, 5).split()[3:] == ["-i", "-c", "60", "-t", "5", "-s", "5"]
    assert len({*new_game(options, 5).split()[1:3]}) == 1
    pool = {tuple(new_game(DaemonOptions(decks=("a", "b"), observe=True), seed).split()[1:4]) for seed in range(50)}
    assert pool == {(one, other, "-o") for one in "ab" for other in "ab"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (DaemonOptions(), r"options\.decks: names no deck"),
        (DaemonOptions(decks=("my deck.dck",)), r"options\.decks: 'my deck\.dck' cannot be sent"),
        (DaemonOptions(decks=("a\nSHUTDOWN",)), r"options\.decks: 'a\\nSHUTDOWN' cannot be sent"),
        (DaemonOptions(decks=("-o",)), r"options\.decks: '-o' cannot be sent"),
        (DaemonOptions(decks=("a",), daemons="localhost"), r"options\.daemons: 'localhost' is no address"),
        (DaemonOptions(decks=("a",), daemons=("a:99999",)), r"options\.daemons: 'a:99999' is no address"),
    ],
)
def test_options_that_cannot_be_played_are_refused(options: DaemonOptions, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check(options)


def test_addresses_and_programs_are_read() -> None:
    assert addresses(DaemonOptions(daemons="127.0.0.1:17171, [::1]:17172")) == (("127.0.0.1", 17171), ("::1", 17172))
    assert program(DaemonOptions(program="java -jar 'my forge.jar'")) == ("java", "-jar", "my forge.jar")
    with pytest.raises(ConfigError, match=r"options\.program: names no program that starts a daemon"):
        program(DaemonOptions())


@pytest.mark.parametrize(
    ("name", "value"),
    [("daemons", ["10.0.0.1:17171"]), ("program", ["sh", "-c", "x"]), ("folder", "/"), ("decks", ["../../secret"])],
)
def test_a_file_from_another_machine_sets_no_address_program_or_path(name: str, value: object) -> None:
    with pytest.raises(UntrustedError, match=f"sets options.{name} to"):
        trust.accept(game, {name: value}, "a file")
    assert trust.accept(game, {"matchup": "mirror", "silent_s": 5}, "a file")
