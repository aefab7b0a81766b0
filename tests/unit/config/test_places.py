"""Places to write to that cannot be written, for every command that takes one."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.commands import ludus

from ludus.config.places import check_file, check_folder
from ludus.errors import ConfigError

COMMANDS = {
    "train": ("train", "nim", "--run-dir"),
    "resume": ("train", "--resume", "--run-dir"),
    "eval": ("eval", "a-run", "--save-replays"),
    "play": ("play", "a-run", "--accept", "--save-replays"),
    "replay": ("replay", "a-match.ludus.json", "--out"),
    "bench": ("bench", "scale", "--game", "toy", "--out"),
}
QUICK_S = 1.0  # beside what a command needs to print its version


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as refused:
        check_folder(path, "--out")
    return str(refused.value)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_place_that_cannot_be_is_one_line_before_anything_is_loaded(command: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    started = time.monotonic()
    subprocess.run([sys.executable, "-m", "ludus", "--version"], cwd=tmp_path, check=True, timeout=60)
    usual_s = time.monotonic() - started
    started = time.monotonic()
    result = ludus(tmp_path, *COMMANDS[command], "file/below")
    spent_s = time.monotonic() - started
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert f"{COMMANDS[command][-1]}: {tmp_path / 'file'} is a file, not a folder" in result.stderr
    assert spent_s < usual_s * 2 + QUICK_S
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_can_be_made_is_no_trouble_and_is_not_made(tmp_path: Path) -> None:
    check_folder(tmp_path, "--out")
    check_folder(tmp_path / "deep" / "deeper", "--out")
    check_file(tmp_path / "deep" / "page.html", "--out")
    assert list(tmp_path.iterdir()) == []


def test_what_is_wrong_with_a_place_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to("nothing")
    (tmp_path / "loop").symlink_to("loop")
    assert refusal(tmp_path / "file") == f"--out: {tmp_path}/file is a file, not a folder; name another folder"
    assert "is a link to nothing" in refusal(tmp_path / "dangling")
    assert refusal(tmp_path / "loop").startswith(f"--out: {tmp_path}/loop")
    assert "File name too long" in refusal(tmp_path / ("x" * 300))
    assert "cannot be written, which is needed for /proc/self/ludus" in refusal(Path("/proc/self/ludus"))


def test_a_folder_is_no_file_to_write(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--out: .* is a folder; name a file"):
        check_file(tmp_path, "--out")
