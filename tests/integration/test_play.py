"""`ludus play` on a real local server, against poke-env's players."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import psutil
import pytest
import websockets.sync.server
from benchmarks.showdown_server import serve
from tests.peers import DEADLINE_S, FORMAT, later, peer, untrained
from tests.proxy import Proxy

from ludus.cli import main
from ludus.config.settings import FleetConfig
from ludus.errors import HostRefused
from ludus.games.showdown.install import Installation
from ludus.games.showdown.play import outsiders
from ludus.games.showdown.play.outsiders import Event, PlayResult, StopRequest, play
from ludus.games.showdown.play_game import PlayOptions, address
from ludus.games.showdown.scripted import POLICIES
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices, Policy

DOUBLES = "gen9vgc2025regi"


@pytest.fixture(scope="module")
def port(showdown: Installation) -> Iterator[int]:
    with serve(showdown, "0") as port:
        yield port


@pytest.fixture
def server(port: int) -> str:
    return f"ws://127.0.0.1:{port}/showdown/websocket"


def agent(spec: GameSpec) -> Policy:
    return POLICIES["max_damage"](spec, 1)


@pytest.fixture(scope="module")
def checkpoint(showdown: Installation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained(tmp_path_factory.mktemp("untrained"))


class Acting:
    """An agent that does something else, too, before it answers for the first time."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._acts = [act]

    def __call__(self, spec: GameSpec) -> Policy:
        self._policy = agent(spec)
        return self

    def act(self, arrivals: Arrivals) -> Choices:
        while self._acts:
            self._acts.pop()()
        return self._policy.act(arrivals)


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


@pytest.mark.slow
def test_a_doubles_battle_with_open_team_sheets_is_played_with_a_team_of_the_folder(
    server: str, tmp_path: Path
) -> None:
    folder = Path(__file__).parents[1] / "data" / "teams" / DOUBLES
    team = (folder / "restricted.txt").read_text(encoding="utf-8")
    other = peer(server, battle_format=DOUBLES, team=team, accept_open_team_sheet=True)
    accepting = later(other.accept_challenges("Sheets Agent", 1))
    options = PlayOptions(
        server=server, name="Sheets Agent", mode="challenge", opponent=other.username, format=DOUBLES, teams=str(folder)
    )
    result = play(lambda spec: POLICIES["random"](spec, 1), options, log_dir=tmp_path, matches=1, deadline_s=DEADLINE_S)
    accepting.result(DEADLINE_S)
    assert (result.total.battles, result.stopped, result.invalid) == (1, "", 0)
    assert not result.voided


@pytest.mark.slow
def test_opponents_on_the_ladder_are_rated(server: str, tmp_path: Path) -> None:
    other = peer(server, concurrency=1)
    searching = later(other.ladder(1))
    options = PlayOptions(server=server, name="Climbing Agent", mode="ladder", format=FORMAT)
    result = play(agent, options, log_dir=tmp_path, matches=1, deadline_s=DEADLINE_S)
    searching.result(DEADLINE_S)
    assert (result.total.battles, list(result.opponents), result.stopped) == (1, [other.username], "")
    assert result.rating is not None
    assert 1000 <= result.rating < 1100


def test_a_connection_cut_in_the_middle_of_a_message_and_a_flood_of_chat_cost_no_battle(
    port: int, server: str, tmp_path: Path
) -> None:
    other = peer(server)

    async def flood() -> None:
        for _ in range(200):
            await other.ps_client.send_message("spam " * 50, message_2="")
            await other.ps_client.send_message(f"/pm Cut Agent, {'spam ' * 40}")
            for battle in other.battles:
                await other.ps_client.send_message("spam " * 40, battle)

    with Proxy(port) as proxy:

        def disturb() -> None:
            later(flood())
            proxy.cut_after(5_000)

        connected = Connected(lambda: later(other.send_challenges("Cut Agent", 2)))
        options = PlayOptions(server=f"ws://127.0.0.1:{proxy.port}/showdown/websocket", name="Cut Agent", format=FORMAT)
        result = play(
            Acting(disturb),
            options,
            log_dir=tmp_path,
            matches=2,
            concurrency=2,
            deadline_s=DEADLINE_S,
            tell=connected,
        )
    assert connected.done is not None
    connected.done.result(DEADLINE_S)
    assert result.reconnects == 1
    assert (result.total.battles, result.stopped, result.restarts) == (2, "", 0)
    assert not result.voided


