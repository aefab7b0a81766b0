"""A process that saves checkpoints is killed at any moment: the latest one is whole, and the next save works."""

from __future__ import annotations

import multiprocessing
import random
import signal
import subprocess
import sys
import time
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
import torch
from tests.unit.policies.checkpoints.test_checkpoint import model, state

from ludus.policies.checkpoints import checkpoint, checksums
from ludus.policies.checkpoints.archive import Checkpoints

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0
KILLS = 20


def save_without_pause(run_dir: Path, told: Connection) -> None:
    """Save version after version, each once and then again with other matches. Tells when the first is saved."""
    checkpoints = Checkpoints(run_dir, 2)
    latest = checkpoints.latest()
    for version in count(1 if latest is None else int(latest.name[1:])):
        for part in range(3):
            checkpoints.staged().write_bytes(matches_of(version, part))
            noted = msgspec.structs.replace(state(version), training_s=version + part / 10, scores={"a": version % 3})
            path = checkpoints.save(noted, model(), {"step": torch.tensor(float(version))}, checkpoints.staged())
            checkpoints.mark_best(path, version % 3)
            told.send(version)


def matches_of(version: int, part: int) -> bytes:
    return f"{version}.{part}".encode() * 10_000


def test_the_latest_checkpoint_is_whole_whenever_its_writer_is_killed(tmp_path: Path) -> None:
    """In a process of its own, with which the helpers of multiprocessing end."""
    words = [sys.executable, "-m", "tests.chaos.test_saving", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr


def check_every_kill(tmp_path: Path) -> None:
    moments = random.Random(21)
    for _ in range(KILLS):
        saved = killed_while_saving(tmp_path, moments.uniform(0.0, 0.05))
        latest = Checkpoints(tmp_path, 2).latest()
        assert latest is not None
        assert checkpoint.is_whole(latest)
        noted = checkpoint.read_state(latest)
        assert noted.version >= saved
        part = round(10 * (noted.training_s - noted.version))
        matches = checksums.verified(latest / checkpoint.MATCHES).read_bytes()
        assert matches == matches_of(noted.version, part)  # state and matches are of one save
    Checkpoints(tmp_path, 2).save(state(10**6), model(), {})
    names = Checkpoints(tmp_path, 2).names()
    assert len(names) <= 3  # two, and the best
    assert all(checkpoint.is_whole(tmp_path / "checkpoints" / name) for name in names)


def killed_while_saving(run_dir: Path, delay_s: float) -> int:
    """Kill a process that saves without pause, some time after its first save. Returns the version of that save."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.chaos.test_saving"])  # so that torch is loaded once
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=save_without_pause, args=(run_dir, theirs))
    process.start()
    try:
        assert ours.poll(PATIENCE_S)
        version = int(ours.recv())
        until = time.monotonic() + delay_s
        while (left_s := until - time.monotonic()) > 0:
            if ours.poll(left_s):  # the moment of the kill is what this test is about
                ours.recv()
    finally:
        process.kill()
        process.join(PATIENCE_S)
    assert process.exitcode == -signal.SIGKILL
    return version


if __name__ == "__main__":
    check_every_kill(Path(sys.argv[1]))
