"""Policies that are added to a running server and removed from it, by its own user on its own machine only."""

from __future__ import annotations

import logging
import socket
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests.serving import PATIENCE_S, RawClient, address, connect, eventually, rows_of, save_checkpoint, served

from ludus.errors import ConfigError, ServingError
from ludus.serving import local_commands
from ludus.serving.address import Address
from ludus.serving.client import Client
from ludus.serving.local_commands import LocalCommand, LocalReply, send
from ludus.serving.protocol import Code, Kind
from ludus.serving.server import ServerSettings


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("l")  # short: the path of a socket has some 100 bytes
    place.chmod(0o700)
    return place


def add(name: str, path: Path, **fields: bool) -> LocalCommand:
    return LocalCommand("add", name, str(path), **fields)


def test_an_added_policy_answers_while_clients_of_another_go_on(tmp_path: Path, folder: Path) -> None:
    save_checkpoint(tmp_path / "run")
    save_checkpoint(tmp_path / "other", 7, seed=2)
    with served(tmp_path / "run", settings=ServerSettings(local_folder=folder)) as server:
        with connect(server, "run") as client:
            before = client.act(*rows_of(4))
            assert send(server.address, add("late", tmp_path / "other"), folder) == ["run", "late"]
            with connect(server, "late") as late:
                assert late.act(*rows_of(4)).version == 7
            np.testing.assert_array_equal(client.act(*rows_of(4)).action, before.action)
        assert send(server.address, add("late", tmp_path / "other"), folder) == ["run", "late"]  # twice is no fault


def test_an_added_run_is_followed_if_that_is_wanted(tmp_path: Path, folder: Path) -> None:
    save_checkpoint(tmp_path / "run")
    save_checkpoint(tmp_path / "other", 1)
    settings = ServerSettings(local_folder=folder, watch_s=0.05)
    with served(tmp_path / "run", settings=settings) as server:
        send(server.address, add("late", tmp_path / "other", watched=True), folder)
        save_checkpoint(tmp_path / "other", 2)
        with connect(server, "late") as client:
            eventually(lambda: client.act(*rows_of(2)).version == 2, "version 2")


def test_what_cannot_be_added_is_named_and_the_server_goes_on(tmp_path: Path, folder: Path) -> None:
    save_checkpoint(tmp_path / "run")
    save_checkpoint(tmp_path / "other")
    broken = save_checkpoint(tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"x" * (broken / "model.safetensors").stat().st_size)
    with served(tmp_path / "run", settings=ServerSettings(local_folder=folder)) as server:
        for command, reason in (
            (add("late", tmp_path / "nowhere"), "nowhere does not exist"),
            (add("late", broken), "damaged"),
            (add("run", tmp_path / "other"), "is served as 'run' already; choose another name"),
            (add("../x", tmp_path / "run"), "is no name for a policy"),
            (LocalCommand("add", "late", "run"), "is no absolute path"),
            (LocalCommand("remove", "rum"), "there is no policy 'rum' here"),
        ):
            with pytest.raises(ServingError, match=reason):
                send(server.address, command, folder)
        with connect(server, "run") as client:
            assert client.welcome.policies == ["run"]
            client.act(*rows_of(2))


def test_a_policy_leaves_once_no_client_holds_rows_of_it(tmp_path: Path, folder: Path) -> None:
    for run, version in (("run", 1), ("other", 1), ("next", 2)):
        save_checkpoint(tmp_path / run, version)
    with served(tmp_path / "run", tmp_path / "other", settings=ServerSettings(local_folder=folder)) as server:
        remove = LocalCommand("remove", "other")
        with connect(server, "other") as client:
            client.act(*rows_of(2))
            with pytest.raises(ServingError, match="other: 1 clients hold rows of it"):
                send(server.address, remove, folder)
        with Client(server.address, timeout_s=PATIENCE_S) as watcher:
            eventually(lambda: all(not each.clients for each in watcher.status().policies), "the client to leave")
        assert send(server.address, remove, folder) == ["run"]
        with pytest.raises(ServingError, match="there is no policy 'other' here"):
            connect(server, "other")
        send(server.address, add("other", tmp_path / "next"), folder)
        with connect(server, "other") as client:
            assert client.act(*rows_of(2)).version == 2  # not the one that was served under this name before


def test_clients_over_tcp_cannot_add_a_policy(tmp_path: Path, folder: Path) -> None:
    save_checkpoint(tmp_path / "run")
    path = save_checkpoint(tmp_path / "other")
    with served(tmp_path / "run", settings=ServerSettings(local_folder=folder)) as server:
        for name in (str(path), f"late={path}", "../other", "run@../other"):
            with RawClient(server) as client:
                kind, body = client.hello(name)
                assert (kind, msgspec.json.decode(body)["code"]) == (Kind.REFUSED, Code.UNKNOWN_POLICY)
        with RawClient(server) as client:
            client.socket.sendall(msgspec.json.encode(add("late", path)) + b"\n")
            assert client.refusal().code == Code.PROTOCOL
        with connect(server, "run") as client:
            assert client.welcome.policies == ["run"]


@pytest.mark.parametrize("line", [b"\n", b"{}\n", b'{"command": "exec", "name": "x"}\n', b"x" * 100_000, b'{"comm'])
def test_malformed_commands_are_refused(tmp_path: Path, folder: Path, line: bytes) -> None:
    save_checkpoint(tmp_path / "run")
    with served(tmp_path / "run", settings=ServerSettings(local_folder=folder)) as server:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(local_commands.socket_path(folder, server.address.port)))
            sock.settimeout(PATIENCE_S)
            sock.sendall(line)
            sock.shutdown(socket.SHUT_WR)
            assert local_commands.read_line(sock, LocalReply, PATIENCE_S).error
        assert send(server.address, add("late", tmp_path / "run"), folder) == ["run", "late"]


def test_the_socket_belongs_to_the_user_and_goes_with_the_server(tmp_path: Path, folder: Path) -> None:
    save_checkpoint(tmp_path / "run")
    place = folder / "own"
    with served(tmp_path / "run", settings=ServerSettings(local_folder=place)) as server:
        where = server.address
        path = local_commands.socket_path(place, server.address.port)
        assert (place.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)
        with pytest.raises(ConfigError, match="on the server's own machine"):
            send(Address("10.0.0.1", 5555), LocalCommand("remove", "run"), place)
    assert not path.exists()
    with pytest.raises(ConfigError, match="no server of yours at port"):
        send(where, LocalCommand("remove", "run"), place)


def test_a_folder_that_others_may_enter_is_not_used(
    tmp_path: Path, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    save_checkpoint(tmp_path / "run")
    folder.chmod(0o755)
    with (
        caplog.at_level(logging.WARNING),
        served(tmp_path / "run", settings=ServerSettings(local_folder=folder)) as server,
    ):
        assert "must be a folder of yours with mode 0700" in caplog.text
        assert not list(folder.iterdir())
        with connect(server, "run") as client:
            client.act(*rows_of(2))


def test_the_socket_of_a_killed_server_is_replaced(tmp_path: Path, folder: Path) -> None:
    save_checkpoint(tmp_path / "run")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(local_commands.socket_path(folder, port)))
    with served(tmp_path / "run", settings=ServerSettings(port=port, local_folder=folder)) as server:
        assert send(server.address, add("late", tmp_path / "run"), folder) == ["run", "late"]
        assert address(server, "late").endswith("/late")
