"""What `ludus play` says and refuses, without a server."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from ludus.errors import ConfigError
from ludus.games.showdown.commands.play import _mode, _options, _remind
from ludus.games.showdown.commands.play_view import PlayView, sentence
from ludus.games.showdown.play.outsiders import OpponentRecord, PlayResult, opponent_of, play, user_id
from ludus.games.showdown.play_game import PlayOptions, address, is_local
from ludus.games.showdown.scripted import POLICIES


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("127.0.0.1:8000", "ws://127.0.0.1:8000/showdown/websocket"),
        ("ws://localhost:8000", "ws://localhost:8000/showdown/websocket"),
        ("http://[::1]:8000/", "ws://[::1]:8000/showdown/websocket"),
        ("https://sim.example.org", "wss://sim.example.org/showdown/websocket"),
        ("wss://sim.example.org/other/websocket", "wss://sim.example.org/other/websocket"),
    ],
)
def test_a_server_may_be_called_in_several_ways(given: str, expected: str) -> None:
    assert address(given) == expected


@pytest.mark.parametrize("given", ["", "ws://", "ftp://host", "host:notaport", "host:99999"])
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(ConfigError, match="is no address; expected one like ws://"):
        address(given)


def test_this_machine_is_told_from_others() -> None:
    local = ("ws://127.0.0.1:8000/x", "ws://localhost/x", "ws://[::1]:8000/x")
    assert all(is_local(server) for server in local)
    assert not any(is_local(server) for server in ("wss://sim.example.org/x", "ws://10.0.0.1:8000/x"))


def test_opponents_are_found_in_exactly_one_way() -> None:
    assert [_mode(True, "", False), _mode(False, "ash", False), _mode(False, "", True)] == [
        "accept",
        "challenge",
        "ladder",
    ]
    for several in ((False, "", False), (True, "ash", False), (True, "", True)):
        with pytest.raises(ConfigError, match="one of --accept, --challenge USER and --ladder"):
            _mode(*several)


def test_the_ladder_of_others_needs_to_be_asked_for_and_reminds_of_the_rules() -> None:
    said: list[str] = []

    def say(text: str, **_: object) -> None:
        said.append(text)

    public = PlayOptions(server="wss://sim.example.org/showdown/websocket", mode="ladder")
    with pytest.raises(ConfigError, match=r"rules on bots.*--i-read-the-rules"):
        _remind(public, False, say)
    _remind(public, True, say)
    assert len(said) == 1
    assert "rules on bots" in said[0]
    _remind(PlayOptions(mode="ladder"), False, say)
    assert len(said) == 1


def test_what_the_agent_was_trained_with_is_kept() -> None:
    trained = {"format": "gen9ou", "feature_set": "raw", "teams": "/old", "servers": ["x"], "reward_win": 3.0}
    kept = _options(trained, "", None, {"name": "n"})
    assert (kept.format, kept.feature_set, kept.teams, kept.name, kept.reward_win) == (
        "gen9ou",
        "raw",
        "/old",
        "n",
        1.0,
    )
    other = _options(trained, "gen1randombattle", None, {})
    assert (other.format, other.feature_set, other.teams) == ("gen1randombattle", "raw", None)
    assert _options(trained, "", Path("teams"), {}).teams == "teams"


def result() -> PlayResult:
    return PlayResult(
        total=OpponentRecord(3, 1, 1),
        opponents={"[red]ash": OpponentRecord(3, 0, 1), "gary": OpponentRecord(0, 1, 0)},
        running=2,
        decisions=120,
        seconds=60.0,
        invalid=1,
        voided=Counter({"nothing happened for 600 s": 2}),
        unplayed=Counter({"no battle began within 60 s": 4}),
        rating=1031.0,
    )


def shown(width: int = 200, *, terminal: bool = False) -> tuple[PlayView, io.StringIO]:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, color_system=None)
    return PlayView(console, PlayOptions(), 10), out


def test_without_a_terminal_a_line_says_how_it_stands() -> None:
    view, out = shown()
    with view:
        view.show(result())
        view.show(result())  # nothing has changed
    (line,) = out.getvalue().splitlines()
    for part in (
        "5/10 battles, 2 running",
        "3 won, 1 lost, 1 tied",
        "60.0% (23% to 88%)",
        "2 decisions/s",
        "rating 1031",
        "1 invalid choices",
        "2 did not count",
    ):
        assert part in line


def test_a_terminal_gets_a_table_with_the_opponents() -> None:
    view, out = shown(terminal=True)
    with view:
        view.show(result())
        view.interrupt(1)
        view.show(result())
    assert "[red]ash" in out.getvalue()
    assert "Ctrl-C again forfeits" in out.getvalue()


def test_the_summary_has_intervals_and_the_reasons_of_what_did_not_count(tmp_path: Path) -> None:
    view, out = shown()
    view.summary(result(), tmp_path)
    text = out.getvalue()
    for part in (
        "23.1% to 88.2%",
        "[red]ash",
        "Rating: 1031",
        "2 did not count: nothing happened for 600 s",
        "4 did not begin: no battle began within 60 s",
        str(tmp_path),
    ):
        assert part in text
    page = json.loads(view.json(result()))
    assert page["total"] == {"wins": 3, "losses": 1, "ties": 1}
    assert page["win_rate"] == 0.6


def test_what_others_say_cannot_command_the_terminal(tmp_path: Path) -> None:
    view, out = shown()
    view.tell({"event": "popup", "why": "\x1b[2Jgone\x07"})
    stranger = result()
    stranger.opponents = {"\x1b]0;title\x07ash": OpponentRecord(1, 0, 0)}
    view.summary(stranger, None)
    assert "\x1b" not in out.getvalue()
    assert "the server says: ?[2Jgone?" in out.getvalue()


def test_a_folder_for_pages_that_cannot_be_made_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"--save-replays: .* cannot be created"):
        play(
            lambda spec: POLICIES["random"](spec, 1),
            PlayOptions(),
            log_dir=tmp_path,
            save_replays=tmp_path / "file" / "x",
        )


def test_what_a_host_reports_is_put_into_words() -> None:
    options = PlayOptions(name="agent")
    assert sentence({"event": "connected", "name": "agent"}, options).endswith("gen1randombattle; challenge it")
    assert sentence({"event": "unplayed", "who": "ash", "why": "x"}, options) == "no battle with ash: x"
    assert sentence({"event": "unheardof"}, options) == ""


def test_the_opponent_is_the_player_who_is_not_the_agent() -> None:
    log = "|j|x\n|player|p1|My Agent!|1|\n|player|p2|Ash K.|2|1000\n|player|p1|\n"
    assert opponent_of(log, user_id("my agent")) == "Ash K."
    assert opponent_of("|turn|1", "agent") == "?"
