"""Plays the same matches in one process, through a policy server, and through one that answers row by row.

`check` looks whether everything is there before anything runs; `play` runs the three trials, one after the other.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ludus.diagnostics import serving_worker
from ludus.diagnostics.scaling import GpuUse
from ludus.diagnostics.serving_worker import Share, ShareResult
from ludus.diagnostics.usage import gpu_names, watching_gpus
from ludus.errors import ConfigError, EvaluationError
from ludus.evaluation.schedule import evenly
from ludus.games import checkpoint_game, named_policies
from ludus.games.registry import Game
from ludus.metrics.intervals import wilson
from ludus.policies.checkpoints import checkpoint
from ludus.processes.launch import tied
from ludus.serving.client import Client
from ludus.serving.protocol import Report

LOCAL, SERVER, ONE_BY_ONE = "one process", "server", "server, row by row"
START_S, STOP_S = 120.0, 20.0
LEAST_FREE_MIB = 200.0
SEED = 20_000


class ServingPlan(msgspec.Struct, frozen=True):
    """The policies, matches and sizes of the benchmark."""

    policy: str  # the folder of a checkpoint
    opponent: str
    matches: int  # in each trial
    workers: int
    concurrency: int  # matches at a time of each worker
    port: int = 0  # 0: any free one
    max_batch: int = 1024
    seed: int = SEED
    deadline_s: float = 3600.0  # of one trial


class Checked(NamedTuple):
    """A line of the pre-flight check."""

    what: str
    detail: str


class ServingTrial(msgspec.Struct, frozen=True):
    """The result of one way to play the matches."""

    name: str
    workers: int
    matches: int
    wins: int
    losses: int
    ties: int
    decisions: int
    invalid: int
    voided: int
    seconds: float
    policy_p50_ms: float
    policy_p95_ms: float
    report: Report | None = None  # of the server at the end
    gpu: GpuUse | None = None

    @property
    def battles_per_hour(self) -> float:
        return self.matches / self.seconds * 3600

    @property
    def decisions_per_s(self) -> float:
        return self.decisions / self.seconds

    @property
    def win_rate(self) -> float:
        return self.wins / self.matches

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95% Wilson interval of the win rate."""
        return wilson(self.wins, self.matches)

    @property
    def batch_mean(self) -> float:
        """Return the mean rows of a forward pass of the server; 0 without a server."""
        if self.report is None or not self.report.forwards:
            return 0.0
        return self.report.decisions / self.report.forwards


def check(plan: ServingPlan, folder: Path, install: Callable[[Game, msgspec.Struct], None]) -> Iterator[Checked]:
    """Yield a line for everything that the benchmark needs and that is there. `install` installs the simulator.

    Raises LudusError, which names what is missing.
    """
    agent = named_policies.agent_source(plan.policy)
    game, options = serving_worker.game_of(agent)
    named_policies.refuse_unknown((plan.opponent,), game.scripted, "--opponent")
    if agent.state is None or agent.seats < 2:
        raise ConfigError(f"{plan.policy}: expected a run or a checkpoint of a game with two seats or more")
    path = Path(agent.name)
    policy = checkpoint.load_agent(path, game_nets=checkpoint_game.nets_for(path, agent.game_name), state=agent.state)
    device = policy.weights.vector.device
    yield Checked(
        "policy", f"{agent.name} loads: version {policy.version}, {policy.weights.vector.numel():,} weights, {device}"
    )
    install(game, options)
    yield Checked("simulator", f"{game.name} is there; the opponent is {plan.opponent}")
    yield Checked("port", _free_port(plan.port))
    folder.mkdir(parents=True, exist_ok=True)
    free_mib = shutil.disk_usage(folder).free / 2**20
    if free_mib < LEAST_FREE_MIB:
        raise ConfigError(f"{folder}: {free_mib:.0f} MiB are free, expected at least {LEAST_FREE_MIB:.0f}")
    yield Checked("disk", f"{free_mib / 1024:,.1f} GiB are free at {folder}")


def play(plan: ServingPlan, log: Path, progress: Callable[[str, int, int], None]) -> Iterator[ServingTrial]:
    """Yield the three trials as they end.

    log: file for what the servers write to stderr. progress: receives a trial's name, its matches so far, and all.
    Raises EvaluationError if a worker or a server fails, or a trial does not end within its deadline.
    """
    for name, max_batch in ((LOCAL, 0), (SERVER, plan.max_batch), (ONE_BY_ONE, 1)):
        with ExitStack() as stack:
            gpu = stack.enter_context(watching_gpus(gpu_names()))
            address = stack.enter_context(_serving(plan, max_batch, log)) if max_batch else ""
            shares = _shares(plan, address)
            workers = [stack.enter_context(_worker(share)) for share in shares]
            results = _results(name, workers, plan, partial(_tell, progress, name, plan.matches))
            report = _report(address) if address else None
            yield _trial(name, results, len(shares), report, gpu.use())


def _tell(progress: Callable[[str, int, int], None], name: str, matches: int, ended: int) -> None:
    progress(name, ended, matches)


