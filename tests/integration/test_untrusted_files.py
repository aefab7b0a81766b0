"""Files from elsewhere, given to the commands as a user gives them: none of them runs what it names."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.commands import LUDUS
from tests.running import Silent, small_run, train

from ludus.evaluation import recording

REFUSED = 2
CANARY = "canary"
MODULE = f"open({CANARY!r}, 'w').close()\n"
NODE = f"#!/bin/sh\ntouch {CANARY}\necho v24.0.0\n"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of the toy game."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    train(small_run(1), folder, observer=Silent())
    return folder


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with everything that a stranger's file would like to be run."""
    (tmp_path / "evil_module.py").write_text(MODULE)
    (tmp_path / "numpy.py").write_text(MODULE)  # in place of a module that hosts import
    node = tmp_path / "node"
    node.write_text(NODE)
    node.chmod(0o755)
    return tmp_path


EVIL: list[tuple[str, dict[str, Any]]] = [  # Any: whatever somebody might write
    ("gymnasium", {"env": "os:system", "kwargs": {"command": f"touch {CANARY}"}}),
    ("gymnasium", {"env": "evil_module:Env"}),
    ("pettingzoo", {"env": "evil_module:env"}),
    ("command", {"command": f"touch {CANARY}"}),
    ("showdown", {"node": "./node"}),
]


def ludus(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    # -P: `python -m` itself would take numpy.py from the folder, which the installed `ludus` does not
    command = [LUDUS[0], "-P", *LUDUS[1:], *words]
    env = {**os.environ, "LUDUS_HOME": str(folder / "home")}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60)


def forged(trained: Path, folder: Path, game: str, options: dict[str, Any]) -> Path:  # Any: as above
    """A run's folder that claims to be of another game, as a stranger would write it."""
    copy = Path(shutil.copytree(trained, folder / "run"))
    for path in copy.glob("checkpoints/*/state.json"):
        state = json.loads(path.read_text())
        state["options"], state["game"]["name"] = options, game
        path.write_text(json.dumps(state))
        (path.parent / "checksums.json").unlink(missing_ok=True)
    (copy / "config.yaml").write_text(json.dumps({"game": game, "options": options}))
    return copy


@pytest.mark.parametrize(("game", "options"), EVIL)
@pytest.mark.parametrize("words", [("eval",), ("train", "--resume", "--run-dir"), ("bench", "scale", "--policy")])
def test_a_checkpoint_from_elsewhere_runs_nothing_that_it_names(
    trained: Path, here: Path, game: str, options: dict[str, Any], words: tuple[str, ...]
) -> None:
    result = ludus(here, *words, str(forged(trained, here, game, options)))
    assert result.returncode == REFUSED, result.stderr
    assert "--set options." in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (here / CANARY).exists()


def test_a_checkpoint_without_its_run_runs_nothing_that_it_names(trained: Path, here: Path) -> None:
    copy = forged(trained, here, *EVIL[0])
    (copy / "config.yaml").unlink()
    checkpoint = next(copy.glob("checkpoints/u*"))
    result = ludus(here, "eval", str(checkpoint))
    assert (result.returncode, (here / CANARY).exists()) == (REFUSED, False), result.stderr


def test_playing_a_checkpoint_from_elsewhere_starts_no_program_that_it_names(trained: Path, here: Path) -> None:
    result = ludus(here, "play", str(forged(trained, here, *EVIL[-1])), "--accept")
    assert result.returncode == REFUSED
    assert "sets options.node to './node'" in result.stderr
    assert not (here / CANARY).exists()


@pytest.mark.parametrize(("game", "options"), EVIL)
def test_a_saved_match_runs_nothing_that_it_names(here: Path, game: str, options: dict[str, Any]) -> None:
    match = recording.SavedMatch(1, game, 1, options, 0, 0, ("a",), ((),), (1.0,), 0.0, False, "0" * 64)
    path = here / f"evil{recording.SUFFIX}"
    recording.write(path, match)
    result = ludus(here, "replay", str(path))
    assert result.returncode == REFUSED, result.stderr
    assert "--set options." in result.stderr
    assert not (here / CANARY).exists()


def test_a_module_in_the_current_folder_takes_no_hosts_module_place(trained: Path, here: Path) -> None:
    result = ludus(here, "eval", str(trained), "--matches", "2")
    assert result.returncode == 0, result.stderr
    assert not (here / CANARY).exists()


def test_this_machine_may_name_what_the_file_may_not(trained: Path, here: Path) -> None:
    result = ludus(here, "eval", str(forged(trained, here, *EVIL[1])), "--set", "options.env=CartPole-v1")
    assert "was made for game" in result.stderr, result.stderr  # it got as far as a host of that environment
    other = ludus(here, "eval", str(here / "run"), "--set", "learner.lr=1")
    assert "only options of the game can be set here" in other.stderr
