from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import ludus
from ludus.run import provenance


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    command = ["git", "-C", str(folder), *identity, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()


def test_a_changed_clone_is_told_from_its_commit(tmp_path: Path) -> None:
    git(tmp_path, "init")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "one.py").write_text("1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "Begin")
    assert provenance.commit(tmp_path) == git(tmp_path, "rev-parse", "--short", "HEAD") != ""
    (tmp_path / "src" / "one.py").write_text("2\n")
    assert provenance.commit(tmp_path) == git(tmp_path, "rev-parse", "--short", "HEAD") + "+"


def test_a_package_that_is_installed_within_a_clone_has_no_commit(tmp_path: Path) -> None:
    git(tmp_path, "init")
    (tmp_path / "site-packages").mkdir()
    assert provenance.commit(tmp_path / "site-packages") == ""


def test_a_clone_without_a_commit_has_none(tmp_path: Path) -> None:
    git(tmp_path, "init")
    assert provenance.commit(tmp_path) == ""


def test_every_start_of_a_run_is_noted(tmp_path: Path) -> None:
    assert provenance.read(tmp_path) == []
    provenance.note(tmp_path, 2)
    provenance.note(tmp_path, 2)
    assert provenance.read(tmp_path) == [provenance.here(2)] * 2
    assert provenance.here(2).version == ludus.__version__
    assert provenance.here(2).cores == 2


@pytest.mark.parametrize("damage", [b"\xff\xfe", b"\x00" * 100, b"[" * 100_000, b'{"version": 1}', b'{"version": "0'])
def test_damaged_starts_stop_nothing(tmp_path: Path, damage: bytes) -> None:
    provenance.note(tmp_path, 2)
    path = tmp_path / provenance.STARTS
    path.write_bytes(path.read_bytes() + damage)
    provenance.note(tmp_path, 2)
    assert provenance.read(tmp_path) == [provenance.here(2)] * 2


def test_starts_that_cannot_be_written_or_read_stop_nothing(tmp_path: Path) -> None:
    (tmp_path / provenance.STARTS).mkdir()
    provenance.note(tmp_path, 2)
    assert provenance.read(tmp_path) == []
