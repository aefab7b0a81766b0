"""A web page that somebody visits gets nothing from a real Showdown server of this machine."""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync import client
from websockets.typing import Origin

from ludus.games.showdown.install import Installation
from ludus.games.showdown.servers import overlay, ports, probe
from ludus.games.showdown.servers.server import NODE_FLAGS, ShowdownServer, address

DEADLINE_S = 60.0
SETTINGS = """
const Config = require('./dist/server/config-loader').load();
console.log(JSON.stringify([Config.backdoor, Config.consoleips, Config.repl, Config.bindaddress]));
"""
STRANGE = ["https://evil.example", "http://127.0.0.1.evil.example", "https://localhost.evil.example", "null", "file://"]
LOCAL = ["http://localhost", "http://localhost:8100", "http://127.0.0.1:8100", "http://127.9.8.7", "http://[::1]:8100"]


@contextmanager
def running(showdown: Installation, folder: Path, subprocesses: str = "0") -> Iterator[int]:
    """The port of a server."""
    root = overlay.lay(showdown.root, folder, subprocesses)
    server = ShowdownServer(showdown, root, ports.another([]), folder / "server.log")
    try:
        _wait_until_it_answers(server)
        yield server.port
    finally:
        server.reap()


@pytest.fixture(scope="module")
def port(showdown: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with running(showdown, tmp_path_factory.mktemp("guarded")) as port:
        yield port


def _wait_until_it_answers(server: ShowdownServer) -> None:
    until = time.monotonic() + DEADLINE_S
    while True:
        try:
            asyncio.run(asyncio.wait_for(probe.ask(server.port, server.token), DEADLINE_S))
            return
        except OSError:
            assert time.monotonic() < until, "the server did not start"
            time.sleep(0.1)


def handshake(port: int, origin: str | None) -> int:
    """The status that a request for a WebSocket with that Origin is answered with."""
    try:
        with client.connect(
            address(port), origin=None if origin is None else Origin(origin), open_timeout=DEADLINE_S, close_timeout=0.1
        ) as connection:
            assert connection.response is not None
            return connection.response.status_code
    except InvalidStatus as refused:
        return refused.response.status_code


def status(port: int, path: str, headers: dict[str, str], method: str = "GET") -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
    try:
        connection.request(method, path, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("origin", STRANGE)
def test_a_websocket_of_another_origin_is_refused(port: int, origin: str) -> None:
    assert handshake(port, origin) == 403


@pytest.mark.parametrize("origin", [None, *LOCAL])
def test_a_websocket_without_an_origin_or_with_one_of_this_machine_is_accepted(port: int, origin: str | None) -> None:
    assert handshake(port, origin) == 101


@pytest.mark.parametrize("path", ["/", "/showdown/info", "/showdown/iframe.html", "/ludus/status"])
def test_pages_are_refused_to_another_origin_and_under_another_name(port: int, path: str) -> None:
    assert status(port, path, {"Origin": "https://evil.example"}) == 403
    assert status(port, path, {"Host": f"evil.example:{port}"}) == 403
    assert status(port, path, {}) in (200, 404)


def test_sockjs_without_websockets_is_refused_to_another_origin(port: int) -> None:
    opening = "/showdown/000/abcdefgh"
    for transport, method in (("xhr", "POST"), ("xhr_streaming", "POST"), ("eventsource", "GET"), ("xhr", "OPTIONS")):
        assert status(port, f"{opening}/{transport}", {"Origin": "https://evil.example"}, method) == 403
    script = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}
    assert status(port, f"{opening}/jsonp?c=callback", script) == 403
    assert status(port, f"{opening}/xhr", {"Origin": "http://localhost:8100"}, "POST") == 200


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3:80", "[::1]:8000", "LOCALHOST:1"])
def test_names_of_this_machine_are_names_of_the_server(port: int, host: str) -> None:
    assert status(port, "/showdown/info", {"Host": host}) == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "0.0.0.0", "10.0.0.1:8000", "[::2]", "a b"])
def test_another_name_for_the_server_is_refused(port: int, host: str) -> None:
    """As a web page has it whose own name is made to lead to 127.0.0.1: DNS rebinding."""
    assert status(port, "/showdown/info", {"Host": host}) == 403
    with pytest.raises(InvalidStatus) as refused, client.connect(address(port), additional_headers={"Host": host}):
        pass
    assert refused.value.response.status_code in (400, 403)


def test_a_network_process_of_its_own_is_guarded_too(showdown: Installation, tmp_path: Path) -> None:
    with running(showdown, tmp_path, "{network: 1, simulator: 1}") as port:
        assert handshake(port, "https://evil.example") == 403
        assert handshake(port, None) == 101


def test_the_settings_of_a_server_have_no_back_door(showdown: Installation, tmp_path: Path) -> None:
    said = subprocess.run(
        [str(showdown.node), *NODE_FLAGS, "-e", SETTINGS],
        cwd=overlay.lay(showdown.root, tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=DEADLINE_S,
        check=True,
    )
    assert json.loads(said.stdout) == [False, [], False, "127.0.0.1"]
