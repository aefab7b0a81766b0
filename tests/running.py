"""Helpers for tests of whole runs: a small configuration, observers, a run in a process of its own, what runs left."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
import torch
from safetensors.numpy import load_file
from torch import Tensor

from ludus import run
from ludus.actors.resolved import resolve
from ludus.config.settings import (
    BudgetConfig,
    EvaluationConfig,
    FleetConfig,
    LearnerConfig,
    OpponentsConfig,
    PolicyConfig,
    PpoConfig,
    RolloutConfig,
    RunConfig,
)
from ludus.metrics.observer import Numbers, Result, RunObserver
from ludus.policies.checkpoints import checkpoint
from ludus.policies.weights import read_tensors
from ludus.run import RunLock, RunResult

PATIENCE_S = 120.0
ENDLESS = 1_000_000  # updates: until it is interrupted
NEVER = 1_000_000_000

PROGRAM = """
import sys
from pathlib import Path
import msgspec
from ludus import run
from ludus.config.settings import RunConfig
from ludus.actors.resolved import resolve
from ludus.run import reporting

class Tell:
    def on_progress(self, numbers):
        print("progress", numbers.get("progress/updates", 0), flush=True)
    def on_evaluation(self, results, *, final=False):
        pass

reporting.PROGRESS_S = 0.05
config = msgspec.json.decode(sys.argv[1], type=RunConfig)
result = run.train(resolve(config), Path(sys.argv[2]), observer=Tell())
print("interrupted", result.interrupted, result.version, flush=True)
"""


class Silent:
    """Watches nothing."""

    def on_progress(self, numbers: Numbers) -> None: ...

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None: ...


class Watch:
    """Remembers the latest of every number, and all evaluations."""

    def __init__(self) -> None:
        self.numbers: dict[str, float | str] = {}
        self.evaluations: list[tuple[bool, dict[str, float]]] = []

    def on_progress(self, numbers: Numbers) -> None:
        self.numbers.update(numbers)

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        self.evaluations.append((final, {result.opponent: result.win_rate for result in results}))


def small_run(updates: int = ENDLESS, *, mode: str = "serial", **changes: object) -> RunConfig:
    """The toy game with every part small; evaluated only at its end. `changes` are the parts a test is about."""
    config = RunConfig(
        game="toy",
        mode="serial" if mode == "serial" else "overlapped",
        device="cpu",
        fleet=FleetConfig(hosts=2, matches=8, backoff_s=0.01),
        policy=PolicyConfig(width=16),
        rollout=RolloutConfig(segment=8),
        learner=LearnerConfig(decisions=256, minibatch=128, lr=3e-3, ppo=PpoConfig(gae_lambda=0.95)),
        opponents=OpponentsConfig(past=0.0, scripted=0.0),
        evaluation=EvaluationConfig(matches=4, quick_matches=4, every_updates=NEVER),
        budget=BudgetConfig(minutes=0, updates=updates),
    )
    return msgspec.structs.replace(config, **changes)


def train(
    config: RunConfig,
    run_dir: Path,
    *,
    observer: RunObserver,
    resume: bool = False,
    resume_from: str | None = None,
    lock: RunLock | None = None,
) -> RunResult:
    """Resolve a configuration and train it."""
    return run.train(resolve(config), run_dir, resume=resume, resume_from=resume_from, observer=observer, lock=lock)


def with_updates(config: RunConfig, updates: int) -> RunConfig:
    return msgspec.structs.replace(config, budget=BudgetConfig(minutes=0, updates=updates))


@contextmanager
def running(config: RunConfig, run_dir: Path) -> Iterator[subprocess.Popen[str]]:
    """A run in a process of its own, already at its second update; killed on leaving if it still runs."""
    command = [sys.executable, "-c", PROGRAM, msgspec.json.encode(config).decode(), str(run_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("progress") and float(line.split()[1]) >= 2:
                    break
            else:
                raise AssertionError(f"the run ended with {process.wait()}")
            yield process
        finally:
            process.kill()


def latest(result: RunResult) -> Path:
    assert result.checkpoint is not None
    return result.checkpoint


def counters(result: RunResult) -> dict[str, float]:
    return checkpoint.read_state(latest(result)).counters


def tensors(result: RunResult) -> dict[str, Tensor]:
    """Weights and the optimiser's state."""
    folder = latest(result)
    return {**read_tensors(folder / checkpoint.MODEL), **read_tensors(folder / checkpoint.OPTIMISER)}


def recorded(result: RunResult) -> int:
    """Decisions that a checkpoint holds and no update has seen."""
    arrays = load_file(latest(result) / checkpoint.MATCHES)
    return int(arrays["rollout.segments.complete.action"].size + arrays["rollout.segments.position"].sum())


def assert_equal_weights(one: RunResult, other: RunResult) -> None:
    ours, theirs = tensors(one), tensors(other)
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if not torch.equal(ours[name], theirs[name])] == []


def assert_equal_runs(one: RunResult, other: RunResult) -> None:
    """Weights, the matches under way and all counters."""
    assert_equal_weights(one, other)
    first, second = (load_file(latest(result) / checkpoint.MATCHES) for result in (one, other))
    assert first.keys() == second.keys()
    assert [name for name in first if not np.array_equal(first[name], second[name])] == []
    assert counters(one) == counters(other)
