"""Shared by all tests: nothing may outlive the test that started it; the real simulator, installed once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import psutil
import pytest

from ludus.games.showdown.install import Installation, ensure

os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's threads stall each other on a busy machine

# A background shell starts its programs with Ctrl-C ignored, and their children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

LEAVE_S = 5.0  # for a process that was told to go
LASTING = (
    "multiprocessing.resource_tracker",  # one for the whole session, by design
    "multiprocessing.forkserver",
    *("ray::IDLE", "ray::DashboardAgent", "ray::RuntimeEnvAgent", "/ray/"),  # of a Ray cluster, not of its client
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is marked `cuda` is skipped where there is no such device, and `openfront` where there is no checkout."""
    for item in items:
        if item.get_closest_marker("openfront") and not os.environ.get("OPENFRONT_HOME"):
            item.add_marker(pytest.mark.skip(reason="OPENFRONT_HOME names no checkout of OpenFront"))
    marked = [item for item in items if item.get_closest_marker("cuda")]
    if marked:
        import torch

        if not torch.cuda.is_available():
            for item in marked:
                item.add_marker(pytest.mark.skip(reason="there is no CUDA device here"))


@pytest.fixture(autouse=True)
def _no_process_outlives_its_test() -> Iterator[None]:
    before = set(psutil.Process().children(recursive=True))
    yield
    left = [child for child in psutil.Process().children(recursive=True) if child not in before and not _lasts(child)]
    _, alive = psutil.wait_procs(left, timeout=LEAVE_S)
    names = [_command(child) for child in alive]
    for child in alive:
        child.kill()
    assert not names, f"processes outlived their test: {names}"


@pytest.fixture(scope="session")
def showdown() -> Installation:
    """Node and the simulator, installed into the user's cache unless they are there."""
    return ensure()


def _lasts(process: psutil.Process) -> bool:
    return any(name in _command(process) for name in LASTING)


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return "(gone)"
