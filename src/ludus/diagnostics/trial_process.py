"""Runs one trial of `ludus tune` in a process of its own, with deadlines."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from ludus.diagnostics import training_trial
from ludus.diagnostics.training_trial import TrialOrder, TrialProgress
from ludus.diagnostics.trial_child import LOG, TrialMessage
from ludus.diagnostics.tuning import TrainingTrial
from ludus.files import LONGEST_LINE
from ludus.processes import launch
from ludus.processes.command import ISOLATED

POLL_S = 0.2
LEAVING_S = 20.0  # after its result, until the process is killed
KILL_S = 10.0  # longest wait for the exit status after SIGKILL
OUTPUT = "output.log"  # of the process, in the folder of the trial
TAIL_BYTES = 4096

Tell = Callable[[TrialProgress | None], None]
"""Called with every report of the trial, and a few times a second with None."""


def run(
    order: TrialOrder, *, start_limit_s: float, limit_s: float, tell: Tell = lambda progress: None
) -> TrainingTrial:
    """Run a trial and return it. Its folder is removed, unless the trial failed; it then has the logs.

    A trial that has made no update after `start_limit_s`, or that takes longer than `limit_s` from then on, is killed
    and has failed. So has one whose process ends without a result, such as one that Linux kills if memory runs out.
    """
    folder = Path(order.folder)
    shutil.rmtree(folder, ignore_errors=True)  # a tuning that was killed may have left one of that name
    folder.mkdir(parents=True)
    began_s = time.monotonic()
    argv = launch.tied((*ISOLATED, "ludus.diagnostics.trial_child"))
    with (folder / OUTPUT).open("ab") as output:
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, start_new_session=True
        )
    trial = None
    try:
        trial = _outcome(process, order, start_limit_s, limit_s, tell)
        if not trial.failure:
            with suppress(subprocess.TimeoutExpired):
                process.wait(LEAVING_S)
    finally:
        _end(process)
        if trial is None or not trial.failure:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            _keep_logs(folder)
    return msgspec.structs.replace(trial, wall_s=time.monotonic() - began_s)


def _outcome(
    process: subprocess.Popen[bytes], order: TrialOrder, start_limit_s: float, limit_s: float, tell: Tell
) -> TrainingTrial:
    """Send the order and wait for the trial, or for one of the deadlines."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):  # the process has ended, which is noticed below
        process.stdin.write(msgspec.json.encode(order) + b"\n")
        process.stdin.flush()
    began_s = time.monotonic()
    deadline_s, has_started, start_s, pending = began_s + start_limit_s, False, 0.0, b""
    while time.monotonic() < deadline_s:
        tell(None)
        if not select.select([process.stdout], [], [], POLL_S)[0]:
            continue
        chunk = os.read(process.stdout.fileno(), 1 << 16)
        if not chunk:
            return training_trial.failed(order.due, _death(process, Path(order.folder)))
        *lines, pending = (pending + chunk).split(b"\n")
        for message in (msgspec.json.decode(line, type=TrialMessage) for line in lines):
            if message.trial is not None:
                return msgspec.structs.replace(message.trial, start_s=start_s)
            if message.progress is not None and message.progress.phase != "starting" and not has_started:
                has_started, deadline_s = True, time.monotonic() + limit_s
                start_s = time.monotonic() - began_s
            tell(message.progress)
        if len(pending) > LONGEST_LINE:
            return training_trial.failed(order.due, f"sent a line of more than {LONGEST_LINE:,} bytes")
    if has_started:
        return training_trial.failed(order.due, f"not measured within {limit_s:.0f} s of its first update")
    return training_trial.failed(order.due, f"no update within {start_limit_s:g} s; --start-limit allows more")


def _death(process: subprocess.Popen[bytes], folder: Path) -> str:
    """Return how a process ended that has closed its output, with its last words."""
    try:
        status = process.wait(KILL_S)
    except subprocess.TimeoutExpired:
        return "the process closed its output without a result"
    if status == -signal.SIGKILL:
        return "the process was killed, as Linux does if memory runs out"
    ended = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    with suppress(OSError):
        lines = (folder / OUTPUT).read_bytes()[-TAIL_BYTES:].decode(errors="replace").split("\n")
        words = next((line.strip() for line in reversed(lines) if line.strip()), "")
        ended += f": {words}" if words else ""
    return f"the process {ended}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process, if it still runs. Linux then kills its children: each is tied to its parent."""
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(KILL_S)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _keep_logs(folder: Path) -> None:
    """Remove everything but the logs from the folder of a trial."""
    for path in folder.iterdir():
        if path.name in ("logs", "servers", LOG, OUTPUT):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
