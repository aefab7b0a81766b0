"""An agent against poke-env's players on a real local server: no invalid choice, every battle finished."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from benchmarks.showdown_server import serve
from scripts.prove_play import PLAYERS, against

from ludus.config.settings import PolicyConfig
from ludus.games.registry import load, nets_of
from ludus.games.showdown.install import Installation
from ludus.games.showdown.play.outsiders import PlayResult
from ludus.games.showdown.play_game import PlayOptions
from ludus.games.showdown.servers.server import address
from ludus.policies import nets
from ludus.policies.network import NetPolicy
from ludus.spec import GameSpec
from ludus.types import Policy

FORMATS = ("gen1randombattle", "gen9randombattle", "gen9randomdoublesbattle")


@pytest.fixture(scope="module")
def server(showdown: Installation) -> Iterator[str]:
    with serve(showdown, "0") as port:
        yield address(port)


def untrained(spec: GameSpec) -> Policy:
    """Samples, so that rare choices come up, too."""
    game = load("showdown")
    return NetPolicy(nets.build(spec, PolicyConfig(), game.net, game_nets=nets_of(game)), spec)


def assert_all_went_well(result: PlayResult, battles: int) -> None:
    assert (result.total.battles, result.invalid, result.restarts) == (battles, 0, 0)
    assert not result.voided
    assert not result.unplayed
    assert result.decisions >= battles


@pytest.mark.parametrize(
    ("opponent", "battle_format"),
    [
        ("simple_heuristics", "gen1randombattle"),
        ("max_base_power", "gen9randombattle"),
        ("random", "gen9randomdoublesbattle"),
    ],
)
def test_battles_against_a_peer_are_finished_without_an_invalid_choice(
    server: str, opponent: str, battle_format: str
) -> None:
    result = against(opponent, untrained, server, PlayOptions(format=battle_format), battles=3, concurrency=3)
    assert_all_went_well(result, 3)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("battle_format", FORMATS)
@pytest.mark.parametrize("opponent", PLAYERS)
def test_two_hundred_battles_against_a_peer_are_finished_without_an_invalid_choice(
    server: str, opponent: str, battle_format: str
) -> None:
    result = against(opponent, untrained, server, PlayOptions(format=battle_format), battles=200, concurrency=8)
    low, high = result.interval
    print(f"{battle_format} against {opponent}: {result.win_rate:.1%} won ({low:.1%} to {high:.1%})")
    assert_all_went_well(result, 200)
