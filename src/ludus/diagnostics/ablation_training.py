"""Runs one training of `ludus ablate` in a process of its own, as `ludus train` does, and reads its outcome."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
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
from ludus.run.folder import has_checkpoint

POLL_S = 0.2
STOP_S = 60.0  # to save a checkpoint after an interrupt
KILL_S = 10.0
OUTPUT = "output.log"
TAIL_CHARACTERS = 300
SLACK_S, SLACK = 900.0, 3.0  # a training may take so many times its minutes, and these more: start and evaluations


def train(
    training: Training,
    settings: Mapping[str, Any],  # Any: plain data of a run
    folder: Path,
    *,
    minutes: float,
    tell: Callable[[], None],
) -> TrainingOutcome:
    """Train, or continue a training that was interrupted, and return its outcome. `tell` is called now and then.

    On KeyboardInterrupt, the training saves a checkpoint. A training that fails is an outcome with the reason.
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
