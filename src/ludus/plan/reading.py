"""Reads a measurement: a run's folder, the result of `ludus bench scale`, or a line of a benchmark."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from ludus import files
from ludus.diagnostics import scaling, study
from ludus.diagnostics.scaling import Spread
from ludus.errors import ConfigError
from ludus.metrics import bottleneck, names, times
from ludus.metrics.exporters import csv
from ludus.plan.measurement import MeasuredSpeed, scaled
from ludus.run import provenance
from ludus.suggestions import did_you_mean

PROGRESS = "progress.csv"
PARTS = 10  # into which a run is divided, for the spread of its speed
WARM_SHARE = 0.1  # of a run's time, left out at its start
SHORTEST_S = 30.0  # of a run's training
ROW = "train"  # the row of a benchmark that is used unless another is named
MOST_BYTES = 1 << 26

HOW = (
    "measure one: train for a few minutes (ludus train PRESET) and give the run's folder, or run ludus bench scale "
    "and give its scaling.json"
)


def read(path: Path, row: str | None = None) -> MeasuredSpeed:
    """Read a measurement. `row` names a row of a benchmark, such as `train` or `gen9randombattle/train`.

    Raises ConfigError if the file is missing, damaged or holds too little.
    """
    if path.is_dir():
        if (path / PROGRESS).is_file():
            return _run(path)
        if (path / study.JSON).is_file():
            return _study(path)
        raise ConfigError(f"--measured: {path} has neither {PROGRESS} (a run) nor {study.JSON} (a benchmark); {HOW}")
    if not path.is_file():
        raise ConfigError(f"--measured: {path} does not exist; {HOW}")
    if path.name == study.JSON:
        return _study(path.parent)
    return _benchmark(path, row)


def _run(folder: Path) -> MeasuredSpeed:
    rows = csv.read(folder / PROGRESS)
    points = [
        tuple(_number(row.get(name)) for name in (names.TRAINING_S, names.DECISIONS, names.MATCHES)) for row in rows
    ]
    points = [point for point in points if all(math.isfinite(value) for value in point)]
    if not points or points[-1][0] < SHORTEST_S:
        trained_s = points[-1][0] if points else 0.0
        raise ConfigError(
            f"--measured: {folder} trained for {trained_s:.0f} s; at least {SHORTEST_S:.0f} s are needed to "
            "measure its speed (ludus train --resume continues it)"
        )
    decisions, matches = _rates(points, 1), _rates(points, 2)
    run_times, starts = times.read(folder), provenance.read(folder)
    hosts = run_times.hosts if run_times else int(_number(rows[-1].get(names.HOSTS_TOTAL), 0.0))
    if hosts < 1:
        raise ConfigError(f"--measured: {folder} does not say how many hosts it had; its files are damaged")
    return MeasuredSpeed(
        origin=str(folder),
        training=True,
        hosts=hosts,
        cores=run_times.cores if run_times else starts[-1].cores if starts else hosts,
        machine=starts[-1].system if starts else "an unknown machine",
        samples=len(decisions),
        samples_of="parts of the run",
        decisions_per_s=_spread(decisions, str(folder)),
        matches_per_s=_spread(matches, str(folder)) if max(matches) > 0 else None,
        learner_busy=_learner_busy(run_times),
    )


def _rates(points: Sequence[tuple[float, ...]], column: int) -> list[float]:
    """Return the speed in each of up to `PARTS` parts of equal time, after the warm-up."""
    begin_s = points[0][0] + WARM_SHARE * (points[-1][0] - points[0][0])
    part_s = (points[-1][0] - begin_s) / PARTS
    edges = [next(point for point in points if point[0] >= begin_s + part * part_s - 1e-9) for part in range(PARTS + 1)]
    pairs = [(before, after) for before, after in pairwise(edges) if after[0] > before[0]]
    return [(after[column] - before[column]) / (after[0] - before[0]) for before, after in pairs]


def _learner_busy(run_times: times.RunTimes | None) -> float | None:
    if run_times is None:
        return None
    shares = {activity: run_times.times.share(activity) for activity in run_times.times.activities}
    learner = bottleneck.loads(shares).get(times.LEARNER)
    return learner.busy if learner is not None and learner.busy > 0 else None


def _study(folder: Path) -> MeasuredSpeed:
    benchmark = study.read(folder)
    summaries = scaling.summarise(benchmark.plan, benchmark.trials)
    verdict = scaling.judge(summaries)
    best = next((each for each in summaries if verdict is not None and each.size == verdict.best), None)
    if best is None or best.decisions_per_s is None:
        raise ConfigError(f"--measured: {folder}: no trial succeeded; repeat the benchmark")
    per_hour = best.matches_per_hour
    return MeasuredSpeed(
        origin=str(folder / study.JSON),
        training=False,
        hosts=best.size.hosts,
        cores=benchmark.machine.cores,
        machine=benchmark.machine.cpu,
        samples=best.trials - best.failed,
        samples_of="repeats",
        decisions_per_s=best.decisions_per_s,
        matches_per_s=scaled(per_hour, 1 / 3600) if per_hour is not None and per_hour.median > 0 else None,
    )


def _benchmark(path: Path, row: str | None) -> MeasuredSpeed:
    """Read the result line of benchmarks/bench_*.py from a file with one or more such lines; later lines win."""
    candidates: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}  # Any: decoded JSON
    for line in _lines(path):
        rows = line.get("rows")
        for name, values in rows.items() if isinstance(rows, dict) else ():
            if isinstance(values, dict) and {"median", "low", "high"} <= values.keys():
                prefix = line.get("format")
                candidates[f"{prefix}/{name}" if prefix else str(name)] = (line, values)
    name = _row_name(row, candidates, path)
    line, values = candidates[name]
    machine = line["machine"] if isinstance(line.get("machine"), dict) else {}
    hosts = _whole(values.get("hosts", line.get("hosts")))
    if hosts is None:
        raise ConfigError(f"--measured: {path}: row {name!r} does not say how many hosts it had; {HOW}")
    rates = [_number(values[key]) for key in ("median", "low", "high")]
    return MeasuredSpeed(
        origin=f"{path}, row {name}",
        training=name.rpartition("/")[2].startswith(ROW),
        hosts=hosts,
        cores=_whole(machine.get("cores")) or hosts,
        machine=str(machine.get("cpu", "an unknown machine")),
        samples=_whole(line.get("repeats")) or 1,
        samples_of="repeats",
        decisions_per_s=_positive(Spread(*rates), path),
    )


def _row_name(row: str | None, candidates: Mapping[str, object], path: Path) -> str:
    if not candidates:
        raise ConfigError(f"--measured: {path} has no row with median, low and high; {HOW}")
    query = row or ROW
    matches = [name for name in candidates if query in (name, name.rpartition("/")[2])]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise ConfigError(f"--row: {path} has no row {query!r}; {did_you_mean(query, candidates)}")
    raise ConfigError(f"--row: {path} has several rows {query!r}: give one of {', '.join(matches)}")


def _lines(path: Path) -> list[dict[str, Any]]:  # Any: decoded JSON
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ConfigError(f"--measured: {path} is larger than {MOST_BYTES >> 20} MiB; is it a measurement?")
        decoded = [msgspec.json.decode(line) for line in files.lines(path) if line is not None]
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"--measured: {path} cannot be read as lines of JSON: {error}; {HOW}") from error
    return [line for line in decoded if isinstance(line, dict)]


def _spread(values: Sequence[float], origin: str) -> Spread:
    return _positive(Spread(statistics.median(values), min(values), max(values)), Path(origin))


def _positive(spread: Spread, path: Path) -> Spread:
    if not all(math.isfinite(value) and value > 0 for value in (spread.median, spread.low, spread.high)):
        raise ConfigError(
            f"--measured: {path}: a speed of {spread.median:g} ({spread.low:g} to {spread.high:g}) per second cannot "
            "be planned with; measure for longer"
        )
    return spread


def _number(value: object, otherwise: float = math.nan) -> float:
    try:
        return float(str(value))
    except ValueError:
        return otherwise


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
