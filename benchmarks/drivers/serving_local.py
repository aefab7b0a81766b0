"""A policy in this process, for bench_serving.py: computes batches of random rows, one after the other.

    python serving_local.py CHECKPOINT ROWS_FILE COPIES

The rows of the file, COPIES times, are one batch. With `asks_per_s` in a request, one copy is computed that often.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.append(str(Path(__file__).parents[2] / "src"))  # behind the installed package and PYTHONPATH

from benchmarks.drivers.lines import Answer, answer_all

from ludus.games import checkpoint_game
from ludus.policies.checkpoints import checkpoint
from ludus.types import Arrivals


def main() -> None:
    path, file, copies = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    torch.set_num_threads(1)
    with np.load(file) as rows:
        obs, legal = rows["obs"], rows["legal"]
    state = checkpoint.read_state(checkpoint.find(path))
    nets = checkpoint_game.nets_for(checkpoint.find(path), state.game.name)
    policy = checkpoint.load_agent(path, game_nets=nets, rows=len(obs) * copies)
    whole, part = _arrivals(np.tile(obs, (copies, 1)), np.tile(legal, (copies, 1))), _arrivals(obs, legal)
    for arrivals in (whole, part):
        policy.act(arrivals)

    def measure(request: Mapping[str, Any]) -> Answer:  # Any: a JSON value
        paced = float(request.get("asks_per_s") or 0.0)
        arrivals = part if paced else whole
        cpu_s = time.process_time()
        begin_s = due_s = time.perf_counter()
        until_s = begin_s + float(request["seconds"])
        latencies, decisions = [], 0
        while (now_s := time.perf_counter()) < until_s:
            if paced and now_s < due_s:
                time.sleep(due_s - now_s)
            since_s = time.perf_counter()
            policy.act(arrivals)
            latencies.append(time.perf_counter() - since_s)
            decisions += len(arrivals)
            due_s += 1.0 / paced if paced else 0.0
        p50, p95, p99 = np.percentile(latencies, (50, 95, 99)) * 1e3
        seconds = time.perf_counter() - begin_s
        cpu_s = time.process_time() - cpu_s
        return {"decisions": decisions, "seconds": seconds, "cpu_s": cpu_s, "p50_ms": p50, "p95_ms": p95, "p99_ms": p99}

    answer_all(measure)


def _arrivals(obs: np.ndarray[Any, Any], legal: np.ndarray[Any, Any]) -> Arrivals:  # Any: shape and dtype of a file
    n = len(obs)
    zeros = np.zeros(n, np.float32)
    return Arrivals(np.arange(n, dtype=np.int32), np.zeros(n, np.int64), obs, legal, zeros, np.zeros(n, np.bool_))


if __name__ == "__main__":
    main()
