"""Saved matches of the toy game: played again they end the same, and a file that was changed is found out."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ludus.errors import ReplayError, UntrustedError
from ludus.evaluation import arena, recording
from ludus.evaluation.recording import digest
from ludus.evaluation.replay import plain_page, replay
from ludus.games import registry
from ludus.games.toy.options import ToyOptions

TOY = registry.load("toy")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three saved matches."""
    return save_matches(TOY, tmp_path_factory.mktemp("played"))


def save_matches(game: registry.Game, folder: Path) -> Path:
    arena.play(
        game,
        ToyOptions(game="nim"),
        lambda spec: {name: make(spec, 1) for name, make in TOY.scripted.items()},
        agent="perfect",
        opponents=("random", "perfect"),
        matches=4,
        seed=3,
        log_dir=folder,
        hosts=1,
        save_replays=folder / "replays",
        replays=3,
    )
    return folder / "replays"


@pytest.fixture
def saved(played: Path, tmp_path: Path) -> list[Path]:
    """Copies that a test may change."""
    return sorted(Path(shutil.copytree(played, tmp_path / "replays")).iterdir())


def changed(path: Path, **fields: Any) -> Path:  # Any: whatever somebody might write into the file
    content = json.loads(path.read_text()) | fields
    path.write_text(json.dumps(content))
    return path


def test_no_more_matches_are_saved_than_asked_for(saved: list[Path]) -> None:
    assert [path.name for path in saved] == [
        "000000-perfect-random.ludus.json",
        "000001-random-perfect.ludus.json",
        "000004-perfect-perfect.ludus.json",
    ]


def test_a_saved_match_ends_the_same_when_replayed(saved: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "out" / "match.html"
    result = replay(saved[1], page)
    assert result.match.policies == ("random", "perfect")
    assert digest(result.log) == result.match.log_sha256
    assert result.page == page
    assert result.log.splitlines()[0] in page.read_text()


def test_another_result_is_found_out_and_no_page_is_written(saved: list[Path], tmp_path: Path) -> None:
    score = json.loads(saved[0].read_text())["score"]
    changed(saved[0], score=score[::-1], turns=99)
    with pytest.raises(ReplayError, match=r"score \(.*\), recorded \(.*; \d+ turns, recorded 99"):
        replay(saved[0], tmp_path / "match.html")
    assert not (tmp_path / "match.html").exists()


def test_another_log_is_found_out(saved: list[Path]) -> None:
    with pytest.raises(ReplayError, match=r"log [0-9a-f]{12}, recorded 000000000000"):
        replay(changed(saved[0], log_sha256="0" * 64))


def test_missing_and_surplus_and_illegal_actions_are_found_out(saved: list[Path]) -> None:
    actions = json.loads(saved[0].read_text())["actions"]
    with pytest.raises(ReplayError, match="seat 0 must act once more"):
        replay(changed(saved[0], actions=[actions[0][:-1], actions[1]]))
    with pytest.raises(ReplayError, match="1 recorded actions too early"):
        replay(changed(saved[0], actions=[[*actions[0], 0], actions[1]]))
    with pytest.raises(ReplayError, match="action 999, number 0 of seat 0, is not legal"):
        replay(changed(saved[0], actions=[[999], actions[1]]))


def test_another_schema_is_refused(saved: list[Path]) -> None:
    with pytest.raises(ReplayError, match="recorded with schema 77"):
        replay(changed(saved[0], schema=77))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"seed": -1}, "seed"),
        ({"seed": 2**53}, "seed"),
        ({"version": 2}, "version"),
        ({"extra": 1}, "extra"),
        ({"actions": [[0]]}, "1 lists of actions"),
        ({"actions": [["0"], []]}, "actions"),
        ({"policies": ["p"] * 65}, "policies"),
        ({"log_sha256": "xyz"}, "log_sha256"),
        ({"options": {"game": "chess"}}, "options do not fit toy"),
    ],
)
def test_a_field_that_cannot_be_is_named(saved: list[Path], fields: dict[str, object], message: str) -> None:
    with pytest.raises(ReplayError, match=message):
        replay(changed(saved[0], **fields))


def test_files_that_are_no_saved_match_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.ludus.json"
    with pytest.raises(ReplayError, match="cannot read"):
        recording.read(path)
    for content in (b"", b"\xff\xfe", b"[" * 100_000, b"{}"):
        path.write_bytes(content)
        with pytest.raises(ReplayError, match="is no saved match"):
            recording.read(path)
    with path.open("wb") as file:
        file.truncate(recording.MAX_BYTES + 1)
    with pytest.raises(ReplayError, match="larger than 16 MiB"):
        recording.read(path)


def test_a_saved_match_cannot_name_a_program_to_start(saved: list[Path]) -> None:
    changed(saved[0], game="showdown", options={"node": "/bin/sh"})
    with pytest.raises(UntrustedError, match=r"sets options\.node to '/bin/sh'"):
        replay(saved[0])


def test_logs_are_compared_as_the_game_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game = dataclasses.replace(TOY, stable_log="builtins:ascii")  # any function that changes every log
    path = min(save_matches(game, tmp_path).iterdir())
    with pytest.raises(ReplayError, match=r"ended differently than the match: log \w+, recorded"):
        replay(path)
    monkeypatch.setattr(registry, "load", lambda name: game)
    log = replay(path).log
    assert recording.read(path).log_sha256 == digest(ascii(log)) != digest(log)


def test_a_plain_page_escapes_its_log() -> None:
    page = plain_page("<a>", "</pre><script>alert(1)</script>")
    assert "<script>" not in page
    assert "<a>" not in page