@pytest.mark.slow
def test_a_host_that_dies_is_started_again_and_finishes_its_battles(server: str, tmp_path: Path) -> None:
    other = peer(server, concurrency=1)
    connected = Connected(lambda: later(other.send_challenges("Mortal Agent", 1)))
    killed: list[int] = []

    def kill() -> None:
        (host,) = [each for each in psutil.Process().children() if "play/host.js" in " ".join(each.cmdline())]
        host.kill()
        killed.append(host.pid)

    def tell(event: Event) -> None:
        if not killed:
            connected(event)

    options = PlayOptions(server=server, name="Mortal Agent", format=FORMAT)
    result = play(Acting(kill), options, log_dir=tmp_path, matches=1, deadline_s=DEADLINE_S, tell=tell)
    assert connected.done is not None
    connected.done.result(DEADLINE_S)
    assert (result.total.battles, result.restarts, dict(result.voided)) == (1, 1, {"died": 1})
    assert other.n_finished_battles == 1


def test_ctrl_c_finishes_what_runs_and_begins_no_more(server: str, tmp_path: Path) -> None:
    other, stop = peer(server, concurrency=1), StopRequest()
    connected = Connected(lambda: later(other.send_challenges("Leaving Agent", 2)))
    options = PlayOptions(server=server, name="Leaving Agent", format=FORMAT)
    result = play(Acting(stop), options, log_dir=tmp_path, deadline_s=DEADLINE_S, tell=connected, stop=stop)
    assert (result.total.battles, result.running, result.stopped) == (1, 0, "interrupted")
    assert connected.done is not None
    connected.done.cancel()


def test_a_connection_that_is_lost_after_ctrl_c_comes_back_and_the_battle_is_finished(
    port: int, server: str, tmp_path: Path
) -> None:
    other, stop = peer(server, concurrency=1), StopRequest()
    connected = Connected(lambda: later(other.send_challenges("Faithful Agent", 2)))
    with Proxy(port) as proxy:

        def leave() -> None:
            stop()
            proxy.cut_after(2_000)

        url = f"ws://127.0.0.1:{proxy.port}/showdown/websocket"
        options = PlayOptions(server=url, name="Faithful Agent", format=FORMAT)
        result = play(Acting(leave), options, log_dir=tmp_path, deadline_s=DEADLINE_S, tell=connected, stop=stop)
    assert connected.done is not None
    connected.done.cancel()
    assert (result.total.battles, result.reconnects, result.stopped) == (1, 1, "interrupted")
    assert not result.voided


def test_a_second_ctrl_c_forfeits(server: str, tmp_path: Path) -> None:
    other, stop = peer(server, concurrency=1), StopRequest()
    connected = Connected(lambda: later(other.send_challenges("Forfeiting Agent", 1)))
    options = PlayOptions(server=server, name="Forfeiting Agent", format=FORMAT)

    def twice() -> None:
        stop()
        stop()

    result = play(Acting(twice), options, log_dir=tmp_path, deadline_s=DEADLINE_S, tell=connected, stop=stop)
    assert (result.total.battles, result.stopped) == (0, "interrupted")
    assert connected.done is not None
    connected.done.result(DEADLINE_S)  # the other side is not left waiting
    assert other.n_won_battles == 1


