"""Shows the result of a scaling benchmark on the console and writes it into a configuration."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ludus.cli.scale_plan import MIN_MATCHES
from ludus.config import document, edit, load
from ludus.errors import ConfigError
from ludus.files import replace

if TYPE_CHECKING:
    from rich.console import Console

    from ludus.diagnostics.scaling import StudyPlan, Verdict
    from ludus.diagnostics.study import Study


def say(console: Console, state: Study) -> None:
    from ludus.cli import tables
    from ludus.diagnostics import scaling_report

    for each in scaling_report.tables(state):
        console.print()
        console.print(tables.titled(each))
    console.print()
    if not state.machine.gpus:
        console.print("No GPU: nvidia-smi lists none.", highlight=False)
    for line in scaling_report.verdict_lines(state):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def files(folder: Path) -> str:
    from ludus.diagnostics.scaling_report import PICTURE
    from ludus.diagnostics.study import CSV, JSON

    return ", ".join(name for name in (CSV, JSON, PICTURE) if (folder / name).exists())


def again(plan: StudyPlan) -> str:
    """Return the command that repeats this plan."""
    from ludus.config.settings import FleetConfig
    from ludus.games import registry

    sets = _changed("options", plan.options, registry.load(plan.game).options)
    sets += _changed("fleet", plan.fleet, FleetConfig)
    sets += [f"seed={plan.seed}"] if plan.seed != 1 else []
    words = ["ludus", "bench", "scale", "--game", plan.game, "--hosts", _listed(plan.hosts)]
    words += ["--matches", _listed(plan.matches)]
    words += ["--servers", _listed(plan.servers)] if plan.servers else []
    words += [*(word for each in sets for word in ("--set", each))]
    words += ["--policy", plan.policy, "--repeats", str(plan.repeats), "--budget", f"{plan.budget_s:g}s"]
    return shlex.join([*words, *(("--min-matches", str(plan.min_matches)) if plan.min_matches != MIN_MATCHES else ())])


def _changed(section: str, values: Mapping[str, object], struct: type[msgspec.Struct]) -> list[str]:
    """Return the values that differ from the defaults, in the form of `--set`."""
    usual = {field.encode_name: field.default for field in msgspec.structs.fields(struct)}
    return [
        f"{section}.{name}={value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
        for name, value in values.items()
        if usual.get(name) != value
    ]


def _listed(numbers: Sequence[int]) -> str:
    return ",".join(str(number) for number in numbers)


def check_target(path: Path, game: str) -> None:
    """Raise ConfigError if the result could not be written to this file. Called before anything is measured."""
    from ludus.games import catalogue, defaults

    settings = defaults.with_game(load.read(path))
    config = load.assembled(settings, (), str(path), lambda data: load.build(data, options_of=catalogue.options_of))
    if config.game != game:
        raise ConfigError(f"--apply: {path} is for {config.game}, this measures {game}")
    if not os.access(path, os.W_OK):
        raise ConfigError(f"--apply: {path} cannot be written")


def apply_best(path: Path, verdict: Verdict) -> list[str]:
    """Write the best fleet size into a configuration. Returns lines that say what changed."""
    best = verdict.best
    values: dict[str, edit.Value] = {"fleet.hosts": best.hosts, "fleet.matches": best.matches}
    if best.servers:
        values["servers.count"] = best.servers
    return apply(path, values)


def apply(path: Path, values: Mapping[str, edit.Value]) -> list[str]:
    """Write settings, given by their paths, into a configuration. Returns lines that say what changed."""
    data, lines = load.read(path), []
    for setting, value in values.items():
        before = document.value_at(data, setting)
        lines.append(
            f"{path}: {setting} is {value} (unchanged)"
            if before == value
            else f"{path}: {setting} is now {value} (was {'not set' if before is None else before})"
        )
    replace(path, edit.put(path.read_text(encoding="utf-8"), values, str(path)).encode())
    return lines
