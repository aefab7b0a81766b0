from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ludus.diagnostics import usage
from ludus.diagnostics.scaling import GpuUse
from ludus.diagnostics.usage import TreeUse

BUSY = "import time\nx = bytearray(30 << 20)\nprint('go', flush=True)\nwhile time.process_time() < 30: pass"
DEADLINE_S = 30.0


def test_cpu_and_memory_of_children_count_and_those_set_apart_once_more() -> None:
    apart: list[int] = []
    use = TreeUse(apart=lambda: apart)
    before_mib = use.ram_mib
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            apart.append(child.pid)
            child.stdout.readline()
            until_s = time.monotonic() + DEADLINE_S
            while use.cpu_mean_cores == 0.0 and time.monotonic() < until_s:
                use.sample()
        finally:
            child.kill()
    assert use.cpu_peak_cores >= use.cpu_mean_cores > 0.0
    assert use.ram_mib - before_mib > 30
    assert use.cpu_mean_cores >= use.apart_mean_cores > 0.0
    assert use.ram_mib > use.apart_peak_mib > 30


def test_a_process_to_be_ignored_does_not_count() -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            assert TreeUse().ram_mib - TreeUse(ignored=child.pid).ram_mib > 30
        finally:
            child.kill()


def test_lines_of_several_gpus_are_joined_round_by_round() -> None:
    lines = ["10, 100, 0", "30, 300, 1", "50, 200, 0", "70, 400, 1", "90, 2"]
    assert usage.read_gpu_lines(lines) == GpuUse(0.4, 0.6, 600.0)


@pytest.mark.parametrize("lines", [[], ["[N/A], 100, 0"], ["No devices were found"], ["10"]])
def test_lines_without_numbers_are_no_gpu(lines: list[str]) -> None:
    assert usage.read_gpu_lines(lines) is None


def test_without_nvidia_smi_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert usage.gpu_names() == ""
    with usage.watching_gpus("") as watch:
        assert watch.pid is None
        assert watch.use() is None


def test_nvidia_smi_is_asked_and_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = tmp_path / "said"
    tool = tmp_path / usage.NVIDIA
    tool.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        "*=name*) echo 'NVIDIA H200'; echo 'NVIDIA H200' ;;\n"
        f"*) echo '25, 1200, 0'; echo '75, 800, 1'; touch '{said}'; exec sleep 60 ;;\n"
        "esac\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert usage.gpu_names() == "NVIDIA H200, NVIDIA H200"
    with usage.watching_gpus("NVIDIA H200") as watch:
        until_s = time.monotonic() + DEADLINE_S
        while not said.exists() and time.monotonic() < until_s:
            time.sleep(0.01)
        assert watch.use() == GpuUse(0.5, 0.5, 2000.0)
