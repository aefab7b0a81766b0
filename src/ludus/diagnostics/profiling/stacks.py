"""Sampled call stacks of one process: read from the files of profilers, and written for speedscope. Pure."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, NamedTuple

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
JAVA_S = 0.02  # seconds that one sample of Java Flight Recorder stands for
IDLE = frozenset({"(idle)", "(program)", "(root)"})  # of V8
DEEPEST = 512  # frames of a stack that are read
STAYING = re.compile(r"[^\x20-\x7e\xa0-\uffff]")


class StackFrame(NamedTuple):
    """One function, as a profiler names it."""

    function: str
    file: str = ""
    line: int = 0

    @property
    def place(self) -> str:
        """Return the end of the path and the line; whole paths are long and differ between machines."""
        parts = PurePath(self.file.removeprefix("file://")).parts[-2:]
        where = "/".join(parts)
        return f"{where}:{self.line}" if where and self.line else where


@dataclass(frozen=True, slots=True)
class StackSamples:
    """Stacks of one process, outermost frame first, with the seconds that each was seen for."""

    process: str
    stacks: Mapping[tuple[StackFrame, ...], float]
    seconds: float  # that the process was watched

    @property
    def busy_s(self) -> float:
        return sum(self.stacks.values())


@dataclass(frozen=True, slots=True)
class HotFrame:
    """A line of the table of hottest frames. Shares are those of the time that the process was watched."""

    process: str
    frame: StackFrame
    self_share: float
    total_share: float


def hottest(profiles: Iterable[StackSamples], most: int) -> list[HotFrame]:
    """Return the frames with the largest shares of their own, over all processes."""
    lines = []
    for samples in profiles:
        own, total = defaultdict[StackFrame, float](float), defaultdict[StackFrame, float](float)
        for stack, seconds in samples.stacks.items():
            own[stack[-1]] += seconds
            for frame in set(stack):
                total[frame] += seconds
        whole_s = max(samples.seconds, samples.busy_s, 1e-9)
        lines += [HotFrame(samples.process, frame, own[frame] / whole_s, total[frame] / whole_s) for frame in own]
    return sorted(lines, key=lambda line: (-line.self_share, line.process, line.frame))[:most]


def merged(process: str, profiles: Sequence[StackSamples]) -> StackSamples:
    """Return the stacks of several processes or threads together."""
    stacks = defaultdict[tuple[StackFrame, ...], float](float)
    for samples in profiles:
        for stack, seconds in samples.stacks.items():
            stacks[stack] += seconds
    return StackSamples(process, dict(stacks), sum(samples.seconds for samples in profiles))


def of_speedscope(data: Any, process: str, seconds: float) -> StackSamples:  # Any: decoded JSON
    """Read what py-spy has written: one profile for each thread. Raises ValueError if it is something else."""
    with _reading():
        frames = [_frame(each.get("name"), each.get("file"), each.get("line")) for each in data["shared"]["frames"]]
        stacks = defaultdict[tuple[StackFrame, ...], float](float)
        for profile in data["profiles"]:
            for sample, weight in zip(profile["samples"], profile["weights"], strict=True):
                if sample:
                    stacks[tuple(frames[at] for at in sample[-DEEPEST:])] += _weight(weight)
        return StackSamples(process, dict(stacks), seconds)


def of_cpuprofile(data: Any, process: str) -> StackSamples:  # Any: decoded JSON
    """Read what V8 has written. Raises ValueError if it is something else."""
    with _reading():
        nodes = {node["id"]: node for node in data["nodes"]}
        parents = {child: node["id"] for node in data["nodes"] for child in node.get("children", ())}
        frames = {at: _v8_frame(node["callFrame"]) for at, node in nodes.items()}
        stacks = defaultdict[tuple[StackFrame, ...], float](float)
        for at, delta_us in zip(data["samples"], data["timeDeltas"], strict=True):
            if not _is_idle(frames[at]):
                stacks[_path(at, parents, frames)] += max(0.0, _weight(delta_us)) / 1e6
        return StackSamples(process, dict(stacks), _weight(data["endTime"] - data["startTime"]) / 1e6)


def of_flight_recorder(data: Any, process: str, seconds: float) -> StackSamples:  # Any: decoded JSON
    """Read what `jfr print --json` has written. Raises ValueError if it is something else."""
    with _reading():
        stacks = defaultdict[tuple[StackFrame, ...], float](float)
        for event in data["recording"]["events"]:
            trace = event["values"].get("stackTrace")
            if trace and trace["frames"]:
                stacks[tuple(_java_frame(each) for each in reversed(trace["frames"][:DEEPEST]))] += JAVA_S
        return StackSamples(process, dict(stacks), seconds)


def speedscope(profiles: Sequence[StackSamples], name: str) -> dict[str, Any]:  # Any: JSON
    """Return a speedscope file with one profile for each process."""
    indices: dict[StackFrame, int] = {}
    pages = []
    for samples in profiles:
        rows = [
            ([indices.setdefault(frame, len(indices)) for frame in stack], seconds)
            for stack, seconds in sorted(samples.stacks.items())
        ]
        pages.append(
            {
                "type": "sampled",
                "name": samples.process,
                "unit": "seconds",
                "startValue": 0,
                "endValue": samples.busy_s,
                "samples": [stack for stack, _ in rows],
                "weights": [seconds for _, seconds in rows],
            }
        )
    frames = [{"name": frame.function, "file": frame.file, "line": frame.line} for frame in indices]
    return {"$schema": SCHEMA, "name": name, "exporter": "ludus", "shared": {"frames": frames}, "profiles": pages}


class _reading:  # noqa: N801  # a context manager that reads like a word
    """Turn everything that a file of another shape causes into a ValueError."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, KeyError | TypeError | IndexError | AttributeError):
            raise ValueError(f"the profile has an unknown form: {type(error).__name__}: {error}") from error


def _weight(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("the profile has a weight that is not finite")
    return number


def _frame(function: Any, file: Any = "", line: Any = 0) -> StackFrame:
    return StackFrame(_plain(function) or "(anonymous)", _plain(file), int(line or 0))


def _v8_frame(call: Mapping[str, Any]) -> StackFrame:
    return _frame(call["functionName"], call.get("url"), int(call.get("lineNumber", -1)) + 1)


def _is_idle(frame: StackFrame) -> bool:
    """Return True while a Node host waits for its stdin, and for V8's profiler itself."""
    waits = frame.function in IDLE or (frame.function == "read" and not frame.file)
    return waits or frame.file == "node:inspector"


def _java_frame(frame: Mapping[str, Any]) -> StackFrame:
    method = frame["method"]
    class_name = str(method["type"]["name"]).replace("/", ".")
    return _frame(f"{class_name}.{method['name']}", "", frame.get("lineNumber"))


def _path(at: int, parents: Mapping[int, int], frames: Mapping[int, StackFrame]) -> tuple[StackFrame, ...]:
    return tuple(reversed([*_upwards(at, parents, frames)]))


def _upwards(at: int, parents: Mapping[int, int], frames: Mapping[int, StackFrame]) -> Iterator[StackFrame]:
    for _ in range(DEEPEST):
        if frames[at].function != "(root)":
            yield frames[at]
        if at not in parents:
            return
        at = parents[at]


def _plain(text: Any) -> str:
    """Return a name without control characters: it comes from the program that was profiled."""
    return STAYING.sub("?", str(text or ""))[:300]