def _trial(
    name: str, results: Sequence[ShareResult], workers: int, report: Report | None, gpu: GpuUse | None
) -> ServingTrial:
    fields = ("matches", "wins", "losses", "ties", "decisions", "invalid", "voided")
    counts = {field: sum(getattr(each, field) for each in results) for field in fields}
    seconds = max(each.end_s for each in results) - min(each.begin_s for each in results)
    p50 = sorted(each.policy_p50_ms for each in results)[len(results) // 2]
    p95 = max(each.policy_p95_ms for each in results)
    return ServingTrial(
        name, workers, **counts, seconds=seconds, policy_p50_ms=p50, policy_p95_ms=p95, report=report, gpu=gpu
    )


def _shares(plan: ServingPlan, address: str) -> list[Share]:
    """Return what each worker plays: one process with all hosts, or one process for each host of a server."""
    agent = named_policies.agent_source(plan.policy)
    if not address:
        matches = evenly(plan.matches, agent.teams)
        return [Share(plan.policy, plan.opponent, matches, plan.seed, plan.workers, plan.concurrency, plan.deadline_s)]
    each = evenly(-(-plan.matches // plan.workers), agent.teams)
    return [
        Share(f"{address}/policy", plan.opponent, each, plan.seed + worker, 1, plan.concurrency, plan.deadline_s)
        for worker in range(plan.workers)
    ]


@contextmanager
def _serving(plan: ServingPlan, max_batch: int, log: Path) -> Iterator[str]:
    """Run `ludus serve` and yield its address. Raises EvaluationError if it does not start."""
    words = ["serve", f"policy={plan.policy}", "--port", str(plan.port), "--max-batch", str(max_batch)]
    with log.open("ab") as stderr, _running([sys.executable, "-m", "ludus", *words], stderr=stderr) as process:
        lines = _Lines([process])
        until_s = time.monotonic() + START_S
        while time.monotonic() < until_s:
            for _, line in lines.read(until_s - time.monotonic()):
                address = re.search(rb"status (tcp://\S+)", line)
                if address is not None:
                    yield address[1].decode()
                    return
    raise EvaluationError(f"ludus serve did not start within {START_S:.0f} s; {log} has its messages")


@contextmanager
def _worker(share: Share) -> Iterator[subprocess.Popen[bytes]]:
    with _running([sys.executable, "-m", "ludus.diagnostics.serving_worker"], stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(share) + b"\n")
        process.stdin.flush()
        yield process


@contextmanager
def _running(argv: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:  # Any: those of Popen
    with subprocess.Popen(tied(tuple(argv)), stdout=subprocess.PIPE, **options) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


class _Lines:
    """Reads whole lines from several programs."""

    def __init__(self, processes: Sequence[subprocess.Popen[bytes]]) -> None:
        self._processes = processes
        self._partial = [b"" for _ in processes]

    def read(self, timeout_s: float) -> list[tuple[int, bytes]]:
        """Return lines with the index of their program. Raises EvaluationError if a program has ended."""
        descriptors = {each.stdout.fileno(): at for at, each in enumerate(self._processes) if each.stdout is not None}
        lines = []
        for descriptor in select.select(list(descriptors), [], [], max(timeout_s, 0.0))[0]:
            at = descriptors[descriptor]
            data = os.read(descriptor, 1 << 16)
            if not data:
                code = self._processes[at].wait(STOP_S)
                raise EvaluationError(f"a process of the benchmark ended with status {code}; its message is above")
            *whole, self._partial[at] = (self._partial[at] + data).split(b"\n")
            lines += [(at, line) for line in whole]
        return lines


def _results(
    name: str, workers: Sequence[subprocess.Popen[bytes]], plan: ServingPlan, progress: Callable[[int], None]
) -> list[ShareResult]:
    """Start all workers when all are ready, and return their results."""
    ready: set[int] = set()
    results: dict[int, ShareResult] = {}
    ended = [0] * len(workers)
    until_s = time.monotonic() + START_S + plan.deadline_s
    remaining = _Lines(workers)
    while len(results) < len(workers):
        if time.monotonic() > until_s:
            raise EvaluationError(
                f"{name}: {sum(ended)} of {plan.matches} matches ended within {plan.deadline_s:.0f} s"
            )
        for at, line in remaining.read(1.0):
            message = msgspec.json.decode(line)
            if "ready" in message:
                ready.add(at)
                if len(ready) == len(workers):
                    for worker in workers:
                        assert worker.stdin is not None
                        worker.stdin.write(b"go\n")
                        worker.stdin.flush()
            elif "ended" in message:
                ended[at] = message["ended"]
            else:
                results[at] = msgspec.convert(message, ShareResult)
                ended[at] = results[at].matches
                if len(results) == len(workers):
                    break
            progress(sum(ended))
    return [results[at] for at in range(len(workers))]


def _report(address: str) -> Report:
    with Client(address, timeout_s=STOP_S) as client:
        return client.status()


def _free_port(port: int) -> str:
    """Return a sentence on the port. Raises ConfigError if another program uses it."""
    try:
        with socket.create_server(("127.0.0.1", port)):
            return "any free one" if port == 0 else f"{port} is free"
    except OSError as error:
        raise ConfigError(f"--port {port}: {error.strerror}; leave it out to use any free one") from error
