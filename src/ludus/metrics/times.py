"""Tables of how each kind of process spends its time. With `other`, the activities of a process sum to its wall-clock
time.

There are three clocks: one for all hosts together, one for the actor's thread and one for the learner's. A share refers
to its own clock, so shares of different processes do not add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ludus import files
from ludus.metrics import names
from ludus.wire.durations import Durations

HOSTS, ACTOR, LEARNER = "hosts", "actor", "learner"  # the kinds of processes
MATCH_TIME = "match/whole"  # durations of matches; no activity, because matches overlap
OTHER = "other"  # time outside all activities
ACTIVITIES_FILE = "activities.json"  # in a run's folder
STAGES_FILE = "stages.json"  # its name before version 0.2; activities were called stages there


@dataclass(frozen=True, slots=True)
class ActivityTime:
    """One line of a table of activities. Durations are NaN for `other` and for activities without a pass."""

    process: str
    part: str
    share: float  # of the process's wall-clock time
    mean_ms: float = math.nan
    p50_ms: float = math.nan
    p95_ms: float = math.nan

    @property
    def activity(self) -> str:
        return f"{self.process}/{self.part}"


class Times(msgspec.Struct):
    """Wall-clock times of processes and durations of their activities."""

    walls: dict[str, float] = {}  # wall-clock ns by kind of process, summed over the processes of that kind
    activities: dict[str, Durations] = {}  # by activity, `process/part`

    def add(self, other: Times) -> None:
        for process, wall_ns in other.walls.items():
            self.walls[process] = self.walls.get(process, 0.0) + wall_ns
        for activity, durations in other.activities.items():
            self.activities.setdefault(activity, Durations()).add(durations)

    def fade(self, factor: float) -> None:
        self.walls = {process: wall_ns * factor for process, wall_ns in self.walls.items()}
        for durations in self.activities.values():
            durations.fade(factor)

    def share(self, activity: str) -> float:
        """Return the share of an activity in the wall-clock time of its process; 0 if it never ran."""
        wall_ns = self.walls.get(names.process(activity), 0.0)
        return self.activities[activity].total_ns / wall_ns if wall_ns > 0 and activity in self.activities else 0.0

    def busy(self, process: str, waiting: Iterable[str]) -> float | None:
        """Return the share of a process's time outside the activities `waiting`, or None if it has not run."""
        if self.walls.get(process, 0.0) <= 0:
            return None
        return max(0.0, 1 - sum(self.share(activity) for activity in waiting))

    def lines(self) -> list[ActivityTime]:
        """Return all activities in the order of names.py, with the rest of each process's time as `other`."""
        lines = [*self._lines()]
        place = {activity: at for at, activity in enumerate(names.ordered_activities(line.activity for line in lines))}
        return sorted(lines, key=lambda line: place[line.activity])

    def _lines(self) -> Iterator[ActivityTime]:
        for process, wall_ns in self.walls.items():
            if wall_ns <= 0:
                continue
            left_ns = wall_ns
            for activity, durations in self.activities.items():
                if names.process(activity) != process:
                    continue
                left_ns -= durations.total_ns
                p50_ns, p95_ns = durations.quantile_ns(0.5), durations.quantile_ns(0.95)
                part = activity.removeprefix(f"{process}/")
                yield ActivityTime(
                    process,
                    part,
                    durations.total_ns / wall_ns,
                    durations.mean_ns / 1e6,
                    p50_ns / 1e6,
                    p95_ns / 1e6,
                )
            yield ActivityTime(process, OTHER, max(0.0, left_ns / wall_ns))


class RunTimes(msgspec.Struct, frozen=True):
    """The content of `activities.json`."""

    times: Times
    hosts: int
    cores: int
    actors: int = 1


def write(run_dir: Path, run_times: RunTimes) -> None:
    """Write ACTIVITIES_FILE atomically. Its key `lines` is meant for other programs; `read` ignores it."""
    lines = [
        {
            "activity": line.activity,
            "share": line.share,
            "mean_ms": line.mean_ms,
            "p50_ms": line.p50_ms,
            "p95_ms": line.p95_ms,
        }
        for line in run_times.times.lines()
    ]
    data = msgspec.json.encode({"lines": lines, **msgspec.to_builtins(run_times, str_keys=True)})
    files.replace(run_dir / ACTIVITIES_FILE, data)


def read(run_dir: Path) -> RunTimes | None:
    """Read the times of a run, also of one that an older version of ludus began.

    Returns None if the file is missing or damaged: a run continues without it.
    """
    try:
        run_times = _read(run_dir)
    except (OSError, msgspec.MsgspecError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None
    finite = all(0 <= wall_ns < math.inf for wall_ns in run_times.times.walls.values())
    return run_times if finite and all(each.plausible for each in run_times.times.activities.values()) else None


def _read(run_dir: Path) -> RunTimes:
    path, old_path = run_dir / ACTIVITIES_FILE, run_dir / STAGES_FILE
    if path.exists() or not old_path.exists():
        return msgspec.json.decode(path.read_bytes(), type=RunTimes)
    old = renamed(msgspec.json.decode(old_path.read_bytes()), {"stages": "activities"})
    return msgspec.convert(old, RunTimes, strict=False)


def renamed(data: object, new_keys: Mapping[str, str]) -> object:
    """Return decoded JSON with keys of older versions renamed, at every depth."""
    if isinstance(data, dict):
        return {new_keys.get(key, key): renamed(value, new_keys) for key, value in data.items()}
    if isinstance(data, list):
        return [renamed(value, new_keys) for value in data]
    return data
