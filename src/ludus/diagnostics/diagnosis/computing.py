"""The stages without hosts: the policy on recorded rows, the learner on recorded batches, copies between processes."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from ludus.actors.resolved import ResolvedRun
from ludus.config.settings import LearnerConfig
from ludus.diagnostics.diagnosis import record
from ludus.diagnostics.diagnosis.clocks import SLICES
from ludus.diagnostics.diagnosis.host_stages import Measures, Recordings
from ludus.diagnostics.diagnosis.record import Measure
from ludus.games.registry import nets_of
from ludus.learner import algorithms
from ludus.policies import nets
from ludus.policies.gpu.streams import open_stream
from ludus.policies.nets.net import Net
from ludus.policies.network import NetPolicy
from ludus.policies.weights import WeightsBoard
from ludus.processes.command import ISOLATED
from ludus.processes.launch import tied
from ludus.run import initial
from ludus.spec import GameSpec
from ludus.types import Arrivals

FEWEST_UPDATES = 3
POINTS = (1, 4, 16, 64, 256, 1024, 4096)  # rows per batch of the curve
POINT_SHARE = 0.08  # of the stage's time for one point of the curve
ECHO_S = 10.0  # longest wait for an echo
COPIES = 7  # samples of a copy


def net_of(run: ResolvedRun, spec: GameSpec) -> Net:
    """Return the net of a run, with the weights of `start_from` if that is set. Raises CheckpointError."""
    net = nets.build(spec, run.config.policy, run.game.net, seed=run.seed("weights"), game_nets=nets_of(run.game))
    if run.config.start_from:
        initial.load(net, spec, Path(run.config.start_from))
    return net


def policy_of(run: ResolvedRun, spec: GameSpec) -> NetPolicy:
    """Return the policy as an actor of the run has it."""
    return NetPolicy(
        net_of(run, spec),
        spec,
        generator=torch.Generator().manual_seed(run.seed("diagnose")),
        stream=open_stream(run.actor_device.device),
        bf16=run.config.policy.precision == "bf16",
    )


def policy_alone(policy: NetPolicy, recordings: Recordings, seconds: float) -> tuple[Measures, dict[str, float]]:
    """Measure the policy on recorded batches, at the sizes that the run has, and the cost per row by batch size."""
    rows = [len(each) for each in recordings.arrivals]
    for arrivals in recordings.arrivals[:3]:  # compiles, captures
        policy.act(arrivals)
    slices, cpu_s, decisions, wall_s = [], time.process_time(), 0, 0.0
    for _ in range(SLICES):
        spent = _timed(policy, recordings.arrivals, seconds * 0.6 / SLICES)
        slices.append(spent)
        decisions += sum(each for _, each in spent)
        wall_s += sum(each for each, _ in spent)
    cpu_s = time.process_time() - cpu_s
    ms = [np.array([each * 1e3 for each, _ in spent]) for spent in slices]
    numbers = {
        record.ROWS: Measure("rows", "neither", (float(np.median(rows)), float(min(rows)), float(max(rows)))),
        record.BATCH_MS: Measure("ms", "lower", tuple(float(each.mean()) for each in ms)),
        record.BATCH_P95: Measure("ms", "lower", tuple(float(np.quantile(each, 0.95)) for each in ms)),
        record.BATCH_P99: Measure("ms", "lower", tuple(float(np.quantile(each, 0.99)) for each in ms)),
        record.ROW_RATE: Measure(
            "decisions/s", "higher", tuple(sum(n for _, n in spent) / sum(s for s, _ in spent) for spent in slices)
        ),
        record.ROW_CPU: Measure("us", "lower", (cpu_s / max(1, decisions) * 1e6,)),
    }
    return numbers, _curve(policy, recordings.arrivals, max(rows), seconds * POINT_SHARE)


def _timed(policy: NetPolicy, batches: Sequence[Arrivals], seconds: float) -> list[tuple[float, int]]:
    """Return (seconds, rows) of forward passes over the recorded batches, one after the other, at least one round."""
    spent: list[tuple[float, int]] = []
    until_s = time.perf_counter() + seconds
    while not spent or time.perf_counter() < until_s:
        for arrivals in batches:
            began_s = time.perf_counter()
            policy.act(arrivals)
            spent.append((time.perf_counter() - began_s, len(arrivals)))
    return spent


def _curve(policy: NetPolicy, batches: Sequence[Arrivals], largest: int, seconds: float) -> dict[str, float]:
    """Return the microseconds per row by rows per batch, up to at least twice the largest batch of the run."""
    whole = _joined(batches, 2 * max(largest, 1))
    sizes = [size for size in POINTS if size < len(whole)] + [len(whole)]
    curve = {}
    for size in sizes:
        some = whole.take(np.arange(size))
        policy.act(some)
        spent = _timed(policy, [some], seconds)
        curve[str(size)] = float(np.median([each for each, _ in spent])) / size * 1e6
    return curve


def _joined(batches: Sequence[Arrivals], rows: int) -> Arrivals:
    """Return recorded rows as one batch of `rows`, repeated if there are fewer. Every row has a number of its own."""
    at = np.arange(rows) % sum(map(len, batches))
    return Arrivals(
        np.arange(rows, dtype=np.int32),
        np.concatenate([each.match for each in batches])[at],
        np.concatenate([each.obs for each in batches])[at],
        np.concatenate([each.legal for each in batches])[at],
        np.concatenate([each.reward for each in batches])[at],
        np.concatenate([each.opens for each in batches])[at],
    )


def learner_alone(run: ResolvedRun, recordings: Recordings, seconds: float) -> tuple[Measures, dict[int, float]]:
    """Measure updates on recorded batches, and return decisions/s by the size of the minibatch.

    The weights are restored after every update, since an update on the same batch again would stop early.
    """
    config = run.config.learner
    updater = _Updater(run, recordings, config)
    updater.update()  # compiles, captures
    wall: list[float] = []
    cpu: list[float] = []
    until_s = time.perf_counter() + seconds * 0.7
    while len(wall) < FEWEST_UPDATES or time.perf_counter() < until_s:
        cpu_s = time.process_time()
        wall.append(updater.update())
        cpu.append(time.process_time() - cpu_s)
    decisions = updater.decisions
    measures = {
        record.UPDATE_RATE: Measure("decisions/s", "higher", tuple(decisions / each for each in wall)),
        record.UPDATE_MS: Measure("ms", "lower", tuple(1e3 * each for each in wall)),
        record.UPDATE_CPU: Measure("us", "lower", tuple(each / decisions * 1e6 for each in cpu)),
    }
    rates = {config.minibatch: measures[record.UPDATE_RATE].median}
    if 2 * config.minibatch <= config.decisions:
        larger = _Updater(run, recordings, msgspec.structs.replace(config, minibatch=2 * config.minibatch))
        larger.update()
        spent = sorted(larger.update() for _ in range(FEWEST_UPDATES))
        rates[2 * config.minibatch] = decisions / spent[len(spent) // 2]
    return measures, rates


class _Updater:
    """Makes updates on recorded batches in turn."""

    def __init__(self, run: ResolvedRun, recordings: Recordings, config: LearnerConfig) -> None:
        generator = torch.Generator().manual_seed(run.seed("minibatches"))
        net = net_of(run, recordings.spec)
        self._algorithm = algorithms.build(config, net, recordings.spec, generator, run.learner_device)
        self._lr = config.lr
        self._batches = recordings.batches
        self._before = self._algorithm.optimiser.remember()
        self._next = 0

    @property
    def decisions(self) -> int:
        return self._batches[0].decisions

    def update(self) -> float:
        """Make one update, undo it, and return the seconds that it took."""
        batch = self._batches[self._next % len(self._batches)]
        self._next += 1
        began_s = time.perf_counter()
        self._algorithm.update(batch, self._lr)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        spent_s = time.perf_counter() - began_s
        self._algorithm.optimiser.restore(self._before)
        return spent_s


def copies_alone(run: ResolvedRun, recordings: Recordings, floats: int) -> Measures:
    """Measure copies between processes: a batch, the weights, and a message of one host's rows through pipes."""
    spec, rows = recordings.spec, max((len(each) for each in recordings.arrivals), default=1)
    message = max(1, rows // max(1, run.hosts)) * (spec.obs.nbytes + spec.actions)
    batch = recordings.batches[0].arrays() if recordings.batches else {}
    nbytes = sum(each.nbytes for each in batch.values())
    board = WeightsBoard(memoryview(bytearray(WeightsBoard.nbytes(floats))))
    weights: NDArray[np.float32] = np.zeros(floats, np.float32)

    def publish() -> None:
        board.publish(weights, 1)
        board.read()

    numbers = {"transport/weights_ms": _copied(publish)}
    if nbytes:
        targets = {name: np.empty_like(each) for name, each in batch.items()}

        def copy() -> None:
            for name, each in batch.items():
                np.copyto(targets[name], each)

        numbers["transport/batch_ms"] = _copied(copy)
        numbers["transport/size_of_batch_mib"] = Measure("MiB", "neither", (nbytes / 2**20,))
    with _echo() as there_and_back:
        data = bytes(message)
        there_and_back(data)
        numbers["transport/host_round_trip_ms"] = _copied(lambda: there_and_back(data))
    if torch.cuda.is_available() and nbytes:
        numbers |= _to_gpu(nbytes)
    return numbers


def _to_gpu(nbytes: int) -> Measures:
    there = torch.empty(nbytes, dtype=torch.uint8).pin_memory()

    def copy() -> None:
        there.to("cuda", non_blocking=True)
        torch.cuda.synchronize()

    return {"transport/batch_to_gpu_ms": _copied(copy)}


def _copied(action: Callable[[], object]) -> Measure:
    action()
    samples = []
    for _ in range(COPIES):
        began_s = time.perf_counter()
        action()
        samples.append(1e3 * (time.perf_counter() - began_s))
    return Measure("ms", "lower", tuple(samples))


@contextmanager
def _echo() -> Iterator[Callable[[bytes], None]]:
    """Start a process that sends back what it reads, and yield a function that sends data there and waits for it."""
    process = subprocess.Popen(
        tied((*ISOLATED, "ludus.diagnostics.diagnosis.echo")), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    assert process.stdin is not None
    assert process.stdout is not None
    to, back = process.stdin.fileno(), process.stdout.fileno()
    os.set_blocking(to, False)

    def there_and_back(data: bytes) -> None:
        sent_bytes = received_bytes = 0
        until_s = time.monotonic() + ECHO_S
        while received_bytes < len(data):
            left_s = until_s - time.monotonic()
            writes = [to] if sent_bytes < len(data) else []
            readable, writable, _ = select.select([back], writes, [], max(0.0, left_s))
            if left_s <= 0:
                raise OSError(f"a process sent_bytes nothing back for {ECHO_S:g} s")
            if writable:
                with suppress(BlockingIOError):
                    sent_bytes += os.write(to, data[sent_bytes : sent_bytes + (1 << 16)])
            if readable:
                chunk = os.read(back, 1 << 20)
                if not chunk:
                    raise OSError("the process that sends data back has ended")
                received_bytes += len(chunk)

    try:
        yield there_and_back
    finally:
        process.stdin.close()
        process.stdout.close()
        process.kill()
        process.wait(ECHO_S)
