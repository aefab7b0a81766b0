from __future__ import annotations

import subprocess
import sys

import pytest
from tests.clocks import Clock

from ludus.run.memory import EVERY_S, RunMemory


def test_processes_are_measured_by_kind_and_not_at_every_report() -> None:
    clock = Clock()
    memory = RunMemory(lambda: clock.ns / 1e9)
    command = [sys.executable, "-c", "x = bytearray(64 << 20); print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        try:
            assert host.stdout is not None
            host.stdout.readline()
            first = memory.mib()
            assert first["hosts"] > 64
            assert first["learner"] > 20
            assert "actors" not in first
            assert memory.mib() == {}
            clock.pass_s(EVERY_S)
            assert memory.mib()["hosts"] == pytest.approx(first["hosts"], rel=0.2)
        finally:
            host.kill()
