"""Measure inference latency: copy in, forward pass, sampling and copy out, in microseconds per batch.

    python benchmarks/bench_inference.py [--quick] [--device auto|cpu|cuda] [--nets mlp,lstm] [--skip compiled] [--save]

On CUDA, from rows in page-locked memory to actions in page-locked memory: `eager`, `autocast` (bf16), `compiled`, a
captured `graph`, a graph of bf16 layers (`graph_bf16`), and the same without fused kernels (`apart_bf16`). `act` is
everything that a policy does with the graph, including copying rows into that memory and drawing random numbers. `cpu`
is the same without a device, on one thread.
On the CPU, everything that a policy does: `eager`, `autocast`, `compiled`, `bf16` (weights rounded beforehand) and, if
onnxruntime is installed, `onnx` for the nets it supports; `onnx_adopt` is the cost of loading new weights.
Nets: mlp (3 x 512, 0.8M), lstm (256, 0.8M), transformer (6 x 256, 5M, 32 tokens), pointer (as in the gen1 preset) and
pointer_doubles, tokens (2 x 64), tokens_128 (3 x 128), tokens_256 (6 x 256) and tokens_doubles (2 x 64).
Samples of all variants are interleaved. A ratio divides the time of the second by that of the first:
`graph_vs_eager_mlp_512` is the speed-up of a graph over eager at 512 rows. `note_vs_graph_bf16_mlp_512` compares with
an earlier measurement on an H200. The last line on stdout is one JSON object; --save appends it to
benchmarks/results/inference.jsonl.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest
from benchmarks.drivers.inference import CASES, Batch, cpu_ways, cuda_ways

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "inference.jsonl"
SIZES = (1, 8, 32, 128, 512, 2048, 8192)
CPU_SIZES = (1, 8, 32, 128, 512)
REPEATS = 5
SAMPLE_S = 0.04  # of one way in one repeat
LEAST = 5  # batches in a sample
LONGEST_S = 0.2  # a way that takes longer for a batch is left out
NOTE_US = {  # copy-in, forward, sample, copy-out by a graph of bf16 layers on an H200, measured before this existed
    "mlp": {1: 86, 32: 103, 512: 115, 2048: 173, 8192: 444},
    "transformer": {1: 358, 32: 437, 512: 1412, 2048: 4907, 8192: 18012},
}


def main() -> None:
    arguments = _arguments()
    device = torch.device(arguments.device)
    torch.set_num_threads(1)
    sizes: tuple[int, ...] = SIZES if device.type == "cuda" else CPU_SIZES
    if arguments.quick:
        sizes = tuple(size for size in sizes if size in (1, 32, 512))
    rows: dict[str, dict[str, float]] = {}
    ratios: dict[str, dict[str, float]] = {}
    for name in arguments.nets:
        case = CASES[name]
        ways = cuda_ways(case, device, arguments.skip) if device.type == "cuda" else cpu_ways(case, arguments.skip)
        for size in sizes:
            arrivals = case.arrivals(size)
            batches = {
                way: ready(arrivals)
                for way, ready in ways.items()
                if way not in arguments.skip and (way != "cpu" or size <= CPU_SIZES[-1])
            }
            times = _measured(batches, 0.25 * SAMPLE_S if arguments.quick else SAMPLE_S)
            for way, samples in times.items():
                rows[f"{name} {way} {size}"] = contest.summary(
                    samples, rows_per_s=size / statistics.median(samples) * 1e6
                )
            ratios |= _ratios(name, size, times, device)
            line = ", ".join(f"{way} {statistics.median(samples):,.0f}" for way, samples in times.items())
            contest.say(f"{name} {size:>5} rows, us: {line}")
    result = {
        "bench": "inference",
        "commit": arguments.commit or contest.commit(ROOT),
        "machine": {**contest.machine(), **_device(device)},
        "unit": "us a batch",
        "repeats": REPEATS,
    }
    contest.show(rows, ratios)
    contest.report(result, rows, ratios, RESULTS if arguments.save else None)


def _arguments() -> argparse.Namespace:
    quick = "three sizes, shorter samples: coarser"
    parser = contest.Options((__doc__ or "").split("\n")[0], RESULTS, quick=quick)
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument(
        "--nets",
        default=",".join(CASES),
        type=lambda text: text.split(","),
        help="nets to measure, separated by commas",
    )
    parser.add_argument(
        "--skip", default="", type=lambda text: text.split(","), help="variants to leave out, separated by commas"
    )
    parser.add_argument("--commit", default="", help="commit that is measured, if git is not available")
    arguments = parser.arguments()
    if arguments.device == "auto":
        arguments.device = "cuda" if torch.cuda.is_available() else "cpu"
    return arguments


def _measured(batches: Mapping[str, Batch], sample_s: float) -> dict[str, list[float]]:
    """Return the microseconds per batch of each variant, from interleaved samples."""
    samples: dict[str, list[float]] = {}
    for name, batch in batches.items():
        batch()  # compiles, captures
        if next(_sample(batch, 0.0)) < LONGEST_S:
            samples[name] = []
            batch()
    for _ in range(REPEATS):
        for name, measured in samples.items():
            measured.append(statistics.median(_sample(batches[name], sample_s)) * 1e6)
    return samples


def _sample(batch: Batch, sample_s: float) -> Iterator[float]:
    end_s, done = time.perf_counter() + sample_s, 0
    while done < LEAST or time.perf_counter() < end_s:
        began_s = time.perf_counter()
        batch()
        yield time.perf_counter() - began_s
        done += 1


def _ratios(net: str, size: int, times: dict[str, list[float]], device: torch.device) -> dict[str, dict[str, float]]:
    over_eager = ("graph", "graph_bf16", "bf16", "onnx", "autocast", "compiled")
    peers = [*((way, "eager") for way in over_eager), ("act", "cpu"), ("graph_bf16", "apart_bf16")]
    ratios = {
        f"{way}_vs_{peer}_{net}_{size}": contest.ratio(times[peer], times[way])
        for way, peer in peers
        if way in times and peer in times
    }
    note = NOTE_US.get(net, {}).get(size)
    if note is not None and "graph_bf16" in times and "H200" in str(_device(device)):
        ratios[f"note_vs_graph_bf16_{net}_{size}"] = contest.ratio([note] * REPEATS, times["graph_bf16"])
    return ratios


def _device(device: torch.device) -> dict[str, str]:
    if device.type != "cuda":
        return {"torch": torch.__version__}
    return {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(device)}


if __name__ == "__main__":
    main()
