"""`ludus train` as a user starts it, in a process of its own: started, told to leave, killed, resumed."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.storm import processes
from tests.storm.processes import Tree
from tests.storm.progress import Report, latest
from tests.storm.scenarios import Scenario

from ludus.metrics.exporters.csv import read

SOURCE = Path(__file__).parents[2] / "src"
TAIL_LINES = 12
ADVICE = re.compile(r"--resume-from[\s=]+([^\s;,.'\"`]+)")


class Training:
    """One run in `folder/disk/run`. What it prints is in `folder/said.log`, on another disk than the run's folder."""

    def __init__(self, scenario: Scenario, folder: Path, disk: Path) -> None:
        self.mark = secrets.token_hex(8)
        self.run_dir, self.temporary = disk / "run", folder / "tmp"
        self._folder, self._said = folder, folder / "said.log"
        self._config = folder / "storm.yaml"
        self._config.write_text(scenario.settings, encoding="utf-8")
        self.temporary.mkdir()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def checkpoints(self) -> list[Path]:
        return sorted((self.run_dir / "checkpoints").glob("u*"))

    def start(self) -> None:
        """Begin, or go on where there is a checkpoint."""
        if self.checkpoints:
            self.resume()
        else:
            self._start(str(self._config), "--run-dir", str(self.run_dir))

    def resume(self, *words: str) -> None:
        self._start("--run-dir", str(self.run_dir), "--resume", *words)

    def status(self) -> int | None:
        """The exit status; None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def signal(self, number: signal.Signals) -> None:
        processes.send((self.pid,), number)

    def kill_all(self) -> None:
        """End every process of the run."""
        processes.send(processes.marked(self.mark), signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def tree(self) -> Tree:
        return processes.tree(self.pid)

    def report(self) -> Report:
        return latest(self.run_dir / "progress.csv")

    def rows(self) -> list[dict[str, str]]:
        """All rows of progress.csv; none when it cannot be read."""
        try:
            return read(self.run_dir / "progress.csv")
        except (OSError, ValueError):
            return []

    def counters(self, name: str = "") -> dict[str, float]:
        """Of that checkpoint, or the latest; empty when there is none that can be read."""
        try:
            folder = self.run_dir / "checkpoints" / name if name else self.checkpoints[-1]
            state = json.loads((folder / "state.json").read_bytes())
            return {name: float(value) for name, value in state["counters"].items()}
        except (OSError, ValueError, IndexError, KeyError):
            return {}

    def tail(self) -> str:
        """The last lines that it printed."""
        lines = self._said.read_text(encoding="utf-8", errors="replace").splitlines() if self._said.exists() else []
        return "\n".join(lines[-TAIL_LINES:])

    def advice(self) -> str | None:
        """The checkpoint that a refused run said to resume from."""
        found = ADVICE.findall(self.tail())
        return found[-1] if found else None

    def _start(self, *words: str) -> None:
        before = os.environ.get("PYTHONPATH", "")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(part for part in (str(SOURCE), before) if part),
            "PYTHONFAULTHANDLER": "1",  # SIGABRT makes it say where it hangs
            "OMP_NUM_THREADS": "1",
            "TMPDIR": str(self.temporary),
            processes.MARK: self.mark,
        }
        command: Sequence[str] = (sys.executable, "-m", "ludus", "train", *words)
        with self._said.open("ab") as said:
            said.write(f"\n$ ludus train {' '.join(words)}\n".encode())
            said.flush()
            self._process = subprocess.Popen(
                command,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=environment,
                start_new_session=True,
                preexec_fn=_hear_signals,
            )


def _hear_signals() -> None:
    """A background shell starts its programs with SIGINT ignored, which they would inherit."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
