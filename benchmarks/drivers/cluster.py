"""Train for a while, on this machine or on a Ray cluster of its own: `cluster.py CPUS WARM_S MEASURE_S PRESET HOSTS`.

CPUS are those of the cluster's nodes, such as `1+1`, or `none` to train without Ray. Prints one JSON object: decisions
that were learned from per second, after the warm-up.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import ludus
from ludus.metrics import names
from ludus.metrics.observer import Numbers

STORE_BYTES = 200 << 20
ENDLESS = {"budget": {"minutes": 0, "updates": 1_000_000_000}, "evaluation": {"every_updates": 1_000_000_000}}


class Clock:
    """Measures decisions from the end of the warm-up on, then interrupts the run."""

    def __init__(self, warm_s: float, measure_s: float) -> None:
        self._warm_s, self._measure_s = warm_s, measure_s
        self._first_s = 0.0
        self._begin: tuple[float, float] | None = None
        self.decisions_per_s = 0.0

    def on_progress(self, numbers: Numbers) -> None:
        decisions, now_s = float(numbers.get(names.LEARNED, 0)), time.perf_counter()
        if not decisions or self.decisions_per_s:
            return
        self._first_s = self._first_s or now_s
        if self._begin is None and now_s > self._first_s + self._warm_s:
            self._begin = (now_s, decisions)
        elif self._begin is not None and now_s > self._begin[0] + self._measure_s:
            self.decisions_per_s = (decisions - self._begin[1]) / (now_s - self._begin[0])
            signal.raise_signal(signal.SIGINT)

    def on_evaluation(self, results: object, *, final: bool = False) -> None: ...


def main(cpus: str, warm_s: str, measure_s: str, preset: str, hosts: str) -> None:
    clock = Clock(float(warm_s), float(measure_s))
    with ExitStack() as running, tempfile.TemporaryDirectory(prefix="ludus-ray-", dir="/tmp") as folder:
        address = None if cpus == "none" else running.enter_context(_cluster([int(each) for each in cpus.split("+")]))
        settings: dict[str, Any] = {**ENDLESS, "fleet.hosts": int(hosts)}  # Any: plain data
        ludus.train(
            preset,
            run_dir=Path(folder) / "run",
            settings=settings,
            cluster=address,
            observer=clock,
            progress=False,
        )
    print(json.dumps({"decisions_per_s": clock.decisions_per_s}))


@contextmanager
def _cluster(cpus: list[int]) -> Iterator[str]:
    """Start a Ray cluster with a node for each number of CPUs, and yield its address."""
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "b" * 40, "RAY_USAGE_STATS_ENABLED": "0"}
    from ray.cluster_utils import Cluster

    node = {"object_store_memory": STORE_BYTES}
    head = {"num_cpus": cpus[0], "include_dashboard": False, **node}
    cluster: Any = Cluster(initialize_head=True, head_node_args=head)  # Any: Ray's test cluster
    try:
        for each in cpus[1:]:
            cluster.add_node(num_cpus=each, **node)
        yield cluster.address
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
