from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from ludus.games import cache
from ludus.games.showdown.servers import state
from ludus.games.showdown.servers.state import KeeperState


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("LUDUS_HOME", str(tmp_path))
    state.folder().mkdir()
    return state.folder()


def test_nobody_keeps_servers_at_first() -> None:
    assert not state.is_kept()
    assert state.read() is None


def test_the_lock_says_whether_there_is_a_keeper(folder: Path) -> None:
    with cache.exclusive(folder / "keeper.lock", 0.0):
        assert state.is_kept()
    assert not state.is_kept()


def test_what_was_written_is_read_and_a_damaged_file_is_none(folder: Path) -> None:
    written = KeeperState(7, 1.0)
    state.write(written)
    found = state.read()
    assert found is not None
    assert (found.pid, found.began, list(found.servers)) == (7, 1.0, [])
    (folder / "state.json").write_bytes(b"{")
    assert state.read() is None
    state.remove()
    state.remove()
    assert not (folder / "state.json").exists()


def test_another_process_with_the_keepers_pid_is_not_the_keeper() -> None:
    me = psutil.Process()
    assert KeeperState(me.pid, me.create_time()).alive
    assert not KeeperState(me.pid, me.create_time() - 100.0).alive
