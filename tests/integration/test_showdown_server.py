"""The Showdown host whose battles run on a real local server: whole matches, and what it does about faults."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from benchmarks.showdown_server import serve
from tests.meddler import Meddler
from tests.proxy import Proxy

from ludus.config.settings import FleetConfig
from ludus.errors import HostRefused
from ludus.fleet.fleet import HostFleet
from ludus.games.registry import load
from ludus.games.showdown.install import Installation
from ludus.games.showdown.servers.fleet import ServerFleet
from ludus.games.showdown.servers.supervisor import Limits
from ludus.types import Ending

DEADLINE_S = 100.0
RECV_S = 20.0
TEAMS = Path(__file__).parents[1] / "data" / "teams"


@pytest.fixture(scope="module")
def port(showdown: Installation) -> Iterator[int]:
    with serve(showdown, "0") as port:
        yield port


@pytest.fixture
def server(port: int) -> str:
    return address(port)


def address(port: int) -> str:
    return f"ws://127.0.0.1:{port}/showdown/websocket"


@contextmanager
def fleet(
    log_dir: Path,
    options: Mapping[str, object],
    *,
    matches: int = 4,
    schedule: Sequence[tuple[int, int]] | None = None,
    game_name: str = "showdown-server",
) -> Iterator[HostFleet]:
    game = load(game_name)
    with HostFleet(
        game.command(game.options()),
        FleetConfig(),
        options=options,
        seed=5,
        log_dir=log_dir,
        hosts=1,
        matches=matches,
        schedule=schedule,
    ) as running:
        yield running


def play(running: HostFleet, matches: int, *, recvs: int | None = None) -> list[Ending]:
    """Random legal actions until that many matches have ended, or so many times."""
    random = np.random.default_rng(3)
    endings: list[Ending] = []
    until_s = time.monotonic() + DEADLINE_S
    rounds = 0
    while len(endings) < matches and rounds != recvs:
        rounds += 1
        assert time.monotonic() < until_s, f"{len(endings)} of {matches} matches ended in {DEADLINE_S} s"
        arrivals = running.recv(RECV_S)
        endings.extend(arrivals.endings)
        actions = [random.choice(np.flatnonzero(legal)) for legal in arrivals.legal]
        running.send(arrivals.row, np.array(actions, np.int32))
    return endings


def test_matches_are_played_to_their_end_over_websockets(server: str, tmp_path: Path) -> None:
    options = {"servers": [server], "format": "gen1randombattle"}
    with fleet(tmp_path, options, schedule=[(i, 100 + i) for i in range(8)]) as running:
        endings = play(running, 8)
        assert not running.health.voided
    assert sorted(ending.match for ending in endings) == list(range(8))
    for ending in endings:
        assert sorted(ending.score) in ([0.0, 1.0], [0.5, 0.5])
        assert ending.facts["turns"] > 1
        assert ending.facts["decisions"] == ending.facts["decisions_0"] + ending.facts["decisions_1"]
        assert ending.facts["moves"] > 0


def test_a_server_that_is_not_there_is_refused_with_its_address(tmp_path: Path) -> None:
    options = {"servers": ["ws://127.0.0.1:9/showdown/websocket"]}
    with (
        pytest.raises(HostRefused, match=r"ws://127\.0\.0\.1:9/.*no Showdown server answers"),
        fleet(tmp_path, options),
    ):
        pass


def test_what_is_no_showdown_server_is_refused_with_what_it_is(tmp_path: Path) -> None:
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as web,
        Meddler(hello="o") as sockjs,
    ):
        Thread(target=web.serve_forever, daemon=True).start()
        cases = {
            address(web.server_port): r"no Showdown server answers there \(a web server does, with status 501",
            sockjs.address: "it does not speak the Showdown protocol",
        }
        for where, words in cases.items():
            with pytest.raises(HostRefused, match=words), fleet(tmp_path, {"servers": [where]}):
                pass
        web.shutdown()


def test_a_format_the_server_does_not_know_is_refused_with_the_nearest_it_knows(server: str, tmp_path: Path) -> None:
    def forget(message: str) -> Iterable[str]:
        yield message.replace("[Gen 1] Random Battle,", "[Gen 1] Random Brawl,")

    with Meddler(server, to_player=forget) as meddler:
        options = {"servers": [meddler.address], "format": "gen1randombattle"}
        near = r"the server does not know the format gen1randombattle, did you mean gen\drandombattle, "
        with pytest.raises(HostRefused, match=near), fleet(tmp_path, options):
            pass


def test_matches_go_on_through_chat_unknown_messages_and_a_name_that_is_taken(server: str, tmp_path: Path) -> None:
    taken: list[str] = []

    def take_once(message: str) -> Iterable[str]:
        if message.startswith("|/trn ") and not taken:
            taken.append(message)
            message = "|/trn ,0,"  # which the server refuses
        yield message

    def flood(message: str) -> Iterable[str]:
        yield message
        room = message.partition("\n")[0]
        if room.startswith(">battle-"):
            yield "\n".join([room, *(f"|c|~Somebody|hello {i}" for i in range(200))])
        yield "|pm|~Somebody|~ludus|/error of another kind of message\n|unheardof|1|2\n|pm"

    with Meddler(server, to_server=take_once, to_player=flood) as meddler:
        options = {"servers": [meddler.address], "max_turns": 10}
        with fleet(tmp_path, options, matches=2, schedule=[(0, 1), (1, 2)]) as running:
            endings = play(running, 2)
            assert not running.health.voided
    assert taken
    assert {ending.match for ending in endings} == {0, 1}


def test_a_team_that_the_server_rejects_voids_its_match_and_the_rest_goes_on(server: str, tmp_path: Path) -> None:
    spoilt: list[str] = []

    def spoil_first(message: str) -> Iterable[str]:
        if message.startswith("|/utm ") and not spoilt:
            spoilt.append(message)
            message = "|/utm Mew||leftovers|synchronize|tackle,splash||1,1,1,1,1,1||||100|"
        yield message

    with Meddler(server, to_server=spoil_first) as meddler:
        options = {"format": "gen9ou", "teams": str(TEAMS / "gen9ou"), "max_turns": 5, "servers": [meddler.address]}
        with fleet(tmp_path, options, matches=1, schedule=[(0, 1), (1, 2)]) as running:
            (ending,) = play(running, 1)
            (reason,) = running.health.voided
            assert running.health.restarts == 0
    assert (ending.match, ending.void) == (1, "")
    assert "the server refused the challenge: Your team was rejected" in reason


def test_a_doubles_format_with_team_preview_is_played_with_the_spec_of_the_embedded_host(
    server: str, tmp_path: Path
) -> None:
    options = {"format": "gen9vgc2025regi", "teams": str(TEAMS / "gen9vgc2025regi"), "max_turns": 10}
    with fleet(tmp_path, {**options, "servers": [server]}, schedule=[(0, 1), (1, 2)]) as running:
        served = running.spec
        endings = play(running, 2)
        assert not running.health.voided
    assert len(endings) == 2
    with fleet(tmp_path, options, schedule=[], game_name="showdown") as running:
        embedded = running.spec
    assert (served.name, served.schema, served.fingerprint) == (embedded.name, embedded.schema, embedded.fingerprint)


def test_matches_survive_connections_that_are_cut_between_and_inside_messages(port: int, tmp_path: Path) -> None:
    with Proxy(port) as proxy:
        options = {"servers": [address(proxy.port)], "format": "gen9randombattle", "max_turns": 10}
        with fleet(tmp_path, options, matches=2, schedule=[(0, 1), (1, 2)]) as running:
            assert play(running, 2, recvs=4) == []
            proxy.cut()
            endings = play(running, 2, recvs=3)
            proxy.cut_after(300)  # requests are longer
            endings += play(running, 2 - len(endings))
            assert not running.health.voided
            assert running.health.restarts == 0
    assert {ending.match for ending in endings} == {0, 1}


@pytest.mark.slow
def test_scheduled_matches_lost_with_a_killed_server_are_played_when_it_is_back(
    showdown: Installation, tmp_path: Path
) -> None:
    with ServerFleet(1, limits=Limits(backoff_s=0.05), installation=showdown) as servers:
        options = {"servers": servers.addresses(), "max_turns": 20, "start_deadline_s": 60}
        with fleet(tmp_path, options, matches=4, schedule=[(i, 100 + i) for i in range(6)]) as running:
            assert play(running, 1, recvs=12) == []
            (before,) = servers.views()
            assert before.pid is not None
            os.kill(before.pid, signal.SIGKILL)
            endings = play(running, 10)
            assert sum(running.health.voided.values()) == 4
            assert (running.health.exhausted, running.health.restarts) == (True, 0)
    assert sorted(ending.match for ending in endings if ending.void) == [0, 1, 2, 3]
    assert sorted(ending.match for ending in endings if not ending.void) == list(range(6))


@pytest.mark.parametrize("game_format", ["gen9randombattle", "gen9ou"])
def test_a_served_battle_comes_again_from_its_input_log_on_the_embedded_engine(
    showdown: Installation, server: str, game_format: str
) -> None:
    spec = game_format if "random" in game_format else f"{game_format}:{TEAMS / game_format}"
    assert_it_comes_again(showdown, server, spec)


def test_a_battle_on_a_server_that_is_sped_up_comes_again_on_the_published_engine(showdown: Installation) -> None:
    with serve(showdown, "0", stock=False) as port:
        assert_it_comes_again(showdown, address(port), "gen9randombattle", "stock")


def assert_it_comes_again(showdown: Installation, server: str, spec: str, *engine: str) -> None:
    script = Path(__file__).parents[1] / "js" / "served.js"
    command = [str(part) for part in (showdown.node, script, showdown.root, server, spec, 1, *engine)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["differences"] == 0, report["first"]
    assert report["battles"] == 1
    assert report["lines"] > 50
