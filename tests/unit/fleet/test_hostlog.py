"""The log of a host stays small, whatever the host writes to stderr."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.fleet.hostlog import HostLog


def opened(path: Path, file_bytes: int = 100) -> HostLog:
    log = HostLog(path, file_bytes)
    log.open()
    return log


def test_log_is_made_at_once_and_goes_on_where_an_earlier_one_stopped(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "host-0.log"
    for words in (b"", b"one\n", b"two\n"):
        log = opened(path)
        log.write(words)
        log.close()
    assert path.read_bytes() == b"one\ntwo\n"


def test_full_log_keeps_the_latest_two_files_and_says_so_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "host-0.log"
    log = opened(path)
    lines = [b"%09d\n" % number for number in range(1000)]
    for at in range(0, 1000, 7):
        log.write(b"".join(lines[at : at + 7]))
    log.close()
    older = tmp_path / "host-0.log.1"
    assert sorted(tmp_path.iterdir()) == [path, older]
    kept = older.read_bytes() + path.read_bytes()
    assert b"".join(lines).endswith(kept)
    assert 100 < len(kept) <= 200
    assert log.dropped == 10_000 - len(kept)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_large_piece_is_written_in_files_of_the_given_size(tmp_path: Path) -> None:
    log = opened(tmp_path / "host-0.log")
    log.write(bytes(1050))
    log.close()
    assert [path.stat().st_size for path in sorted(tmp_path.iterdir())] == [50, 100]


def test_log_that_cannot_be_written_costs_its_lines_only(tmp_path: Path) -> None:
    log = HostLog(Path("/dev/full"), 100)
    log.open()
    log.write(b"lost")
    log.close()
    assert log.dropped == 4
