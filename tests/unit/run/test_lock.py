from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.running import Silent, small_run, train

from ludus.errors import ConfigError, SetupError
from ludus.run import hold
from ludus.run.lock import LOCK

HOLDER = """
import sys
from pathlib import Path
from ludus.run.lock import hold
with hold(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_by_another(run_dir: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock until its stdin is closed."""
    command = [sys.executable, "-c", HOLDER, str(run_dir)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_held_lock_is_refused_with_who_holds_it_and_what_to_do(tmp_path: Path) -> None:
    with held_by_another(tmp_path) as other:
        with pytest.raises(ConfigError) as refused, hold(tmp_path):
            pass
        words = str(refused.value)
        assert f"{tmp_path} is in use by pid {other.pid} on {socket.gethostname()}, since " in words
        assert f"-c {tmp_path}; wait until that ends, stop it (kill {other.pid}), or choose another folder" in words
        with pytest.raises(ConfigError, match=f"pid {other.pid} "):
            train(small_run(1), tmp_path, observer=Silent())
        assert [path.name for path in tmp_path.iterdir()] == [LOCK]


def test_the_lock_of_a_killed_process_is_taken_over_and_that_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with held_by_another(tmp_path) as other:
        other.send_signal(signal.SIGKILL)
        other.wait()
        with hold(tmp_path) as lock:
            lock.tell()
    assert lock.abandoned is not None
    assert lock.abandoned.pid == other.pid
    assert "is taken over from a process that ended without releasing it" in caplog.text


def test_a_lock_that_was_given_back_leaves_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        with hold(tmp_path / "run") as lock:
            assert lock.abandoned is None
            assert (tmp_path / "run" / LOCK).exists()
        assert not (tmp_path / "run").exists()


def test_children_do_not_inherit_the_lock(tmp_path: Path) -> None:
    with hold(tmp_path):
        child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    with child, hold(tmp_path) as lock:
        assert lock.abandoned is None
        child.kill()


@pytest.mark.parametrize("content", [b"", b"\xff\x00garbage", b"[" * 100_000, b'{"pid": "x"}'])
def test_a_damaged_note_of_the_holder_stops_nobody(tmp_path: Path, content: bytes) -> None:
    (tmp_path / LOCK).write_bytes(content)
    with hold(tmp_path) as lock:
        assert lock.abandoned is None


def test_a_holder_whose_note_is_damaged_still_keeps_others_out(tmp_path: Path) -> None:
    with held_by_another(tmp_path):
        (tmp_path / LOCK).write_bytes(b"\xff")
        with pytest.raises(ConfigError, match="by another process, which has not written its name"), hold(tmp_path):
            pass


def test_a_run_trains_under_a_lock_that_its_caller_holds(tmp_path: Path) -> None:
    with hold(tmp_path) as lock:
        assert train(small_run(1), tmp_path, observer=Silent(), lock=lock).version == 1
    assert not (tmp_path / LOCK).exists()


def test_a_place_where_no_lock_can_be_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / LOCK).mkdir()
    with pytest.raises(SetupError, match=r"lock: cannot be written: Is a directory"), hold(tmp_path):
        pass
    assert os.listdir(tmp_path) == [LOCK]
