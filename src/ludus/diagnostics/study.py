"""The folder of a scaling benchmark. Its files are complete after every trial.

scaling.json   the plan, the machine, every trial, and the numbers derived from them for other programs
scaling.csv    one row per trial
"""

from __future__ import annotations

import csv
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

import ludus
from ludus import files
from ludus.diagnostics import scaling
from ludus.diagnostics.scaling import AXES, StudyPlan, Trial
from ludus.errors import ConfigError
from ludus.metrics import names
from ludus.metrics.times import LEARNER, renamed
from ludus.processes.cores import cores

JSON, CSV = "scaling.json", "scaling.csv"


class MachineInfo(Struct, frozen=True):
    cpu: str
    cores: int  # available to this process
    system: str
    gpus: str  # empty: none


class Study(Struct, frozen=True):
    plan: StudyPlan
    machine: MachineInfo
    trials: list[Trial]
    ludus: str = ludus.__version__

    @property
    def complete(self) -> bool:
        return not scaling.missing(self.plan, self.trials)


def this_machine(gpus: str) -> MachineInfo:
    return MachineInfo(_processor(), cores(), f"{platform.system()} {platform.machine()}", gpus)


def describe(machine: MachineInfo) -> str:
    """Return the machine in words, for errors and reports."""
    return f"{machine.cpu} with {machine.cores} cores{f' and {machine.gpus}' if machine.gpus else ''}"


def read(folder: Path) -> Study:
    """Read a benchmark. Raises ConfigError if there is none or it is damaged."""
    path = folder / JSON
    try:
        return msgspec.convert(_current(msgspec.json.decode(path.read_bytes())), Study, strict=False)
    except FileNotFoundError as error:
        raise ConfigError(f"{folder} holds no benchmark to resume: there is no {JSON} in it") from error
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error


def _current(data: Any) -> Any:  # Any: decoded JSON
    """Return a benchmark of an older version with the present names of its fields."""
    if not isinstance(data, dict) or not isinstance(data.get("plan"), dict) or "turns" not in data:
        return data
    plan = {**data["plan"], "min_matches": data["plan"].get("asked")}
    new_keys = {"cell": "size", "asked": "min_matches", "stages": "activities"}
    return {**data, "plan": plan, "trials": renamed(data["turns"], new_keys)}


def check_same(there: Study, plan: StudyPlan, machine: MachineInfo, folder: Path) -> None:
    """Raise ConfigError if the stored trials belong to another plan or machine."""
    differences = scaling.differences(there.plan, plan)
    if there.machine != machine:
        differences.append(f"the machine is {describe(there.machine)} there, {describe(machine)} here")
    if differences:
        raise ConfigError(f"{folder} holds a benchmark of another plan: {'; '.join(differences)}; choose another --out")


def write(folder: Path, study: Study) -> None:
    """Write both files, each atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    page = {**msgspec.to_builtins(study, str_keys=True), **_follows(study)}
    files.replace(folder / JSON, msgspec.json.format(msgspec.json.encode(page)))
    with files.replacing(folder / CSV) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        rows = [_row(trial) for trial in study.trials]
        writer = csv.DictWriter(file, list(rows[0]) if rows else list(Trial.__struct_fields__))
        writer.writeheader()
        writer.writerows(rows)


def _follows(study: Study) -> dict[str, Any]:  # Any: as JSON has it
    summaries = scaling.summarise(study.plan, study.trials)
    verdict = scaling.judge(summaries)
    rates = scaling.rates(summaries)
    return {
        "sizes": summaries,
        "growth": {axis: [asdict(each) for each in scaling.growth(rates, axis)] for axis in AXES},
        "best": None if verdict is None else verdict.best,
        "smallest_near_best": None if verdict is None else verdict.smallest,
    }


def _row(trial: Trial) -> dict[str, object]:
    numbers = {
        name: getattr(trial, name)
        for name in Trial.__struct_fields__
        if name not in ("size", "repeat", "gpu", "times", "failure")
    }
    gpu = trial.gpu
    row: dict[str, object] = {
        **{axis: getattr(trial.size, axis) for axis in AXES},
        "repeat": trial.repeat + 1,
        "state": trial.state,
        "decisions_per_s": trial.decisions_per_s,
        "matches_per_hour": trial.matches_per_hour,
        **numbers,
    }
    row = {name: round(value, 3) if isinstance(value, float) else value for name, value in row.items()}
    return {
        **row,
        "gpu_use_mean": "" if gpu is None else gpu.use_mean,
        "gpu_use_peak": "" if gpu is None else gpu.use_peak,
        "gpu_memory_peak_mib": "" if gpu is None else gpu.memory_peak_mib,
        **_activities(trial),
        "failure": trial.failure,
    }


def _activities(trial: Trial) -> dict[str, object]:
    """Return the share of every activity of hosts and actor, so that all rows have the same columns."""
    shares = {line.activity: round(line.share, 4) for line in trial.times.lines()}
    columns = (activity.name for activity in names.ACTIVITIES if names.process(activity.name) != LEARNER)
    return {names.SHARE(activity): shares.get(activity, "") for activity in columns}


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
