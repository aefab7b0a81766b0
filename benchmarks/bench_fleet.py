"""Measure the CPU time that the fleet adds to each frame: recv and send of one host, against the bare pipe.

    python benchmarks/bench_fleet.py [--quick]

The host plays nothing and answers with prepared frames. Each measurement starts when a whole frame is in the pipe, so
that neither the host nor its scheduling is included. Reported is CPU time, because a write may wake the host on the
writer's own core: microseconds per frame, medians of interleaved repeats.
"""

from __future__ import annotations

import fcntl
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest
from benchmarks.drivers.echo import OBS

from ludus.config.settings import FleetConfig
from ludus.fleet.fleet import HostFleet
from ludus.fleet.process import PIPE_BYTES
from ludus.processes.command import HostCommand
from ludus.wire.bodies import Configure
from ludus.wire.frames import HEADER_BYTES, encode_actions, encode_configure

ROOT = Path(__file__).parents[1]
CASES = ((32, 10), (64, 10), (64, 14), (32, 2209), (64, 2209))  # rows, actions
REPEATS = 5
DEADLINE_S = 60.0

Exchange = Callable[[], float]  # CPU seconds of one frame and its answer


def main() -> None:
    parser = contest.Options((__doc__ or "").split("\n")[0], quick="fewer frames: coarser")
    frames = 200 if parser.arguments().quick else 2000
    rows: dict[str, dict[str, float]] = {}
    ratios: dict[str, float] = {}
    for count, actions in CASES:
        name = f"{count} rows, {actions} actions"
        with ExitStack() as running:
            fleet = running.enter_context(fleet_exchange(count, actions))
            pipe = running.enter_context(_pipe(count, actions))
            ours, bare = [], []
            for _ in range(REPEATS):
                ours.append(_median_us(fleet, frames))
                bare.append(_median_us(pipe, frames))
        rows[name] = contest.summary(ours)
        rows[f"{name}, bare pipe"] = contest.summary(bare)
        ratios[name] = round(statistics.median(ours) / statistics.median(bare), 3)
        print(
            f"{name}: {rows[name]['median']} us, bare pipe {rows[f'{name}, bare pipe']['median']} us", file=sys.stderr
        )
    report = {"bench": "fleet", "commit": contest.commit(ROOT), "machine": contest.machine(), "unit": "CPU us a frame"}
    print(json.dumps({**report, "rows": rows, "ratios": ratios}))


@contextmanager
def fleet_exchange(rows: int, actions: int) -> Iterator[Exchange]:
    action = np.zeros(rows, np.int32)
    config = FleetConfig(hosts=1, matches=rows // 2)
    with (
        tempfile.TemporaryDirectory() as logs,
        HostFleet(HostCommand(_echo(rows, actions)), config, options={}, seed=1, log_dir=Path(logs)) as fleet,
    ):
        opening = fleet.recv(DEADLINE_S)  # a part of it may have been read together with HELLO
        fleet.send(opening.row, action)

        def exchange() -> float:
            _wait_for(fleet.descriptors[0], rows * OBS.nbytes)
            began_s = time.thread_time()
            arrivals = fleet.recv(DEADLINE_S)
            fleet.send(arrivals.row, action)
            return time.thread_time() - began_s

        yield exchange


@contextmanager
def _pipe(rows: int, actions: int) -> Iterator[Exchange]:
    """The minimum that any fleet must do: read the bytes, write the answer."""
    host = subprocess.Popen(_echo(rows, actions), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert host.stdin is not None
    assert host.stdout is not None
    with host, host.stdin, host.stdout:
        fd, size = host.stdout.fileno(), rows * OBS.nbytes
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        answer = encode_actions(np.arange(rows, dtype=np.int32), np.zeros(rows, np.int32))
        os.write(host.stdin.fileno(), encode_configure(Configure(rows // 2, {}, 1)))
        buffer = bytearray(2 * PIPE_BYTES)

        def exchange() -> float:
            _wait_for(fd, size)
            began_s = time.thread_time()
            os.readv(fd, [buffer])
            os.write(host.stdin.fileno(), answer)  # type: ignore[union-attr]  # a pipe, asserted above
            return time.thread_time() - began_s

        yield exchange


def _echo(rows: int, actions: int) -> tuple[str, ...]:
    return (sys.executable, str(ROOT / "benchmarks" / "drivers" / "echo.py"), str(rows), str(actions))


def _wait_for(fd: int, size: int) -> None:
    """Wait until a whole frame is in the pipe."""
    end_s = time.monotonic() + DEADLINE_S
    while struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0] < HEADER_BYTES + size:
        if time.monotonic() > end_s:
            raise TimeoutError(f"no frame within {DEADLINE_S:g} s")


def _median_us(exchange: Exchange, frames: int) -> float:
    return statistics.median(exchange() for _ in range(frames)) * 1e6


if __name__ == "__main__":
    main()
