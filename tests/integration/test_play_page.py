"""A person in a browser against an agent: a real Chromium, the page of `ludus servers page`, a real server."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from benchmarks.showdown_server import serve
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from ludus.games.showdown.install import Installation
from ludus.games.showdown.play.outsiders import Event, play
from ludus.games.showdown.play_game import PlayOptions
from ludus.games.showdown.scripted import POLICIES
from ludus.games.showdown.servers import client

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--remote-debugging-port=0")
DEADLINE_S = 120.0
CLICK = """(() => {
    if (document.getElementById('prompt').textContent === 'the battle is over') return 'over';
    const button = document.querySelector('#choices button:enabled');
    if (button) button.click();
    return button ? 'clicked' : 'waiting';
})()"""
CHALLENGE = """(() => {
    const lobby = document.getElementById('lobby'); // not there while the page loads
    if (!lobby || lobby.disabled || document.querySelectorAll('#format option').length < 10) return false;
    document.getElementById('name').value = 'A person';
    document.getElementById('opponent').value = 'Page Agent';
    document.getElementById('challenge').click();
    return true;
})()"""


class Tab:
    """What a test does in a browser's tab, over its debugging protocol."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._asked = 0

    def run(self, script: str) -> Any:  # Any: whatever the script returns
        self._asked += 1
        order = {
            "id": self._asked,
            "method": "Runtime.evaluate",
            "params": {"expression": script, "returnByValue": True},
        }
        self._connection.send(json.dumps(order))
        while True:
            answer = json.loads(self._connection.recv(DEADLINE_S))
            if answer.get("id") == self._asked:
                assert "exceptionDetails" not in answer["result"], answer
                return answer["result"]["result"].get("value")

    def until(self, script: str, *expected: object) -> None:
        """Run it until it returns that."""
        end_s = time.monotonic() + DEADLINE_S
        while self.run(script) not in expected:
            assert time.monotonic() < end_s, f"no {expected} in {DEADLINE_S} s; the page says {self.run(STATUS)}"
            time.sleep(0.05)


STATUS = "document.body.innerText"


@contextmanager
def browser(url: str, folder: Path) -> Iterator[Tab]:
    assert CHROMIUM is not None
    with (folder / "chromium.log").open("wb") as log:
        process = subprocess.Popen([CHROMIUM, *FLAGS, f"--user-data-dir={folder}/profile", url], stdout=log, stderr=log)
    try:
        port_file, end_s = folder / "profile" / "DevToolsActivePort", time.monotonic() + DEADLINE_S
        while not port_file.exists() or len(port_file.read_text().splitlines()) < 2:
            assert time.monotonic() < end_s, "the browser did not start"
            time.sleep(0.05)
        port = port_file.read_text().splitlines()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=DEADLINE_S) as answer:
            tabs = json.load(answer)
        address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
        with connect(address, max_size=None) as connection:
            yield Tab(connection)
    finally:
        process.terminate()
        process.wait(20)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
@pytest.mark.parametrize("game_format", ["gen1randombattle", "gen9randomdoublesbattle"])
def test_a_person_plays_the_agent_in_a_browser(showdown: Installation, tmp_path: Path, game_format: str) -> None:
    with serve(showdown, "0") as port, client.serve(f"ws://127.0.0.1:{port}/showdown/websocket") as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{serving.server_address[1]}/?format={game_format}"
        ended: list[str] = []

        def person() -> None:
            with browser(url, tmp_path) as tab:
                tab.until(CHALLENGE, True)
                tab.until(CLICK, "over")
                ended.append(tab.run("document.getElementById('log').innerText"))

        thread = threading.Thread(target=person)

        def tell(event: Event) -> None:
            if event["event"] == "connected":
                thread.start()

        options = PlayOptions(server=f"ws://127.0.0.1:{port}/showdown/websocket", name="Page Agent", format=game_format)
        result = play(
            lambda spec: POLICIES["random"](spec, 1),
            options,
            log_dir=tmp_path,
            matches=1,
            deadline_s=2 * DEADLINE_S,
            tell=tell,
        )
        thread.join(DEADLINE_S)
        serving.shutdown()
    assert (result.total.battles, result.stopped, list(result.opponents)) == (1, "", ["A person"])
    winner = "Page Agent" if result.total.wins else "A person"
    assert f"{winner} won" in ended[0]


CHALLENGE_FROM_THE_LINK = """(() => {
    const lobby = document.getElementById('lobby');
    if (!lobby || lobby.disabled || document.querySelectorAll('#format option').length < 10) return false;
    document.getElementById('challenge').click();
    return true;
})()"""


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
@pytest.mark.usefixtures("showdown")
def test_one_command_starts_all_that_a_person_needs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ludus", "play", "gen1-best", "--browser", "--matches", "1", "--json"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        url = next(line.partition("Play here: ")[2].strip() for line in lines if "Play here: " in line)
        assert any("challenge it" in line for line in lines)  # the agent is on the server
        with browser(url, tmp_path) as tab:
            tab.until(CHALLENGE_FROM_THE_LINK, True)
            tab.until(CLICK, "over")
        stdout, _ = process.communicate(timeout=DEADLINE_S)
    finally:
        process.kill()
    result = json.loads(stdout)
    assert process.returncode == 0
    assert sum(result["total"].values()) == 1
    assert list(result["opponents"]) == ["You"]
