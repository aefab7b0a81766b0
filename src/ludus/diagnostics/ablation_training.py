"""Runs the trainings of `ludus ablate`, each in a process of its own, and reads their outcomes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from ludus.actors.resolved import resolve
from ludus.config import load
from ludus.config.folders import CONFIG
from ludus.diagnostics.ablation import Training, TrainingOutcome
from ludus.metrics import reward_terms
from ludus.metrics.exporters import csv, evaluations
from ludus.metrics.observer import ALONE
from ludus.processes import launch
from ludus.processes.command import ISOLATED
from ludus.processes.cores import cores
from ludus.run.folder import has_checkpoint

POLL_S = 0.2
STOP_S = 60.0  # to save a checkpoint after an interrupt
KILL_S = 10.0
OUTPUT = "output.log"
TAIL_CHARACTERS = 300
Train = Callable[[Training, Callable[[], None]], TrainingOutcome]
SLACK_S, SLACK = 900.0, 3.0  # a training may take so many times its minutes, and these more: start and evaluations


class Interrupted(Exception):
    """Raised in the threads of trainings that must end."""


def train_all(
    due: Sequence[Training], beside: int, train: Train, tell: Callable[[], None]
) -> Generator[TrainingOutcome, None, None]:
    """Train what is due, `beside` trainings at a time, and yield outcomes as they come. `tell` is called now and then.

    With several at a time, each has cores of its own. If the caller stops, those that run save their checkpoints.
    """
    stop = threading.Event()
    parts: SimpleQueue[list[int]] = SimpleQueue()
    for part in shares_of_cores(beside):
        parts.put(part)

    def interrupt() -> None:
        if stop.is_set():
            raise Interrupted

    def pin() -> None:
        part = parts.get()
        if beside > 1 and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, part)  # of this thread; the processes that it starts inherit it

    with ThreadPoolExecutor(beside, "training", pin) as pool:
        running = {pool.submit(train, training, interrupt) for training in due}
        try:
            while running:
                done, running = wait(running, POLL_S, FIRST_COMPLETED)
                yield from (future.result() for future in done)
                tell()
        finally:
            stop.set()
            for future in running:
                future.cancel()


def shares_of_cores(beside: int) -> list[list[int]]:
    """Return the cores of each of so many trainings: all of them for one, otherwise parts of about equal size."""
    every = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(cores()))
    return [every[len(every) * i // beside : len(every) * (i + 1) // beside] for i in range(beside)]


def train(
    training: Training,
    settings: Mapping[str, Any],  # Any: plain data of a run
    folder: Path,
    *,
    minutes: float,
    tell: Callable[[], None],
) -> TrainingOutcome:
    """Train, or continue a training that was interrupted, and return its outcome. `tell` is called now and then.

    If it raises an exception, the training saves a checkpoint. A training that fails is an outcome with the reason.
    """
    run_dir = folder / "run"
    folder.mkdir(parents=True, exist_ok=True)
    if has_checkpoint(run_dir):
        words = ["--resume", "--run-dir", str(run_dir)]
    else:
        shutil.rmtree(run_dir, ignore_errors=True)  # of a training that ended before its first checkpoint
        load.save(resolve(settings).config, folder / CONFIG)
        words = [str(folder / CONFIG), "--run-dir", str(run_dir)]
    with (folder / OUTPUT).open("ab") as output:
        process = subprocess.Popen(
            launch.tied((*ISOLATED, "ludus", "train", *words)),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C reaches this process only, which then interrupts the training once
        )
    try:
        status = _wait(process, SLACK * 60 * minutes + SLACK_S if minutes else None, tell)
    finally:
        _end(process)
    if status is None:
        return TrainingOutcome(training=training, failure="it took too long and was ended")
    return outcome_of(training, run_dir, status, folder / OUTPUT)


def outcome_of(training: Training, run_dir: Path, status: int, output: Path) -> TrainingOutcome:
    """Read the final evaluation of a training, and the end of its facts."""
    final = [each for each in evaluations.read(run_dir / "evaluations.jsonl") if each.final]
    if status or not final:
        tail = output.read_text(errors="replace").strip()[-TAIL_CHARACTERS:] if output.exists() else ""
        reason = tail.splitlines()[-1] if tail else f"it ended with exit code {status}"
        return TrainingOutcome(training=training, failure=reason)
    shares = {
        score.opponent: score.reward if score.opponent == ALONE else score.wins / max(score.matches, 1)
        for score in final[-1].scores
    }
    rows = csv.read(run_dir / "progress.csv")
    facts = {f"{reward_terms.FACT_PREFIX}{curve.name}": curve.end for curve in reward_terms.terms(rows)}
    facts |= {curve.name: curve.end for curve in reward_terms.facts(rows)}
    return TrainingOutcome(training=training, shares=shares, facts=facts)


def _wait(process: subprocess.Popen[bytes], limit_s: float | None, tell: Callable[[], None]) -> int | None:
    """Return the exit status, or None at the limit."""
    until_s = time.monotonic() + (limit_s if limit_s is not None else sys.maxsize)
    while time.monotonic() < until_s:
        try:
            return process.wait(POLL_S)
        except subprocess.TimeoutExpired:
            tell()
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let a training that still runs save a checkpoint, and end it."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGINT)
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(KILL_S)
