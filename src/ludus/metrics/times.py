"""Where the time of each kind of process went. The stages of one kind sum to its wall-clock, what is left included.

There are several clocks: that of the hosts (all of them together), that of the actor's thread and that of the
learner's. A share is of its own clock; shares of two clocks do not add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ludus import files
from ludus.metrics import names
from ludus.wire.durations import Durations

HOSTS, ACTOR, LEARNER = "hosts", "actor", "learner"  # the kinds of processes
OTHER = "other"  # the part of a process's time that is in no stage
STAGES_FILE = "stages.json"  # of a run's folder


@dataclass(frozen=True, slots=True)
class StageTime:
    """One line of a table. NaN where nothing has passed, and for what is left over."""

    process: str
    part: str
    share: float  # of the process's wall-clock
    mean_ms: float = math.nan
    p50_ms: float = math.nan
    p95_ms: float = math.nan

    @property
    def stage(self) -> str:
        return f"{self.process}/{self.part}"


class Times(msgspec.Struct):
    walls: dict[str, float] = {}  # ns by process; of several processes of a kind the sum
    stages: dict[str, Durations] = {}  # by stage, `process/part`

    def add(self, other: Times) -> None:
        for process, wall_ns in other.walls.items():
            self.walls[process] = self.walls.get(process, 0.0) + wall_ns
        for stage, durations in other.stages.items():
            self.stages.setdefault(stage, Durations()).add(durations)

    def fade(self, factor: float) -> None:
        self.walls = {process: wall_ns * factor for process, wall_ns in self.walls.items()}
        for durations in self.stages.values():
            durations.fade(factor)

    def share(self, stage: str) -> float:
        """Of its process's wall-clock; 0 for a stage nobody was in."""
        wall_ns = self.walls.get(names.process(stage), 0.0)
        return self.stages[stage].total_ns / wall_ns if wall_ns > 0 and stage in self.stages else 0.0

    def lines(self) -> list[StageTime]:
        """All stages in the order of names.py, those of each process with what is left of its time behind them."""
        found = [*self._lines()]
        place = {stage: at for at, stage in enumerate(names.ordered_stages(line.stage for line in found))}
        return sorted(found, key=lambda line: place[line.stage])

    def _lines(self) -> Iterator[StageTime]:
        for process, wall_ns in self.walls.items():
            if wall_ns <= 0:
                continue
            left_ns = wall_ns
            for stage, durations in self.stages.items():
                if names.process(stage) != process:
                    continue
                left_ns -= durations.total_ns
                p50_ns, p95_ns = durations.quantile_ns(0.5), durations.quantile_ns(0.95)
                part = stage.removeprefix(f"{process}/")
                yield StageTime(
                    process,
                    part,
                    durations.total_ns / wall_ns,
                    durations.mean_ns / 1e6,
                    p50_ns / 1e6,
                    p95_ns / 1e6,
                )
            yield StageTime(process, OTHER, max(0.0, left_ns / wall_ns))


class RunTimes(msgspec.Struct, frozen=True):
    """What a run's folder keeps of it."""

    times: Times
    hosts: int
    cores: int


def write(path: Path, kept: RunTimes) -> None:
    """Whole or as it was. `lines` is for other programs, `read` does without."""
    lines = [
        {
            "stage": line.stage,
            "share": line.share,
            "mean_ms": line.mean_ms,
            "p50_ms": line.p50_ms,
            "p95_ms": line.p95_ms,
        }
        for line in kept.times.lines()
    ]
    files.replace(path, msgspec.json.encode({"lines": lines, **msgspec.to_builtins(kept, str_keys=True)}))


def read(path: Path) -> RunTimes | None:
    """None where there is no such file, or none that can be read: a run is none the worse without."""
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=RunTimes)
    except (OSError, msgspec.MsgspecError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None
    sound = all(0 <= wall_ns < math.inf for wall_ns in kept.times.walls.values())
    return kept if sound and all(each.plausible for each in kept.times.stages.values()) else None
