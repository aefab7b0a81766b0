"""Fixed amounts of work in Python, for gate.py: `gate_python.py fleet|learner|serving|counts`.

`ludus` comes from PYTHONPATH. Requests and answers are those of benchmarks/gating/benches.py. `counts WARM UNITS` does
its work once and exits: valgrind counts the instructions of UNITS, after WARM others.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.drivers.lines import Answer, answer_all

Work = Callable[[int], tuple[float, float]]  # units -> CPU seconds, wall-clock seconds
ROWS, ACTIONS, SEGMENT = 64, 10, 32


@contextmanager
def fleet() -> Iterator[Work]:
    from benchmarks.bench_fleet import fleet_exchange

    with fleet_exchange(ROWS, ACTIONS) as exchange:

        def work(units: int) -> tuple[float, float]:
            began_s = time.perf_counter()
            costs = sorted(exchange() for _ in range(units))
            kept = costs[: max(1, len(costs) * 19 // 20)]  # without those that an interrupt has hit
            return sum(kept) / len(kept) * units, time.perf_counter() - began_s

        yield work


@contextmanager
def learner() -> Iterator[Work]:
    import torch
    from benchmarks.drivers.updates import TASKS, ours

    from ludus.config.settings import ComputeConfig

    torch.set_num_threads(1)
    update = ours(TASKS["mlp"], ComputeConfig(), torch.device("cpu"))

    def work(units: int) -> tuple[float, float]:
        began_s, cpu_s = time.perf_counter(), time.thread_time()
        for _ in range(units):
            update()
        return time.thread_time() - cpu_s, time.perf_counter() - began_s

    yield work


@contextmanager
def serving() -> Iterator[Work]:
    from benchmarks import bench_serving

    from ludus.serving.client import Client

    with tempfile.TemporaryDirectory() as temporary:
        file = bench_serving.write_run(Path(temporary), 32)
        with np.load(file) as rows:
            obs, legal = rows["obs"], rows["legal"]
        row, opens = np.arange(len(obs)), np.zeros(len(obs), np.bool_)
        with (
            bench_serving.serving(Path(temporary) / "gen1", 1024, 0.0) as (address, server),
            Client(f"{address}/gen1", timeout_s=60.0) as client,
        ):

            def work(units: int) -> tuple[float, float]:
                began_s, cpu_s = time.perf_counter(), _cpu_s(server.pid)
                for _ in range(units):
                    client.take(client.ask(row, obs, legal, opens))
                return _cpu_s(server.pid) - cpu_s, time.perf_counter() - began_s

            yield work


def _cpu_s(pid: int) -> float:
    """Return the CPU time of a process, to the nanosecond: the clock that clock_getcpuclockid(3) names on Linux."""
    return time.clock_gettime(~pid << 3 | 2)


def counts(warm_units: int, units: int) -> None:
    """Pass frames through the codec, record their rows in segments, and compute returns."""
    from ludus.learner.returns import gae
    from ludus.rollout.segments import SegmentLayout, Segments
    from ludus.spec import GameSpec, ObsSpec
    from ludus.types import Arrivals, Choices
    from ludus.wire import frames
    from ludus.wire.stream import FrameReader

    spec = GameSpec("counted", 2, ACTIONS, ObsSpec.pack({"x": ("float32", (256,))}), 1)
    random = np.random.default_rng(1)
    row = np.arange(ROWS, dtype=np.int32)
    match = (row // 2).astype(np.uint32)
    obs = np.zeros((ROWS, spec.obs.nbytes), np.uint8)
    legal = random.random((ROWS, ACTIONS)) < 0.5
    legal[:, 0] = True
    reward, opens = random.random(ROWS, np.float32), np.zeros(ROWS, np.bool_)
    action, value = np.zeros(ROWS, np.int32), np.zeros(ROWS, np.float32)
    segments, batch = Segments(spec, ROWS, SEGMENT), SegmentLayout(spec, ROWS, SEGMENT).allocate()
    reader = FrameReader()
    gc.disable()  # it would run at times that differ between processes
    for unit in range(warm_units + units):
        if unit == warm_units:
            os.getpriority(os.PRIO_PROCESS, 0)  # the mark of benchmarks/gating/measuring.py
        reader.feed(frames.encode_arrivals(row, match, reward, opens, legal, obs, True))
        for _, body in reader:
            frame = frames.decode_arrivals(body, ACTIONS, spec.obs.nbytes)
            mask = np.unpackbits(frame.legal, axis=1, count=ACTIONS, bitorder="little").view(np.bool_)
            arrivals = Arrivals(
                frame.row, frame.match.astype(np.int64), frame.obs, mask, frame.reward, frame.opens.view(np.bool_)
            )
            segments.fill(batch)
            segments.close(arrivals, lambda obs, row: np.zeros(len(row), np.float32))
            segments.open(arrivals, Choices(action, value, value, 1), None)
        frames.decode_actions(frames.encode_actions(row, action)[frames.HEADER_BYTES :])
        if segments.full:
            gae(batch.reward, batch.value, batch.next_value, batch.ends, batch.final_value, gamma=0.99, gae_lambda=0.95)
    os.getpriority(os.PRIO_PROCESS, 0)


def main(name: str, warm_units: str = "0", units: str = "0") -> None:
    if name == "counts":
        counts(int(warm_units), int(units))
        return
    with {"fleet": fleet, "learner": learner, "serving": serving}[name]() as work:

        def measure(request: dict[str, int]) -> Answer:
            cpu_s, wall_s = work(int(request["units"]))
            return {"cpu_s": cpu_s, "wall_s": wall_s, "units": float(request["units"])}

        answer_all(measure)  # type: ignore[arg-type]  # requests are objects with numbers


if __name__ == "__main__":
    main(*sys.argv[1:])
