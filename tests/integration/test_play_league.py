"""`ludus play --league`: poke-env players on a real local server get a rating in the table of a league."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.showdown_server import serve
from tests.peers import DEADLINE_S, FORMAT, later, peer, untrained

from ludus.api import leagues
from ludus.cli import main
from ludus.games.showdown.install import Installation
from ludus.games.showdown.play.outsiders import is_first, lasting_id, user_id
from ludus.league.members import League


@pytest.fixture(scope="module")
def server(showdown: Installation) -> Iterator[str]:
    with serve(showdown, "0") as port:
        yield f"ws://127.0.0.1:{port}/showdown/websocket"


def test_a_player_on_a_server_gets_a_rating(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, battles = tmp_path / "league", 2
    leagues.new(folder, f"showdown:{FORMAT}")
    leagues.add(folder, untrained(tmp_path / "run"), name="mine")
    other = peer(server)
    accepting = later(other.accept_challenges("League Agent", battles))
    words = ["--name", "League Agent", "--challenge", other.username, "--matches", str(battles)]
    command = ["ludus", "play", "mine", "--league", str(folder), "--server", server, *words]
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit) as left:
        main.main()
    accepting.result(DEADLINE_S)
    assert not left.value.code
    outsider = f"outsider:{user_id(other.username)}"
    lines = {line.name: line for line in leagues.table_of(League.open(folder)).lines}
    assert (lines[outsider].matches, lines["mine"].matches) == (battles, battles)
    assert lines[outsider].share * battles == other.n_won_battles + 0.5 * other.n_tied_battles
    monkeypatch.setattr("sys.argv", [*command, "--format", "gen9randombattle"])
    with pytest.raises(SystemExit) as refused:
        main.main()
    assert refused.value.code


def test_sides_and_names_are_those_of_the_log() -> None:
    log = "|player|p1|Ash K|102|1234\n|player|p2|Agent|1|1500\n|player|p1|"
    assert (is_first(log, "ashk"), is_first(log, "agent"), is_first("", "agent")) == (True, False, False)
    assert (lasting_id("Ash K"), lasting_id("Guest 512"), lasting_id("?")) == ("ashk", "", "")
