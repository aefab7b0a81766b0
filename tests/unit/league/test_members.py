"""Members of a league: what may join, and what a damaged or vanished one costs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.disk import let_write, stop_writing

from ludus.config.settings import PolicyConfig
from ludus.errors import CheckpointError, ConfigError, LeagueError
from ludus.games import registry
from ludus.games.toy.matches import spec_of
from ludus.games.toy.options import ToyOptions
from ludus.league import members
from ludus.league.members import League
from ludus.policies.checkpoints import checkpoint
from ludus.policies.checkpoints.archive import Checkpoints
from ludus.policies.checkpoints.checkpoint import SavedCheckpoint, State
from ludus.policies.nets import build
from ludus.spec import GameSpec

TOY = registry.load("toy")
NIM = ToyOptions(game="nim")
SPEC = spec_of(NIM)


def league(tmp_path: Path, options: ToyOptions = NIM) -> League:
    return League.create(tmp_path / "league", TOY, options, spec_of(options))


def saved(run: Path, version: int = 3, spec: GameSpec = SPEC, seed: int = 1) -> SavedCheckpoint:
    state = State(version, checkpoint.note_game(spec), {"game": "nim"}, "mlp", PolicyConfig(width=8), pool=[1])
    net = build(spec, PolicyConfig(width=8), "mlp", seed=seed)
    model = {**checkpoint.net_tensors(net), **checkpoint.table_tensors(spec)}
    return SavedCheckpoint(Checkpoints(run, 3).save(state, model, {}), state)


def test_a_member_is_a_copy_that_plays_without_its_run(tmp_path: Path) -> None:
    there = league(tmp_path)
    member = there.add_checkpoint(saved(tmp_path / "run"), "run@u3", origin="run")
    assert (member.version, member.origin, member.kind) == (3, "run", "checkpoint")
    for path in sorted((tmp_path / "run").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    again = League.open(there.folder)
    assert again.note == there.note
    assert again.members() == {"run@u3": member}
    assert checkpoint.load_agent(again.path(member), SPEC).version == 3
    assert members.read_state(again, member).pool == [], "only what playing needs"


def test_the_same_member_may_join_twice_and_another_of_its_name_may_not(tmp_path: Path) -> None:
    there = league(tmp_path)
    member = there.add_checkpoint(saved(tmp_path / "run"), "a")
    assert there.add_checkpoint(saved(tmp_path / "run"), "a") == member
    with pytest.raises(LeagueError, match="another member named a; choose a name with --name"):
        there.add_checkpoint(saved(tmp_path / "other", seed=2), "a")
    assert list(there.members()) == ["a"]
    assert [path.name for path in (there.folder / "members").iterdir()] == ["a"]


def test_scripted_policies_are_members_and_the_last_is_the_anchor(tmp_path: Path) -> None:
    there = league(tmp_path)
    names = [there.add_scripted(TOY, name).name for name in ("random", "perfect")]
    assert names == ["scripted:random", "scripted:perfect"]
    assert there.note.anchor == "scripted:perfect"
    with pytest.raises(ConfigError, match=r"no scripted policy 'perfct'.*perfect"):
        there.add_scripted(TOY, "perfct")


def test_a_checkpoint_of_another_game_or_schema_is_refused(tmp_path: Path) -> None:
    there = league(tmp_path)
    recall = saved(tmp_path / "recall", spec=spec_of(ToyOptions(game="recall")))
    with pytest.raises(LeagueError, match=r"was made for game toy/recall, the league .* plays game toy/nim"):
        there.add_checkpoint(recall, "a")
    newer = _with_schema(99)
    with pytest.raises(LeagueError, match=r"was made for schema 99, the league .* plays schema"):
        there.add_checkpoint(saved(tmp_path / "newer", spec=newer), "a")
    with pytest.raises(LeagueError, match="made for fingerprint"):
        there.add_checkpoint(saved(tmp_path / "pile", spec=spec_of(ToyOptions(game="nim", pile=20))), "a")
    assert there.members() == {}


def _with_schema(schema: int) -> GameSpec:
    return GameSpec(SPEC.name, SPEC.seats, SPEC.actions, SPEC.obs, schema, SPEC.layout, SPEC.tables)


def test_a_game_with_one_team_has_no_league(tmp_path: Path) -> None:
    with pytest.raises(LeagueError, match="one team"):
        league(tmp_path, ToyOptions(game="identity"))


def test_a_damaged_member_is_left_out_and_the_others_play_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    there = league(tmp_path)
    for name in ("a", "b", "c"):
        there.add_checkpoint(saved(tmp_path / name), name)
    (there.folder / "members" / "a" / "member.json").write_text('{"name": "../b"}')
    (there.folder / "members" / "b" / "model.safetensors").unlink()
    assert list(there.members()) == ["b", "c"]
    assert "this member is left out" in caplog.text
    with pytest.raises(CheckpointError, match=r"model\.safetensors"):
        checkpoint.load_agent(there.path(there.members()["b"]), SPEC)


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "scripted:random", "x" * 101, "a\nb", "a<b>"])
def test_names_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot name a member"):
        league(tmp_path).add_checkpoint(saved(tmp_path / "run"), name)


def test_unknown_members_are_answered_with_the_nearest_name(tmp_path: Path) -> None:
    there = league(tmp_path)
    there.add_scripted(TOY, "random")
    with pytest.raises(ConfigError, match=r"no member 'scripted:randm'.*scripted:random"):
        there.select(("scripted:randm",))
    with pytest.raises(ConfigError, match="no member 'ghost'"):
        there.add_checkpoint(saved(tmp_path / "run"), "a", parents=("ghost",))


def test_a_folder_that_is_no_league_or_a_damaged_one_says_so(tmp_path: Path) -> None:
    with pytest.raises(LeagueError, match=r"is no league: .* ludus league new"):
        League.open(tmp_path)
    there = league(tmp_path)
    with pytest.raises(LeagueError, match="is a league already"):
        league(tmp_path)
    (there.folder / "league.json").write_text('{"version": 2}')
    with pytest.raises(LeagueError, match="is damaged"):
        League.open(there.folder)


def test_a_member_that_does_not_fit_on_the_disk_leaves_nothing(tmp_path: Path) -> None:
    there, run = league(tmp_path), saved(tmp_path / "run")
    stop_writing(os.getpid())
    try:
        with pytest.raises(LeagueError, match="cannot add a to"):
            there.add_checkpoint(run, "a")
    finally:
        let_write(os.getpid())
    assert list((there.folder / "members").iterdir()) == []
