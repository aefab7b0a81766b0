"""A scaling benchmark's folder: what was planned and what has been measured, whole after every turn.

scaling.json   the plan, the machine, every turn; beside them what follows from the turns, for other programs
scaling.csv    one row a turn
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
from ludus.metrics.times import LEARNER
from ludus.processes.cores import cores

JSON, CSV = "scaling.json", "scaling.csv"


class MachineInfo(Struct, frozen=True):
    cpu: str
    cores: int  # that this process may use
    system: str
    gpus: str  # empty: none


class Study(Struct, frozen=True):
    plan: StudyPlan
    machine: MachineInfo
    turns: list[Trial]
    ludus: str = ludus.__version__

    @property
    def complete(self) -> bool:
        return not scaling.missing(self.plan, self.turns)


def this_machine(gpus: str) -> MachineInfo:
    return MachineInfo(_processor(), cores(), f"{platform.system()} {platform.machine()}", gpus)


def read(folder: Path) -> Study:
    """Raises ConfigError where there is none."""
    path = folder / JSON
    try:
        return msgspec.json.decode(path.read_bytes(), type=Study)
    except FileNotFoundError as error:
        raise ConfigError(f"{folder} holds no benchmark to resume: there is no {JSON} in it") from error
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error


def check_same(there: Study, plan: StudyPlan, machine: MachineInfo, folder: Path) -> None:
    """Refuse to go on with turns of another plan or machine. Raises ConfigError."""
    found = scaling.differences(there.plan, plan)
    if there.machine != machine:
        found.append(f"the machine is {_words(there.machine)} there, {_words(machine)} here")
    if found:
        raise ConfigError(f"{folder} holds a benchmark of another plan: {'; '.join(found)}; choose another --out")


def write(folder: Path, study: Study) -> None:
    """Both files, each whole or as it was."""
    folder.mkdir(parents=True, exist_ok=True)
    page = {**msgspec.to_builtins(study, str_keys=True), **_follows(study)}
    files.replace(folder / JSON, msgspec.json.format(msgspec.json.encode(page)))
    with files.replacing(folder / CSV) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        rows = [_row(turn) for turn in study.turns]
        writer = csv.DictWriter(file, list(rows[0]) if rows else list(Trial.__struct_fields__))
        writer.writeheader()
        writer.writerows(rows)


def _follows(study: Study) -> dict[str, Any]:  # Any: as JSON has it
    summaries = scaling.summarise(study.plan, study.turns)
    verdict = scaling.judge(summaries)
    rates = scaling.rates(summaries)
    return {
        "cells": summaries,
        "growth": {axis: [asdict(each) for each in scaling.growth(rates, axis)] for axis in AXES},
        "best": None if verdict is None else verdict.best,
        "smallest_near_best": None if verdict is None else verdict.smallest,
    }


def _row(turn: Trial) -> dict[str, object]:
    numbers = {
        name: getattr(turn, name)
        for name in Trial.__struct_fields__
        if name not in ("cell", "repeat", "gpu", "times", "failure")
    }
    gpu = turn.gpu
    row: dict[str, object] = {
        **{axis: getattr(turn.cell, axis) for axis in AXES},
        "repeat": turn.repeat + 1,
        "state": turn.state,
        "decisions_per_s": turn.decisions_per_s,
        "matches_per_hour": turn.matches_per_hour,
        **numbers,
    }
    row = {name: round(value, 3) if isinstance(value, float) else value for name, value in row.items()}
    return {
        **row,
        "gpu_use_mean": "" if gpu is None else gpu.use_mean,
        "gpu_use_peak": "" if gpu is None else gpu.use_peak,
        "gpu_memory_peak_mib": "" if gpu is None else gpu.memory_peak_mib,
        **_activities(turn),
        "failure": turn.failure,
    }


def _activities(turn: Trial) -> dict[str, object]:
    """Every activity a row may have, so that all rows have the same columns."""
    shares = {line.activity: round(line.share, 4) for line in turn.times.lines()}
    known = (activity.name for activity in names.ACTIVITIES if names.process(activity.name) != LEARNER)
    return {names.SHARE(activity): shares.get(activity, "") for activity in known}


def _words(machine: MachineInfo) -> str:
    return f"{machine.cpu} with {machine.cores} cores{f' and {machine.gpus}' if machine.gpus else ''}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
