"""`ludus play` on real servers that are not as kind as a local one: with security, and restarted in the middle."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from poke_env import AccountConfiguration, RandomPlayer, ServerConfiguration
from poke_env.concurrency import POKE_LOOP

from ludus.errors import HostRefused
from ludus.games.showdown.install import Installation
from ludus.games.showdown.play.outsiders import Event, PlayResult, play
from ludus.games.showdown.play_game import PlayOptions
from ludus.games.showdown.scripted import POLICIES
from ludus.games.showdown.servers import overlay, ports
from ludus.games.showdown.servers.fleet import ServerFleet
from ludus.games.showdown.servers.server import NODE_FLAGS, address
from ludus.processes.launch import tied
from ludus.spec import GameSpec
from ludus.types import Policy

pytestmark = pytest.mark.slow
DEADLINE_S = 200.0
FORMAT = "gen1randombattle"
PASSWORD = "correct horse"  # of everybody, at the stand-in


def agent(spec: GameSpec) -> Policy:
    return POLICIES["max_damage"](spec, 1)


def peer(server: str, name: str, login: str = "", password: str | None = None) -> RandomPlayer:
    return RandomPlayer(
        account_configuration=AccountConfiguration(name, password),
        server_configuration=ServerConfiguration(server, login),
        battle_format=FORMAT,
        max_concurrent_battles=1,
        open_timeout=DEADLINE_S,
        ping_interval=None,
        ping_timeout=None,
        log_level=logging.CRITICAL,
    )


def challenge(player: RandomPlayer, name: str) -> Future[Any]:  # Any: poke-env has no types
    return asyncio.run_coroutine_threadsafe(player.send_challenges(name, 1), POKE_LOOP)


@dataclass(frozen=True)
class Secure:
    server: str
    login: str


@pytest.fixture(scope="module")
def secure(showdown: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    """A server that believes what a stand-in for the login server has signed, and nobody else."""
    folder = tmp_path_factory.mktemp("secure")
    script = Path(__file__).parents[1] / "js" / "login_server.js"
    stand_in = subprocess.Popen(
        tied((str(showdown.node), str(script), PASSWORD)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert stand_in.stdout is not None
    said = json.loads(stand_in.stdout.readline())
    root = overlay.lay(showdown.root, folder)
    with (root / "config" / "config.js").open("a", encoding="utf-8") as config:
        config.write(f"\nexports.loginserverpublickey = {json.dumps(said['key'])};\n")
    (port,) = ports.choose(1, None)
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            tied((str(showdown.node), *NODE_FLAGS, "pokemon-showdown", "start", "--skip-build", str(port))),
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={**os.environ, "LUDUS_SERVER_TOKEN": "x", "LUDUS_SERVER_WARM": ""},
        )
    _wait_until_it_answers(port)
    yield Secure(address(port), f"http://127.0.0.1:{said['port']}/action.php")
    for process in (server, stand_in):
        process.terminate()
        process.communicate()


def _wait_until_it_answers(port: int) -> None:
    until = time.monotonic() + DEADLINE_S
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10).close()
            return
        except (urllib.error.URLError, OSError):
            assert time.monotonic() < until, "the server did not start"
            time.sleep(0.1)


def options(secure: Secure, password_file: Path | None) -> PlayOptions:
    return PlayOptions(
        server=secure.server,
        name="Registered Agent",
        format=FORMAT,
        password_file=None if password_file is None else str(password_file),
        login_server=secure.login,
    )


def test_a_registered_name_is_taken_with_its_password_and_plays(secure: Secure, tmp_path: Path) -> None:
    """The server throttles what anybody says: every choice is heard in the end."""
    password_file = tmp_path / "password"
    password_file.write_text(f"{PASSWORD}\n", encoding="utf-8")
    other = peer(secure.server, "Registered Peer", f"{secure.login}?", PASSWORD)
    done: list[Future[Any]] = []  # Any: poke-env has no types

    def tell(event: Event) -> None:
        if event["event"] == "connected":
            done.append(challenge(other, "Registered Agent"))

    logs = tmp_path / "logs"
    result = play(agent, options(secure, password_file), log_dir=logs, matches=1, deadline_s=DEADLINE_S, tell=tell)
    done[0].result(DEADLINE_S)
    assert (result.total.battles, result.stopped, result.invalid) == (1, "", 0)
    assert PASSWORD not in (logs / "host-0.log").read_text(encoding="utf-8")


def test_a_wrong_password_and_none_are_refused(secure: Secure, tmp_path: Path) -> None:
    wrong = tmp_path / "password"
    wrong.write_text("battery staple\n", encoding="utf-8")
    with pytest.raises(HostRefused, match="the name or the password is wrong") as refused:
        play(agent, options(secure, wrong), log_dir=tmp_path, matches=1, deadline_s=DEADLINE_S)
    assert "battery staple" not in str(refused.value)
    with pytest.raises(HostRefused, match="token was invalid; give its password with --password-file"):
        play(agent, options(secure, None), log_dir=tmp_path, matches=1, deadline_s=DEADLINE_S)


def test_a_server_that_is_killed_costs_the_battle_that_ran_and_no_other(showdown: Installation, tmp_path: Path) -> None:
    with ServerFleet(1, installation=showdown) as servers:
        (server,) = servers.addresses()
        killed: list[int] = []
        done: list[Future[Any]] = []  # Any: poke-env has no types

        def tell(event: Event) -> None:
            if event["event"] in ("connected", "back"):
                done.append(challenge(peer(server, f"peer {len(done)}"), "Lasting Agent"))

        def show(result: PlayResult) -> None:
            pid = servers.views()[0].pid
            if result.decisions and not killed and pid is not None:
                killed.append(pid)
                os.kill(pid, signal.SIGKILL)

        play_options = PlayOptions(server=server, name="Lasting Agent", format=FORMAT)
        result = play(agent, play_options, log_dir=tmp_path, matches=2, deadline_s=DEADLINE_S, tell=tell, show=show)
        done[0].cancel()
        done[1].result(DEADLINE_S)
    assert killed
    assert (result.total.battles, result.reconnects, result.stopped, result.restarts) == (1, 1, "", 0)
    assert dict(result.voided) == {"the connection to the server was lost": 1}
