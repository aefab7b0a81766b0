from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ludus.cli.main import app
from ludus.errors import ConfigError, SetupError
from ludus.games import cache
from ludus.games.showdown.servers import state
from ludus.games.showdown.servers.fleet import ServerView
from ludus.games.showdown.servers.state import KeeperState


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LUDUS_HOME", str(tmp_path))
    state.folder().mkdir()


def view(port: int, **more: object) -> ServerView:
    facts = {"pid": 812, "since": 0.0, "restarts": 1, "recycled": 2, "memory_mib": 300.4, "battles": 5, **more}
    return ServerView(address=f"ws://127.0.0.1:{port}/showdown/websocket", state="ready", log="x.log", **facts)  # type: ignore[arg-type]  # a test's shorthand


@pytest.mark.parametrize("command", ["up", "status", "down"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = CliRunner().invoke(app, ["servers", command, "--help"], terminal_width=100)
    assert result.exit_code == 0
    assert f"Example: ludus servers {command}" in result.output


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["showdown", "--count", "0"], "count: 0 servers cannot be started"),
        (["shodown"], "did you mean showdown?"),
        (["toy"], "toy has no servers; showdown has"),
        (["showdown", "--base-port", "80"], "need ports between 1024 and 65535"),
    ],
)
def test_what_cannot_be_started_is_refused_with_one_line(words: list[str], complaint: str) -> None:
    result = CliRunner().invoke(app, ["servers", "up", *words])
    assert isinstance(result.exception, ConfigError)
    assert complaint in str(result.exception)


def test_a_port_in_use_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        result = CliRunner().invoke(app, ["servers", "up", "--base-port", str(port)])
    assert isinstance(result.exception, ConfigError)
    assert f"port {port} is in use" in str(result.exception)


def test_a_second_keeper_is_refused() -> None:
    state.write(KeeperState(812, 0.0, [view(8000)]))
    with cache.exclusive(state.folder() / "keeper.lock", 0.0):
        result = CliRunner().invoke(app, ["servers", "up"])
    assert isinstance(result.exception, SetupError)
    assert "servers are up already (keeper pid 812)" in str(result.exception)
    assert "ludus servers down" in str(result.exception)


def test_status_and_down_without_servers_say_how_to_start_some() -> None:
    result = CliRunner().invoke(app, ["servers", "status"])
    assert result.exit_code == 1
    assert "No servers are up. Start some with: ludus servers up" in result.output
    result = CliRunner().invoke(app, ["servers", "down"])
    assert result.exit_code == 0
    assert "No servers are up" in result.output


def test_a_keeper_that_died_is_told_and_then_forgotten() -> None:
    state.write(KeeperState(812, 0.0, [view(8000), view(8001)]))
    for command, code in (("status", 1), ("down", 0)):
        result = CliRunner().invoke(app, ["servers", command])
        assert result.exit_code == code
        assert "The keeper (pid 812) died, and its servers with it" in result.output
    assert "No servers are up" in CliRunner().invoke(app, ["servers", "status"]).output


def test_status_shows_every_server_within_eighty_columns() -> None:
    servers = [view(8000), view(8001, pid=None, since=None, memory_mib=0.0, battles=None, last_failure="was ended")]
    state.write(KeeperState(7, 0.0, servers))
    with cache.exclusive(state.folder() / "keeper.lock", 0.0):
        shown = CliRunner().invoke(app, ["servers", "status"])
        told = CliRunner().invoke(app, ["servers", "status", "--json"])
    assert shown.exit_code == 0
    assert "…" not in shown.output
    first, second = (line.split() for line in shown.output.splitlines() if line.startswith("127.0.0.1:"))
    assert first[:3] == ["127.0.0.1:8000", "ready", "812"]
    assert first[4:] == ["1", "2", "300", "MiB", "5"]
    assert second == ["127.0.0.1:8001", "ready", "-", "-", "1", "2", "-", "-"]
    assert "ws://127.0.0.1:8001/showdown/websocket: last failure: it was ended" in shown.output
    assert [server["battles"] for server in json.loads(told.output)["servers"]] == [5, None]
