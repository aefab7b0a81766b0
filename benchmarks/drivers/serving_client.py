"""A client of a policy server, for bench_serving.py: asks for the same random rows again and again.

    python serving_client.py ADDRESS ROWS_FILE

Without `asks_per_s` in a request, the next ask follows each answer at once. With it, asks leave at fixed times,
whether answers come or not, and latency counts from the time at which an ask should have left.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.append(str(Path(__file__).parents[2] / "src"))  # behind the installed package and PYTHONPATH

from benchmarks.drivers.lines import Answer, answer_all

from ludus.serving.client import Client


def main() -> None:
    address, file = sys.argv[1:]
    with np.load(file) as rows:
        obs, legal = rows["obs"], rows["legal"]
    row, opens = np.arange(len(obs)), np.zeros(len(obs), np.bool_)
    with Client(address, timeout_s=60.0) as client:

        def measure(request: Mapping[str, Any]) -> Answer:  # Any: a JSON value
            seconds, every_s = float(request["seconds"]), 1.0 / float(request.get("asks_per_s") or 1e9)
            is_paced = every_s > 1e-6
            latencies: list[float] = []
            under_way: deque[tuple[int, float]] = deque()
            begin_s = time.perf_counter()
            due_s = begin_s + float(request.get("delay_s", 0.0))
            decisions = 0
            while (now_s := time.perf_counter()) < begin_s + seconds:
                if is_paced and now_s < due_s and not under_way:
                    time.sleep(due_s - now_s)
                    continue
                if not under_way or (is_paced and now_s >= due_s):
                    under_way.append((client.ask(row, obs, legal, opens), due_s if is_paced else now_s))
                    due_s += every_s if is_paced else 0.0
                    continue
                batch, since_s = under_way.popleft()
                client.take(batch)
                latencies.append(time.perf_counter() - since_s)
                decisions += len(obs)
            took_s = time.perf_counter() - begin_s
            for batch, _ in under_way:
                client.take(batch)
            p50, p95, p99 = np.percentile(latencies or [0.0], (50, 95, 99)) * 1e3
            return {"decisions": decisions, "seconds": took_s, "p50_ms": p50, "p95_ms": p95, "p99_ms": p99}

        answer_all(measure)


if __name__ == "__main__":
    main()
