from __future__ import annotations

import pytest

from ludus.config.validation import check
from ludus.errors import ConfigError
from ludus.games import registry
from ludus.games.openspiel.loading import load, playable
from ludus.games.openspiel.options import SpielOptions


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"game": "kuhn_pokr"}, r"options\.game: OpenSpiel has no game 'kuhn_pokr'; did you mean kuhn_poker\?"),
        ({"game": "qqqqqq"}, r"options\.game: OpenSpiel has no game 'qqqqqq'; ludus games openspiel lists"),
        (
            {"parameters": {"playrs": 2}},
            r"options\.parameters: OpenSpiel refuses kuhn_poker: Unknown parameter 'playrs'",
        ),
        ({"parameters": {"players": "two"}}, r"options\.parameters: .*Wrong type for parameter players"),
        ({"parameters": {"players": 3}}, r"options\.game: kuhn_poker has 3 players, expected 2"),
        (
            {"game": "kuhn_poker(players=2)", "parameters": {"players": 2}},
            r"options\.parameters: .* leave one of the two",
        ),
        ({"game": "kuhn_poker(players=2"}, r"options\.game: OpenSpiel refuses kuhn_poker\(players=2"),
        ({"game": "goofspiel"}, r"players choose at once.*turn_based_simultaneous_game\(game=goofspiel\)"),
        ({"game": "tic_tac_toe"}, r"gives no information_state tensor; .* options\.tensor: observation"),
    ],
)
def test_what_cannot_be_played_is_refused_with_its_option_and_the_reason(
    options: dict[str, object], reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    game = registry.load("openspiel")
    with pytest.raises(ConfigError, match=reason):
        game.command(check(options, game.options, "options"))


def test_games_are_loaded_by_parameters_and_as_openspiel_writes_them() -> None:
    named = load(SpielOptions("leduc_poker", {"suit_isomorphism": True}))
    written = load(SpielOptions("leduc_poker(suit_isomorphism=True)"))
    assert str(named) == str(written)
    assert named.num_distinct_actions() == 3


def test_listed_games_have_turns_and_two_players() -> None:
    names = playable()
    assert {"kuhn_poker", "leduc_poker", "liars_dice"} <= set(names)
    assert not {"goofspiel", "solitaire", "hearts"} & set(names)
