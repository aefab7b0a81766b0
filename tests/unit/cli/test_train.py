from __future__ import annotations

import os
from contextlib import suppress
from datetime import date
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ludus.cli.main import app
from ludus.config.folders import new_run_dir
from ludus.errors import CheckpointError, ConfigError, FleetError, HostRefused, LudusError
from ludus.run.folder import as_found_when_refused


def refused(*words: str) -> str:
    result = CliRunner().invoke(app, ["train", *words])
    assert isinstance(result.exception, ConfigError)
    return str(result.exception)


def run_in(folder: Path, *, checkpoint: bool = True) -> Path:
    """What looks like a run, of a game named like its folder, so that a refusal tells which one was taken."""
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(f"game: {folder.name}\n")
    if checkpoint:
        (folder / "checkpoints" / "u00000001").mkdir(parents=True)
        (folder / "checkpoints" / "u00000001" / "state.json").write_text("{}")
    return folder


def test_each_run_of_a_day_gets_its_own_folder(tmp_path: Path) -> None:
    folders = [new_run_dir(tmp_path, "gen1", date(2025, 1, 31)) for _ in range(3)]
    assert [folder.name for folder in folders] == ["gen1-20250131-1", "gen1-20250131-2", "gen1-20250131-3"]
    assert all(folder.is_dir() for folder in folders)


def test_a_folder_that_holds_a_run_is_not_trained_over(tmp_path: Path) -> None:
    folder = run_in(tmp_path / "old")
    assert "add --resume" in refused("nim", "--run-dir", str(folder))


def test_resuming_where_nothing_is_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "no run to resume" in refused("--resume")
    assert "holds no run to resume" in refused("--resume", "--run-dir", "nothing")


def test_resume_takes_the_latest_run_of_the_named_preset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for age, name in enumerate(("nim-1", "gen1-1", "gen1-2", "nim-2", "gen1-3")):
        folder = run_in(tmp_path / "runs" / name, checkpoint=name != "gen1-3")
        os.utime(folder / "config.yaml", (1000 + age, 1000 + age))
    assert "'nim-2'" in refused("--resume")
    assert "'gen1-2'" in refused("gen1", "--resume")


def test_resume_from_takes_a_name_or_a_path_and_says_which_checkpoints_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = run_in(tmp_path / "runs" / "toy")
    for words in (("u00000009", "--run-dir", "runs/toy"), ("u00000009",), ("runs/toy/checkpoints/u00000009",)):
        result = CliRunner().invoke(app, ["train", "--resume-from", *words])
        assert isinstance(result.exception, CheckpointError)
        assert "has no such checkpoint; there are u00000001" in str(result.exception)
    result = CliRunner().invoke(app, ["train", "--resume-from", "runs/toy/checkpoints/u00000001"])
    assert isinstance(result.exception, CheckpointError)
    assert "cannot read runs/toy/checkpoints/u00000001/" in str(result.exception)
    assert (folder / "config.yaml").read_text() == "game: toy\n"


def test_a_bad_configuration_leaves_no_folder_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert refused("nim", "--set", "options.pil=3") == "--set options.pil=3: unknown key; did you mean options.pile?"
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_says_what_cannot_be_is_named_with_the_place_in_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    for line, message in (
        ("learner: {ppo: {clipp: 0.2}}", "learner.ppo.clipp: unknown key; did you mean learner.ppo.clip?"),
        ("learner: {epochs: many}", "learner.epochs: must be a whole number, from 1 to 1000000000, but is 'many'"),
        ("learner: {gamma: 1.5}", "learner.gamma: must be a number, from 0 to 1, but is 1.5"),
        (
            "opponents: {scripted_names: [perfct]}",
            "opponents.scripted_names: this game has no scripted policy 'perfct' (did",
        ),
    ):
        path.write_text(f"game: toy\n{line}\n")
        assert refused(str(path), "--set", "seed=3").startswith(f"{path}: {message}")


@pytest.mark.parametrize("made", [False, True])
def test_a_run_that_its_host_refuses_leaves_no_folder_and_says_why(tmp_path: Path, made: bool) -> None:
    folder = tmp_path / "run"
    if made:
        folder.mkdir()
    words = ("--game", "gymnasium:no_such_module:Env", "--set", "mode=serial", "--set", "fleet.hosts=1")
    result = CliRunner().invoke(app, ["train", *words, "--run-dir", str(folder)])
    assert isinstance(result.exception, HostRefused)
    assert "there is no module no_such_module" in str(result.exception)
    assert "gymnasium no_such_module:Env" in result.output
    assert not folder.exists()


def refuse(folder: Path, error: LudusError, *, learned: bool = False) -> None:
    """What is left of a run that begins in the folder and ends with the error."""
    with suppress(type(error)), as_found_when_refused(folder):
        folder.mkdir(exist_ok=True)
        (folder / "config.yaml").write_text("game: other\n")
        (folder / "run.log").write_text("it began\n")
        if learned:
            (folder / "checkpoints" / "u00000002").mkdir(parents=True)
            (folder / "checkpoints" / "u00000002" / "state.json").write_text("{}")
        raise error


def test_a_refused_resume_keeps_the_configuration_of_the_run(tmp_path: Path) -> None:
    folder = run_in(tmp_path / "old")
    refuse(folder, HostRefused("no such format"))
    assert (folder / "config.yaml").read_text() == "game: old\n"
    assert (folder / "checkpoints" / "u00000001" / "state.json").exists()


def test_what_a_run_has_learned_stays_with_its_configuration_when_a_host_refuses_later(tmp_path: Path) -> None:
    for folder in (tmp_path / "fresh", run_in(tmp_path / "old")):
        refuse(folder, HostRefused("the server is gone"), learned=True)
        assert (folder / "config.yaml").read_text() == "game: other\n"
        assert (folder / "checkpoints" / "u00000002").is_dir()


def test_a_folder_stays_that_held_something_or_whose_logs_tell_more(tmp_path: Path) -> None:
    mine, told, lost = tmp_path / "mine", tmp_path / "told", tmp_path / "lost"
    mine.mkdir()
    (mine / "notes.txt").write_text("mine")
    refuse(mine, HostRefused("no such format"))
    refuse(told, ConfigError(f"no host plays with these options; its log ({told}/logs/asked/host-0.log) says: ..."))
    refuse(lost, FleetError("no host is left"))
    for folder in (mine, told, lost):
        assert (folder / "run.log").exists()
    assert (mine / "notes.txt").read_text() == "mine"
