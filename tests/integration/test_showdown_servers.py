"""Real servers: ready, killed, recycled, stopped; and the commands on top."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from websockets.sync import client
from websockets.sync.connection import Connection

from ludus.errors import FleetError
from ludus.games.showdown.install import Installation
from ludus.games.showdown.servers import overlay, ports, probe, server
from ludus.games.showdown.servers.fleet import ServerFleet
from ludus.games.showdown.servers.server import ShowdownServer
from ludus.games.showdown.servers.supervisor import Limits

DEADLINE_S = 60.0


def wait_for(seen: Callable[[], bool]) -> None:
    until = time.monotonic() + DEADLINE_S
    while not seen():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


def runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def connected(address: str) -> Connection:
    return client.connect(address, ping_interval=None, close_timeout=0.1)  # the server leaves the closing to the client


def hear(connection: Connection, words: str) -> str:
    """The first message with these words in it."""
    until = time.monotonic() + DEADLINE_S
    while True:
        message = str(connection.recv(timeout=max(0.0, until - time.monotonic())))
        if words in message:
            return message


@contextmanager
def player(port: int, name: str) -> Iterator[Connection]:
    with connected(server.address(port)) as connection:
        hear(connection, "|challstr|")
        connection.send(f"|/trn {name},0,")
        hear(connection, f"|updateuser| {name}|1")
        yield connection


def test_a_killed_server_comes_back_on_its_port_and_leaving_stops_it(showdown: Installation, tmp_path: Path) -> None:
    with ServerFleet(1, limits=Limits(backoff_s=0.05), folder=tmp_path, installation=showdown, warm=False) as fleet:
        (before,) = fleet.views()
        assert before.pid is not None
        assert (before.state, before.restarts, before.battles) == ("ready", 0, 0)
        (address,) = fleet.addresses()
        os.kill(before.pid, signal.SIGKILL)
        wait_for(lambda: fleet.views()[0].restarts == 1 and fleet.ready == 1)
        (after,) = fleet.views()
        assert after.address == before.address
        assert after.pid not in (None, before.pid)
        assert after.last_failure == "was ended by SIGKILL"
    assert not any(runs(view.pid) for view in (before, after) if view.pid)
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]
    assert ports.is_free(int(address.split(":")[2].split("/")[0]))
    assert "now listening on 127.0.0.1" in (tmp_path / "logs" / "showdown-0.log").read_text()


def test_a_server_past_its_memory_limit_is_recycled_on_its_port(showdown: Installation) -> None:
    with ServerFleet(1, limits=Limits(memory_mib=1.0, steady_s=0.01), installation=showdown, warm=False) as fleet:
        (before,) = fleet.views()
        wait_for(lambda: fleet.views()[0].recycled >= 1 and fleet.ready == 1)
        (after,) = fleet.views()
        assert (after.address, after.restarts, after.last_failure) == (before.address, 0, "")
        assert after.pid != before.pid


def test_a_server_leaves_only_when_no_battle_is_running(showdown: Installation, tmp_path: Path) -> None:
    running = ShowdownServer(showdown, overlay.lay(showdown.root, tmp_path), ports.another([]), tmp_path / "server.log")

    def ask(page: probe.Page = "status") -> probe.Answer | None:
        try:
            return asyncio.run(asyncio.wait_for(probe.ask(running.port, running.token, page), DEADLINE_S))
        except OSError:
            return None

    try:
        wait_for(lambda: ask() is not None)
        with player(running.port, "ada") as ada, player(running.port, "bob") as bob:
            ada.send("|/challenge bob, gen1randombattle")
            hear(bob, "/challenge gen1randombattle")
            bob.send("|/accept ada")
            room = hear(bob, "|init|battle").partition("\n")[0].removeprefix(">")
            assert ask() == probe.Answer(battles=1)
            with pytest.raises(probe.StrangerError, match="404"):
                asyncio.run(asyncio.wait_for(probe.ask(running.port, "guessed", "drain"), DEADLINE_S))
            assert ask("leave") == probe.Answer(has_left=False)
            bob.close()  # away, not gone: the battle still counts
            assert ask() == probe.Answer(battles=1)
            assert ask("drain") is not None
            ada.send(f"{room}|/forfeit")
            hear(ada, "|win|bob")
            wait_for(lambda: ask() == probe.Answer(battles=0))
            with player(running.port, "bob") as bob:
                bob.send("|/challenge ada, gen1randombattle")
                hear(bob, "|popup|The server is restarting")
            assert ask("leave") == probe.Answer(has_left=True)
        wait_for(lambda: running.exited() == "exited with status 0")
    finally:
        running.reap()


def test_a_server_that_never_starts_is_given_up_with_its_last_words(tmp_path: Path) -> None:
    package = tmp_path / "node_modules" / "pokemon-showdown"
    (package / "config").mkdir(parents=True)
    (package / "config" / "config-example.js").write_text("")
    (package / "pokemon-showdown").write_text("throw new Error('no such thing')")
    node = Path(sys.executable)  # python cannot read that file either
    limits = Limits(backoff_s=0.01, failures_in_a_row=2)
    with pytest.raises(FleetError, match=r"was given up: it exited with status \d+.*showdown-0\.log"):
        ServerFleet(1, limits=limits, folder=tmp_path / "fleet", installation=Installation(node, package)).__enter__()


@contextmanager
def home(folder: Path, showdown: Installation) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """`ludus servers ...` in a home of its own, in which the simulator is installed; leaves no servers behind."""
    (folder / "showdown").symlink_to(showdown.root.parents[2])
    environment = {**os.environ, "LUDUS_HOME": str(folder)}

    def servers(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "ludus", "servers", *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            stdin=subprocess.DEVNULL,
        )

    try:
        yield servers
    finally:
        servers("down")


def test_servers_are_kept_in_the_background_until_they_are_told_to_stop(showdown: Installation, tmp_path: Path) -> None:
    with home(tmp_path, showdown) as servers:
        begun = servers("up", "showdown", "--count", "1")
        assert begun.returncode == 0, begun.stderr
        state = json.loads(servers("status", "--json").stdout)
        (view,) = state["servers"]
        assert view["state"] == "ready"
        assert view["address"] in begun.stdout
        with connected(view["address"]) as connection:
            hear(connection, "|challstr|")
        again = servers("up")
        assert again.returncode == 2
        assert again.stderr.startswith("ludus: servers are up already (keeper pid ")
        assert len(again.stderr.splitlines()) == 1
        ended = servers("down")
        assert ended.returncode == 0
        assert ended.stdout == f"Stopped: {view['address']}.\n"
        assert not runs(view["pid"])
        assert not (tmp_path / "servers" / "state.json").exists()


def test_a_killed_keeper_leaves_no_server_and_a_clear_line(showdown: Installation, tmp_path: Path) -> None:
    with home(tmp_path, showdown) as servers:
        assert servers("up").returncode == 0
        state = json.loads((tmp_path / "servers" / "state.json").read_bytes())
        pids = [state["pid"], state["servers"][0]["pid"]]
        os.kill(pids[1], signal.SIGSTOP)  # one that cannot notice anything by itself
        os.kill(pids[0], signal.SIGKILL)
        wait_for(lambda: not any(runs(pid) for pid in pids))
        said = servers("status")
        assert said.returncode == 1
        assert f"The keeper (pid {pids[0]}) died, and its servers with it" in said.stdout
