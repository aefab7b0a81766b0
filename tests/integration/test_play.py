"""`ludus play` on a real local server, against poke-env's players."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from benchmarks.showdown_server import serve
from poke_env import AccountConfiguration, RandomPlayer, ServerConfiguration
from poke_env.concurrency import POKE_LOOP

from ludus.evaluation.outsiders import Event, play
from ludus.games.showdown.install import Installation
from ludus.games.showdown.play_game import PlayOptions
from ludus.games.showdown.scripted import POLICIES
from ludus.spec import GameSpec
from ludus.types import Policy

DEADLINE_S = 100.0
FORMAT = "gen1randombattle"
numbers = count()


@pytest.fixture(scope="module")
def port(showdown: Installation) -> Iterator[int]:
    with serve(showdown, "0") as port:
        yield port


@pytest.fixture
def server(port: int) -> str:
    return f"ws://127.0.0.1:{port}/showdown/websocket"


def agent(spec: GameSpec) -> Policy:
    return POLICIES["max_damage"](spec, 1)


def peer(server: str, *, concurrency: int = 2) -> RandomPlayer:
    return RandomPlayer(
        account_configuration=AccountConfiguration(f"peer {next(numbers)}", None),
        server_configuration=ServerConfiguration(server, ""),
        battle_format=FORMAT,
        max_concurrent_battles=concurrency,
        open_timeout=DEADLINE_S,
        ping_interval=None,
        ping_timeout=None,
        log_level=logging.CRITICAL,
    )


def later(coroutine: Coroutine[Any, Any, None]) -> Future[None]:  # Any: poke-env has no types
    """Have poke-env's own thread do it."""
    return asyncio.run_coroutine_threadsafe(coroutine, POKE_LOOP)


class Connected:
    """Calls something once the agent is logged in, and keeps what the host tells."""

    def __init__(self, act: Any) -> None:  # Any: a function of nothing
        self._act = act
        self.events: list[Event] = []
        self.done: Future[None] | None = None

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        if event["event"] == "connected":
            self.done = self._act()


def test_accepted_challenges_are_played_to_their_end(server: str, tmp_path: Path) -> None:
    other = peer(server)
    connected = Connected(lambda: later(other.send_challenges("Accepting Agent", 4)))
    options = PlayOptions(server=server, name="Accepting Agent", format=FORMAT)
    result = play(
        agent,
        options,
        log_dir=tmp_path,
        matches=4,
        concurrency=2,
        deadline_s=DEADLINE_S,
        tell=connected,
        save_replays=tmp_path / "pages",
    )
    assert connected.done is not None
    connected.done.result(DEADLINE_S)
    assert (result.total.battles, result.stopped, result.invalid, result.running) == (4, "", 0, 0)
    assert (result.total.wins, result.total.losses) == (other.n_lost_battles, other.n_won_battles)
    assert list(result.opponents) == [other.username]
    assert not result.voided
    assert not result.unplayed
    assert len(list((tmp_path / "pages").glob(f"*-{other.username.replace(' ', '')}-*.html"))) == 4


def test_a_named_user_is_challenged_again_and_again(server: str, tmp_path: Path) -> None:
    other = peer(server)
    accepting = later(other.accept_challenges("Challenging One", 3))
    options = PlayOptions(
        server=server, name="Challenging One", mode="challenge", opponent=other.username, format=FORMAT
    )
    result = play(agent, options, log_dir=tmp_path, matches=3, concurrency=2, deadline_s=DEADLINE_S)
    accepting.result(DEADLINE_S)
    assert (result.total.battles, result.stopped, result.invalid) == (3, "", 0)
    assert (result.total.wins, result.total.losses) == (other.n_lost_battles, other.n_won_battles)