def test_an_agent_nobody_challenges_waits_quietly_and_is_not_taken_for_a_hung_one(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outsiders, "NUDGE_S", 1.0)
    monkeypatch.setattr(outsiders, "FLEET", FleetConfig(hosts=1, reply_deadline_s=3.0))
    options = PlayOptions(server=server, name="Quiet Agent", format=FORMAT)
    used: list[tuple[float, float]] = []
    stop = StopRequest()

    def measure(result: PlayResult) -> None:
        hosts = [each for each in psutil.Process().children() if "play/host.js" in " ".join(each.cmdline())]
        spent = [sum(each.cpu_times()[:2]) for each in hosts]
        used.append((time.monotonic(), sum(spent)))
        if len(used) == 9:
            stop()

    result = play(agent, options, log_dir=tmp_path, deadline_s=DEADLINE_S, show=measure, stop=stop)
    assert (result.restarts, result.stopped) == (0, "interrupted")
    (begun_s, before_s), (ended_s, after_s) = used[2], used[8]
    assert ended_s - begun_s > 4.0  # longer than a host may be silent
    assert (after_s - before_s) / (ended_s - begun_s) < 0.01


@pytest.fixture
def greeter() -> Iterator[str]:
    """The address of something that is no Showdown server."""
    with websockets.sync.server.serve(_greet, "127.0.0.1", 0) as serving:
        thread = threading.Thread(target=serving.serve_forever, daemon=True)
        thread.start()
        yield f"127.0.0.1:{serving.socket.getsockname()[1]}"
        serving.shutdown()
        thread.join(5.0)


def _greet(connection: Any) -> None:  # Any: websockets' own
    connection.send("hello from another protocol")
    for _ in connection:
        pass


def test_what_is_no_showdown_server_is_said_in_one_line(greeter: str, tmp_path: Path) -> None:
    options = PlayOptions(server=address(greeter), format=FORMAT)
    with pytest.raises(HostRefused, match="it does not speak the Showdown protocol") as refused:
        play(agent, options, log_dir=tmp_path, matches=1, deadline_s=DEADLINE_S)
    assert str(refused.value).startswith(address(greeter))
    assert "\n" not in str(refused.value)


def test_a_name_that_somebody_else_uses_is_refused(server: str, tmp_path: Path) -> None:
    other = peer(server)
    later(other.ps_client.logged_in.wait()).result(DEADLINE_S)
    options = PlayOptions(server=server, name=other.username, format=FORMAT)
    with pytest.raises(HostRefused, match=f"the server refused the name {other.username}: Someone is already using"):
        play(agent, options, log_dir=tmp_path, matches=1, deadline_s=DEADLINE_S)


def test_the_command_plays_a_checkpoint_and_says_how_it_went(
    server: str, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = peer(server)
    accepting = later(other.accept_challenges("Untrained", 2))
    words = ["--server", server, "--name", "Untrained", "--challenge", other.username, "--matches", "2"]
    pages = tmp_path / "pages"
    monkeypatch.setattr(
        "sys.argv", ["ludus", "play", str(checkpoint), *words, "--concurrency", "2", "--save-replays", str(pages)]
    )
    with pytest.raises(SystemExit) as left:
        main.main()
    accepting.result(DEADLINE_S)
    said = capsys.readouterr().out
    assert not left.value.code
    assert f"Untrained is on {server}, {FORMAT}; it challenges {other.username}" in said
    assert "2 battles in" in said
    assert "0 invalid choices" in said
    assert len(list(pages.glob("*.html"))) == 2


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--server", "127.0.0.1:9"), "ws://127.0.0.1:9/showdown/websocket: no Showdown server answers there"),
        (("--format", "gen1randombatle"), "unknown format"),
        (
            ("--format", "gen9randombattle"),
            "was made for game showdown-gen1-singles, this is game showdown-gen9-singles",
        ),
    ],
)
def test_what_cannot_be_played_is_one_line_and_exit_code_2(
    server: str,
    checkpoint: Path,
    words: tuple[str, ...],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["ludus", "play", str(checkpoint), "--accept", "--server", server, *words]
    monkeypatch.setattr("sys.argv", given)
    with pytest.raises(SystemExit) as left:
        main.main()
    assert left.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("ludus: ")
    assert expected in line
