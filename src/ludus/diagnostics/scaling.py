"""How speed grows with hosts, matches and servers: order of play, spread, efficiency, the best. Pure.

A cell is one setting of a fleet, a turn is one cell played once. A further axis is one more field of `FleetSize` with a
default, one more of `StudyPlan`, and its name in `AXES`.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ludus.metrics.times import Times

AXES = ("hosts", "matches", "servers")
ONE = {"hosts": "host", "matches": "match", "servers": "server"}
WARM_SHARE, WARM_MAX_S = 0.25, 5.0  # of a turn, at most: hosts compile what they run often
SHORTEST_S = 0.5  # of a turn
NEAR = 0.05  # of the best rate: what a smaller cell may give away

State = Literal["completed", "timed out", "failed"]


class FleetSize(Struct, frozen=True, order=True, omit_defaults=True):
    hosts: int
    matches: int  # at once on each host
    servers: int = 0  # started for it; 0: none

    @property
    def at_once(self) -> int:
        """Matches in the whole fleet; its rows are as many times the seats of the game."""
        return self.hosts * self.matches

    def __str__(self) -> str:
        servers = f"{counted(self.servers, 'servers')}, " if self.servers else ""
        return f"{servers}{counted(self.hosts, 'hosts')} x {self.matches}"


class StudyPlan(Struct, frozen=True, kw_only=True):
    """Everything that decides what is measured; results of two plans do not belong into one table."""

    game: str
    options: dict[str, Any]  # Any: the game's own options
    fleet: dict[str, Any]  # Any: FleetConfig without hosts and matches
    seed: int
    policy: str  # a scripted policy's name, or a checkpoint's path
    hosts: tuple[int, ...]
    matches: tuple[int, ...]
    repeats: int
    budget_s: float  # of all turns together; the start of the hosts comes on top
    asked: int  # matches for each that runs at once: a turn in which fewer end has timed out
    servers: tuple[int, ...] = ()  # empty: the benchmark starts none

    @property
    def axes(self) -> tuple[str, ...]:
        """Those that name a cell."""
        return AXES if self.servers else AXES[:2]

    @property
    def title(self) -> str:
        return " ".join(filter(None, (self.game, str(self.options.get("format") or self.options.get("game") or ""))))

    @property
    def cells(self) -> list[FleetSize]:
        return [FleetSize(*setting) for setting in product(self.hosts, self.matches, self.servers or (0,))]

    @property
    def order(self) -> list[tuple[int, FleetSize]]:
        """[repeat, cell]: all cells once, then all again, so that drift of the machine hits all alike."""
        return list(product(range(self.repeats), self.cells))

    @property
    def turn_s(self) -> float:
        """Of every turn, warm-up included."""
        return self.budget_s / max(1, len(self.order))

    @property
    def warm_s(self) -> float:
        return min(WARM_MAX_S, WARM_SHARE * self.turn_s)


class GpuUse(Struct, frozen=True):
    """Of all programs on the machine; of several GPUs the sum of memory and the mean of use."""

    use_mean: float  # share of the time
    use_peak: float
    memory_peak_mib: float


class Trial(Struct, frozen=True, kw_only=True):
    """What one cell did in one repeat, start and warm-up left out. CPU and memory: this process and all below it."""

    cell: FleetSize
    repeat: int
    asked: int  # matches
    done: int = 0  # matches that ended, truncated ones included
    decisions: int = 0
    seconds: float = 0.0
    start_s: float = 0.0  # until every host had said HELLO
    truncated: int = 0
    voided: int = 0
    refused: int = 0  # choices that the game did not accept and asked for again
    restarts: int = 0  # of hosts
    cpu_mean_cores: float = 0.0  # 1.0: one core busy all the time
    cpu_peak_cores: float = 0.0
    ram_mib: float = 0.0  # the most that was seen
    memory_delta_mib: float = 0.0  # at the end, more than before the hosts were started
    servers_cpu_mean_cores: float = 0.0  # the servers' share of the above
    servers_ram_mib: float = 0.0  # the most that was seen of all servers together
    gpu: GpuUse | None = None  # None: there is none
    times: Times = msgspec.field(default_factory=Times)  # where the time of hosts and this process's thread went
    failure: str = ""  # the reason; then no other number counts

    @property
    def state(self) -> State:
        if self.failure:
            return "failed"
        return "completed" if self.done >= self.asked else "timed out"

    @property
    def decisions_per_s(self) -> float:
        return self.decisions / self.seconds if self.seconds > 0 else 0.0

    @property
    def matches_per_hour(self) -> float:
        return 3600 * self.done / self.seconds if self.seconds > 0 else 0.0


class Spread(Struct, frozen=True):
    """Of a number over repeats."""

    median: float
    low: float
    high: float


class Summary(Struct, frozen=True, kw_only=True):
    """One cell over its repeats: sums of what is counted, spread of what is measured (None: no turn succeeded)."""

    cell: FleetSize
    turns: int
    state: State  # the worst of the turns that did not fail; failed where all did
    timed_out: int  # turns
    failed: int  # turns
    failure: str  # of the first that did
    asked: int
    done: int
    truncated: int
    voided: int
    refused: int
    restarts: int
    decisions_per_s: Spread | None
    matches_per_hour: Spread | None
    cpu_mean_cores: Spread | None
    cpu_peak_cores: Spread | None
    ram_mib: Spread | None
    memory_delta_mib: Spread | None
    servers_cpu_mean_cores: Spread | None
    servers_ram_mib: Spread | None
    gpu_use_mean: Spread | None
    gpu_use_peak: Spread | None
    gpu_memory_mib: Spread | None

    @property
    def sound(self) -> bool:
        """Every turn completed."""
        return self.state == "completed" and not self.failed


@dataclass(frozen=True, slots=True)
class Growth:
    """What more of one axis brings, all else equal. Rates are decisions/s."""

    axis: str
    cell: FleetSize
    base: FleetSize  # the smallest on the axis; linear growth begins there
    efficiency: float  # the rate over that of linear growth
    previous: FleetSize | None  # the next smaller one; None for the base
    gain: float | None  # for each host or server added since then, or for each match added anywhere in the fleet


@dataclass(frozen=True, slots=True)
class Verdict:
    best: FleetSize
    smallest: FleetSize  # the fewest rows within `NEAR` of the best rate


def counted(number: int, axis: str) -> str:
    """ "1 host", "2 hosts"."""
    return f"{number} {axis if number != 1 else ONE[axis]}"


def missing(plan: StudyPlan, turns: Iterable[Trial]) -> list[tuple[int, FleetSize]]:
    """What is left to play, in order. A turn that failed is not played again."""
    done = {(turn.repeat, turn.cell) for turn in turns}
    return [each for each in plan.order if each not in done]


def left_s(plan: StudyPlan, turns: Sequence[Trial], playing_s: float) -> float:
    """Time until all is done, `playing_s` into the turn under way (0: it starts its hosts): the starts seen so far
    tell those to come."""
    starts = [turn.start_s for turn in turns if not turn.failure]
    left = len(plan.order) - len(turns)
    to_start = left - 1 if playing_s else left
    return max(0.0, left * plan.turn_s - playing_s + to_start * (statistics.fmean(starts) if starts else 0.0))


def times(turns: Iterable[Trial], cell: FleetSize) -> Times:
    """Where the time of a cell went, all its turns together."""
    found = Times()
    for turn in turns:
        if turn.cell == cell and not turn.failure:
            found.add(turn.times)
    return found


def summarise(plan: StudyPlan, turns: Sequence[Trial]) -> list[Summary]:
    """One summary for each cell that was played, in the order of the plan."""
    played = {cell: [turn for turn in turns if turn.cell == cell] for cell in plan.cells}
    return [_summary(cell, own) for cell, own in played.items() if own]


def spread(values: Sequence[float]) -> Spread | None:
    return Spread(statistics.median(values), min(values), max(values)) if values else None


def rates(summaries: Iterable[Summary]) -> dict[FleetSize, float]:
    """The median of decisions/s of every cell that has one."""
    return {each.cell: each.decisions_per_s.median for each in summaries if each.decisions_per_s is not None}


def growth(rates: Mapping[FleetSize, float], axis: str) -> list[Growth]:
    """Every cell against the smallest that differs from it on this axis alone; cells without a peer are left out."""
    found = []
    for line in _lines(rates, axis):
        base = line[0]
        for at, cell in enumerate(line):
            linear = rates[base] * _size(cell, axis) / _size(base, axis)
            previous = line[at - 1] if at else None
            found.append(
                Growth(
                    axis,
                    cell,
                    base,
                    rates[cell] / linear if linear > 0 else 0.0,
                    previous,
                    None if previous is None else (rates[cell] - rates[previous]) / _added(previous, cell, axis),
                )
            )
    return found


def judge(summaries: Sequence[Summary]) -> Verdict | None:
    """Cells in which every turn completed come first; where there is none, those with any rate."""
    sound = rates(each for each in summaries if each.sound) or rates(summaries)
    found = {cell: rate for cell, rate in sound.items() if rate > 0}
    if not found:
        return None
    best = max(found, key=lambda cell: (found[cell], -cell.at_once, -cell.servers))
    near = [cell for cell, rate in found.items() if rate >= (1 - NEAR) * found[best]]
    return Verdict(best, min(near, key=lambda cell: (cell.at_once, cell.hosts, cell.servers, -found[cell])))


def differences(there: StudyPlan, here: StudyPlan) -> list[str]:
    """Where two plans differ, in words."""
    old, new = _flat(msgspec.to_builtins(there)), _flat(msgspec.to_builtins(here))
    return [
        f"{name} is {_plain(old.get(name))} there, {_plain(new.get(name))} here"
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]


def _flat(data: Mapping[str, object]) -> dict[str, object]:
    """Options by their paths, as --set has them."""
    found: dict[str, object] = {}
    for name, value in data.items():
        if isinstance(value, dict):
            found.update({f"{name}.{key}": inner for key, inner in value.items()})
        else:
            found[name] = value
    return found


def _plain(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _summary(cell: FleetSize, turns: Sequence[Trial]) -> Summary:
    good = [turn for turn in turns if not turn.failure]
    failures = [turn.failure for turn in turns if turn.failure]
    gpus = [turn.gpu for turn in good if turn.gpu is not None]
    late = sum(turn.state == "timed out" for turn in good)

    def of(value: Callable[[Trial], float]) -> Spread | None:
        return spread([value(turn) for turn in good])

    return Summary(
        cell=cell,
        turns=len(turns),
        state="timed out" if late else "completed" if good else "failed",
        timed_out=late,
        failed=len(failures),
        failure=failures[0] if failures else "",
        asked=sum(turn.asked for turn in turns),
        done=sum(turn.done for turn in good),
        truncated=sum(turn.truncated for turn in good),
        voided=sum(turn.voided for turn in good),
        refused=sum(turn.refused for turn in good),
        restarts=sum(turn.restarts for turn in good),
        decisions_per_s=of(lambda turn: turn.decisions_per_s),
        matches_per_hour=of(lambda turn: turn.matches_per_hour),
        cpu_mean_cores=of(lambda turn: turn.cpu_mean_cores),
        cpu_peak_cores=of(lambda turn: turn.cpu_peak_cores),
        ram_mib=of(lambda turn: turn.ram_mib),
        memory_delta_mib=of(lambda turn: turn.memory_delta_mib),
        servers_cpu_mean_cores=of(lambda turn: turn.servers_cpu_mean_cores),
        servers_ram_mib=of(lambda turn: turn.servers_ram_mib),
        gpu_use_mean=spread([gpu.use_mean for gpu in gpus]),
        gpu_use_peak=spread([gpu.use_peak for gpu in gpus]),
        gpu_memory_mib=spread([gpu.memory_peak_mib for gpu in gpus]),
    )


def _lines(cells: Iterable[FleetSize], axis: str) -> list[list[FleetSize]]:
    """Cells that differ on this axis alone, together, smallest first."""
    lines: dict[tuple[int, ...], list[FleetSize]] = {}
    for cell in sorted(cells):
        lines.setdefault(tuple(_size(cell, other) for other in AXES if other != axis), []).append(cell)
    return [sorted(line, key=lambda cell: _size(cell, axis)) for line in lines.values() if len(line) > 1]


def _added(previous: FleetSize, cell: FleetSize, axis: str) -> int:
    return cell.at_once - previous.at_once if axis == "matches" else _size(cell, axis) - _size(previous, axis)


def _size(cell: FleetSize, axis: str) -> int:
    size: int = getattr(cell, axis)
    return size
