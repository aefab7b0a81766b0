"""Measure a policy server: rows per second from many clients, against the policy in one process and one by one.

    python benchmarks/bench_serving.py [--quick] [--clients 16] [--rows 32] [--save]

The policy is the pointer net with the sizes of gen1randombattle, with random weights and rows. All contestants are
alive at the same time, measured interleaved: `local` computes batches of clients x rows in one process; `server` has
that many clients in processes of their own, each of which asks again as soon as it has its answer; `one_by_one` is a
server with forward passes of one row; `waits_5_ms` is one with --max-wait-ms 5. Then `server` and `local` answer half
of what the server can, at fixed times, and `added_p95_ms` is the 95th percentile of the clients' latency without that
of the policy itself. On a machine with a CUDA device the policy plays there. The last line on stdout is one JSON
object; --save appends it to benchmarks/results/serving.jsonl. `rows per CPU s` counts the CPU time of the process that
computes, on a machine that other programs use as well.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import psutil
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "src"))  # behind the installed package and PYTHONPATH

from benchmarks import contest
from benchmarks.contest import Contestant
from benchmarks.drivers.inference import CASES

from ludus.policies.checkpoints import checkpoint
from ludus.policies.checkpoints.archive import Checkpoints
from ludus.policies.checkpoints.checkpoint import State
from ludus.processes.launch import tied
from ludus.serving.client import Client
from ludus.serving.protocol import Report

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "serving.jsonl"
DRIVERS = Path(__file__).parent / "drivers"
CASE = CASES["pointer"]
START_S = 120.0
STOP_S = 20.0


def main() -> None:
    parser = contest.Options((__doc__ or "").split("\n")[0], RESULTS)
    parser.trials(repeats=(5, 3), seconds=(4.0, 1.0), warm_up=(2.0, 0.5))
    parser.add_argument("--clients", type=int, default=16, help="client processes")
    parser.add_argument("--rows", type=int, default=32, help="rows of one ask")
    parser.add_argument("--max-batch", type=int, default=1024, help="of the server")
    parser.add_argument("--server-only", action="store_true", help="leave out the two other servers")
    parser.add_argument("--commit", default="", help="commit that is measured, if git is not available")
    arguments = parser.arguments()
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as running:
        folder = Path(temporary)
        rows = write_run(folder, arguments.rows)
        run = folder / "gen1"
        servers = {"server": (arguments.max_batch, 0.0), "one_by_one": (1, 0.0), "waits_5_ms": (1 << 16, 5.0)}
        if arguments.server_only:
            servers = {"server": servers["server"]}
        processes = {name: running.enter_context(serving(run, *how)) for name, how in servers.items()}
        addresses = {name: address for name, (address, _) in processes.items()}
        contestants = {
            "local": Contestant("local", [_driver("serving_local.py", str(run), str(rows), str(arguments.clients))]),
            **{
                name: Contestant(name, [_driver("serving_client.py", f"{address}/gen1", str(rows))] * arguments.clients)
                for name, address in addresses.items()
            },
        }
        contest.start(contestants.values(), running)
        contest.run_interleaved(
            contestants.values(),
            repeats=arguments.repeats,
            warm_up_s=arguments.warm_up,
            seconds=arguments.seconds,
        )
        loaded = _report(addresses["server"])
        half = 0.5 * statistics.median(contestants["server"].samples) / arguments.rows
        efficiency = {
            name: _rows_per_cpu_s(contestants[name], None if name == "local" else processes[name][1], arguments)
            for name in ("local", *servers)
        }
        latencies = _latencies(contestants, half, arguments.repeats, arguments.seconds, arguments.clients)
    samples = {name: each.samples for name, each in contestants.items()}
    table = {name: contest.summary(each) for name, each in samples.items()}
    table |= {name: contest.summary(each) for name, each in latencies.items()}
    table |= {f"{name}, rows per CPU s": contest.summary(each) for name, each in efficiency.items()}
    table["rows of a forward pass"] = contest.summary([loaded.batch_mean])
    ratios = {
        "server_vs_local": contest.ratio(samples["server"], samples["local"]),
        "server_vs_local_per_cpu_s": contest.ratio(efficiency["server"], efficiency["local"]),
    }
    if "one_by_one" in samples:
        ratios["batched_vs_sequential"] = contest.ratio(samples["server"], samples["one_by_one"])
        ratios["batched_vs_sequential_per_cpu_s"] = contest.ratio(efficiency["server"], efficiency["one_by_one"])
        ratios["greedy_vs_wait"] = contest.ratio(samples["server"], samples["waits_5_ms"])
    contest.show(table, ratios)
    facts = {"clients": arguments.clients, "rows_of_an_ask": arguments.rows}
    result = contest.result("serving", ROOT, arguments, **facts) | {
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "half_load_asks_per_s": round(half, 1),
    }
    contest.report(result, table, ratios, RESULTS if arguments.save else None)


def write_run(folder: Path, rows: int) -> Path:
    """Write a checkpoint of the net with initial weights, and a file with rows. Returns the path of the rows."""
    spec = CASE.spec
    state = State(1, checkpoint.note_game(spec), {}, "pointer", CASE.config)
    tensors = {**checkpoint.net_tensors(CASE.net()), **checkpoint.table_tensors(spec)}
    Checkpoints(folder / "gen1", 1).save(state, tensors, {})
    arrivals = CASE.arrivals(rows)
    file = folder / "rows.npz"
    np.savez(file, obs=arrivals.obs, legal=arrivals.legal)
    return file


def _driver(name: str, *words: str) -> Sequence[str]:
    return (sys.executable, str(DRIVERS / name), *words)


@contextmanager
def serving(run: Path, max_batch: int, max_wait_ms: float) -> Iterator[tuple[str, psutil.Process]]:
    """Run a server in a process of its own and yield its address and the process."""
    command = _driver("serving_server.py", str(run), str(max_batch), str(max_wait_ms))
    with subprocess.Popen(tied(tuple(command)), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            if not address:
                raise RuntimeError("the server did not start; its message is above")
            yield address, psutil.Process(process.pid)
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _report(address: str) -> Report:
    with Client(address, timeout_s=START_S) as client:
        return client.status()


def _rows_per_cpu_s(
    contestant: Contestant, server: psutil.Process | None, arguments: argparse.Namespace
) -> list[float]:
    """Return the rows per CPU second of the process that computes them, which other programs disturb less than rows per
    second of the clock. `server` is that process; None means the contestant itself."""
    samples = []
    for _ in range(arguments.repeats):
        before_s = 0.0 if server is None else sum(server.cpu_times()[:2])
        answers = contestant.ask({"seconds": arguments.seconds})
        rows = sum(each["decisions"] for each in answers)
        used_s = answers[0]["cpu_s"] if server is None else sum(server.cpu_times()[:2]) - before_s
        samples.append(rows / max(used_s, 0.01))
    return samples


def _latencies(
    contestants: dict[str, Contestant], asks_per_s: float, repeats: int, seconds: float, clients: int
) -> dict[str, list[float]]:
    """Return latencies in milliseconds at this load: of the clients, of the policy alone, and what the server adds."""
    found: dict[str, list[float]] = {name: [] for name in ("served_p50_ms", "served_p95_ms", "added_p95_ms")}
    for _ in range(repeats):
        local = contestants["local"].ask({"seconds": seconds / 2, "asks_per_s": asks_per_s})[0]
        served = contestants["server"].ask({"seconds": seconds, "asks_per_s": asks_per_s / clients})
        found["served_p50_ms"].append(statistics.median(each["p50_ms"] for each in served))
        found["served_p95_ms"].append(statistics.median(each["p95_ms"] for each in served))
        found["added_p95_ms"].append(found["served_p95_ms"][-1] - local["p95_ms"])
        time.sleep(0.1)
    return found


if __name__ == "__main__":
    main()
