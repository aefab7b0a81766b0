from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ludus import files
from ludus.files import Appender

FULL = Path("/dev/full")  # writing there fails as on a full disk
TORN = """
import resource, sys
from pathlib import Path
from ludus.files import Appender
path = Path(sys.argv[1])
appender = Appender(path)
appender.write(b"one\\n")
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (8, hard))  # room for half of what follows
try:
    appender.write(b"two and more\\n")
except OSError:
    print("failed", path.read_bytes())
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
appender.write(b"three\\n")
"""


def test_a_record_that_fits_only_in_part_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    command = [sys.executable, "-c", TORN, str(tmp_path / "log")]
    assert subprocess.run(command, capture_output=True, text=True, timeout=60).stdout == "failed b'one\\n'\n"
    assert (tmp_path / "log").read_bytes() == b"one\nthree\n"


def test_a_full_disk_is_named_as_such() -> None:
    with pytest.raises(OSError, match="No space left") as failed:
        Appender(FULL).write(b"a line\n")
    assert failed.value.errno == errno.ENOSPC
    assert files.reason(failed.value) == "no space left on the disk"


def test_a_record_behind_a_line_that_was_cut_short_begins_on_its_own(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"one\ntw")
    appender = Appender(tmp_path / "log")
    appender.write(b"three\n")
    appender.write(b"four\n")
    appender.close()
    assert (tmp_path / "log").read_bytes() == b"one\ntw\nthree\nfour\n"


def test_a_replaced_file_is_whole_or_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "page"
    files.replace(path, b"old")

    def fail(*names: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="full"):
        files.replace(path, b"new")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("page", b"old")]


def test_a_line_without_end_is_skipped_and_not_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 100)
    (tmp_path / "log").write_bytes(b"one\r\n\n" + b"x" * 1000 + b"\ntwo\n" + b"y" * 300)
    assert list(files.lines(tmp_path / "log")) == [b"one", None, b"two", None]
    assert list(files.lines(tmp_path / "nothing")) == []


def test_damaged_files_are_kept_beside_each_other(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    for content in (b"1", b"2", b"3"):
        path.write_bytes(content)
        files.replace(path, b"new", aside=files.aside(path))
    kept = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    assert kept == {
        "progress.csv": b"new",
        "progress.csv.damaged": b"1",
        "progress.csv.damaged-2": b"2",
        "progress.csv.damaged-3": b"3",
    }


def test_a_block_that_fails_leaves_the_file_it_was_to_replace(tmp_path: Path) -> None:
    path = tmp_path / "page"
    files.replace(path, b"old", durable=True)

    def fail() -> None:
        with files.replacing(path, partial=tmp_path / "mine") as partial:
            files.write(partial, b"half", durable=True)
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fail()
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("page", b"old")]


def test_a_file_is_written_with_the_mode_that_is_passed(tmp_path: Path) -> None:
    files.write(tmp_path / "secret", b"content", mode=0o600)
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
