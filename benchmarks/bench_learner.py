"""Measure the throughput of PPO updates, against Stable-Baselines3 and across the settings of learner.compute.

    python benchmarks/bench_learner.py [--quick] [--device auto|cpu|cuda] [--nets mlp] [--skip compiled] [--save]

A sample is one decision in one epoch. An update includes everything from a batch of segments to new weights: returns,
preparing inputs, forward, backward, clipping and the optimiser step. On the CPU (one thread, CPU time):

    mlp 2x64    2,048 decisions, minibatches of 64, 10 epochs: Stable-Baselines3's defaults; `ours_vs_sb3`
    mlp 2x256   4,096 decisions, minibatches of 512, 2 epochs: ours; `ours_vs_sb3_wide`

Both are measured with ludus and with Stable-Baselines3 (extra `bench`), with the same layers and settings. Most time of
the wide net goes into matrix products, which are the same in both. Then, on the CPU or on CUDA (wall-clock time), ludus
is measured with `plain` (float32, eager) and with each setting alone; `bf16_vs_plain_mlp` above 1 means that bf16
helps. All updates are interleaved. The last line on stdout is one JSON object; --save appends it to
benchmarks/results/learner.jsonl.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest
from benchmarks.drivers.updates import CUDA_WAYS, PEER_TASKS, TASKS, WAYS, Task, Update, ours, sb3

from ludus.config.settings import ComputeConfig
from ludus.learner.devices import choose

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "learner.jsonl"
PEER = "stable_baselines3"
RATIOS = {"mlp 2x64": "ours_vs_sb3", "mlp 2x256": "ours_vs_sb3_wide"}
WARM_UPS = 2

Sample = Callable[[], float]  # samples a second of one update


def main() -> None:
    arguments = _arguments()
    device = choose(arguments.device).device
    torch.set_num_threads(1)
    rows: dict[str, dict[str, float]] = {}
    ratios: dict[str, dict[str, float]] = {}
    if device.type == "cpu" and importlib.util.find_spec(PEER) is None:
        contest.say(f"{PEER} is not installed (pip install -e '.[bench]' in the clone): nothing to compare with")
    elif device.type == "cpu":
        for name, task in PEER_TASKS.items():
            measured = _measured(_against_peer(task, device), arguments.repeats)
            rows |= {f"{name}, {who}": contest.summary(samples) for who, samples in measured.items()}
            ratios[RATIOS[name]] = contest.ratio(measured["ours"], measured["sb3"])
    for name in arguments.nets:
        measured = _measured(_by_ways(TASKS[name], device, arguments.skip), arguments.repeats)
        rows |= {f"{name}, {way}": contest.summary(samples) for way, samples in measured.items()}
        for way in measured.keys() - {"plain"}:
            ratios[f"{way}_vs_plain_{name}"] = contest.ratio(measured[way], measured["plain"])
    result = {
        "bench": "learner",
        "commit": arguments.commit or contest.commit(ROOT),
        "machine": {**contest.machine(), "device": _described(device), "torch": torch.__version__},
        "unit": "samples/s" if device.type == "cuda" else "samples a CPU second",
        "repeats": arguments.repeats,
    }
    contest.show(rows, ratios)
    contest.report(result, rows, dict(sorted(ratios.items())), RESULTS if arguments.save else None)


def _arguments() -> argparse.Namespace:
    parser = contest.Options(__doc__, RESULTS, quick="coarser, in under a minute; nothing is compiled")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda")
    parser.add_argument("--nets", nargs="*", choices=tuple(TASKS), help="nets with which settings are compared")
    parser.add_argument("--skip", nargs="*", default=[], choices=tuple(CUDA_WAYS), help="settings to leave out")
    parser.size("--repeats", 15, 5, "number of updates of each variant")
    parser.add_argument("--commit", help="commit that is measured, if git is not available")
    arguments = parser.arguments()
    if arguments.nets is None:
        arguments.nets = ["mlp"] if arguments.quick else ["mlp", "pointer"]
    if arguments.quick:
        arguments.skip = [*arguments.skip, "compiled", "compiled_graphs"]
    return arguments


def _against_peer(task: Task, device: torch.device) -> dict[str, Sample]:
    fill, update = sb3(task)
    return {
        "ours": _timed(task, ours(task, ComputeConfig(), device), device),
        "sb3": _timed(task, update, device, before=fill),
    }


def _by_ways(task: Task, device: torch.device, skip: list[str]) -> dict[str, Sample]:
    ways = CUDA_WAYS if device.type == "cuda" else WAYS
    return {name: _timed(task, ours(task, way, device), device) for name, way in ways.items() if name not in skip}


def _timed(task: Task, update: Update, device: torch.device, before: Update = lambda: None) -> Sample:
    clock_s = time.perf_counter if device.type == "cuda" else time.process_time

    def sample() -> float:
        before()
        _finish(device)
        began_s = clock_s()
        update()
        _finish(device)
        return task.samples / (clock_s() - began_s)

    return sample


def _finish(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _measured(contestants: Mapping[str, Sample], repeats: int) -> dict[str, list[float]]:
    for name, sample in contestants.items():
        speed = [sample() for _ in range(WARM_UPS)][-1]
        contest.say(f"warming up {name}: {speed:,.0f} samples/s")
    measured: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, sample in contestants.items():
            measured[name].append(sample())
    contest.say("  ".join(f"{name} {statistics.median(samples):,.0f}" for name, samples in measured.items()))
    return measured


def _described(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)


if __name__ == "__main__":
    main()
