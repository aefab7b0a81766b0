"""What a gate measures: one program for each benchmark, which both commits run with the same measuring code.

A program uses the protocol of drivers/lines.py. For each {"units": n, "seed": s} it does a fixed amount of work, and
answers {"cpu_s", "wall_s", "units"}.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.gating.trees import ROOT, GateError, Tree

from ludus.errors import LudusError
from ludus.games.showdown import install
from ludus.games.showdown.game import NODE_FLAGS

DRIVERS = ROOT / "benchmarks" / "drivers"
# The compiler of Node then decides alike in processes that do the same work. Its decisions also depend on the hashes of
# paths, so all trees have the same path for Node (a link), and the seed of hashes is another one in each trial.
PREDICTABLE = ("--predictable", "--single-threaded", "--preserve-symlinks", "--random-seed=1")
PYTHON_COUNTS, ENCODER_COUNTS = "counts", "encoder-counts"
COUNTED = (PYTHON_COUNTS, ENCODER_COUNTS)  # by valgrind instead of by clocks
SHOWDOWN_FORMAT = "gen1randombattle"


@dataclass(frozen=True, slots=True)
class Bench:
    """One benchmark. `units` are per measurement, `warm_units` once after the start of a process."""

    summary: str
    units: int
    warm_units: int
    node: bool = False  # whether Node runs its driver

    def command(self, name: str, tree: Tree, trial: int = 1) -> list[str]:
        words: list[str | Path]
        if self.node:
            try:
                installed = install.ensure()
            except LudusError as error:
                raise GateError(str(error)) from error
            driver = DRIVERS / "gate_showdown.js"
            program = (installed.node, *NODE_FLAGS, *PREDICTABLE, f"--hash-seed={trial}", driver)
            words = [*program, name, installed.root, tree.folder, SHOWDOWN_FORMAT]
        else:
            words = [sys.executable, DRIVERS / "gate_python.py", name]
        return [str(word) for word in words]


BENCHES = {
    "encoder": Bench("Showdown: reading the log, observations and masks (Node)", 15, 200, node=True),
    "showdown": Bench("Showdown: whole matches in a host, without the pipe (Node)", 2000, 15000, node=True),
    "fleet": Bench("receiving and sending a frame of 64 rows", 200, 100),
    "learner": Bench("a PPO update of the MLP, one thread", 1, 1),
    "serving": Bench("a policy server's answers to asks of 32 rows", 60, 80),
    PYTHON_COUNTS: Bench("instructions of frames, segments and returns, counted by valgrind", 1500, 500),
    ENCODER_COUNTS: Bench("instructions of observations and masks of 2 battles (Node), by valgrind", 10, 20, node=True),
}
DEFAULT = tuple(BENCHES)


def chosen(text: str) -> Sequence[str]:
    """Return the benchmarks named in a list with commas; all for an empty one. Raises GateError for an unknown one."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in BENCHES:
            raise GateError(f"--bench {name}: is none of {', '.join(BENCHES)}")
    return names or DEFAULT


def valgrind() -> Path | None:
    found = shutil.which("valgrind")
    return None if found is None else Path(found)
