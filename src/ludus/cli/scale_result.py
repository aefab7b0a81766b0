"""Shows the result of a scaling benchmark on the console and writes it into a configuration."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ludus.cli.scale_plan import MIN_MATCHES
from ludus.errors import ConfigError
from ludus.files import replace

if TYPE_CHECKING:
    from rich.console import Console

    from ludus.diagnostics.scaling import StudyPlan, Verdict
    from ludus.diagnostics.study import Study


def say(console: Console, state: Study) -> None:
    from rich.table import Table

    from ludus.diagnostics import scaling_report

    for each in scaling_report.tables(state):
        table = Table(
            title=each.title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="bold"
        )
        for column in each.columns:
            table.add_column(column, justify="right")
        for row in each.rows:
            table.add_row(*row)
        console.print()
        console.print(table)
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
    from ludus.config import load
    from ludus.games import catalogue, defaults

    settings = defaults.with_game(load.read(path))
    config = load.assembled(settings, (), str(path), lambda data: load.build(data, options_of=catalogue.options_of))
    if config.game != game:
        raise ConfigError(f"--apply: {path} is for {config.game}, this measures {game}")
    if not os.access(path, os.W_OK):
        raise ConfigError(f"--apply: {path} cannot be written")


def apply_best(path: Path, verdict: Verdict) -> list[str]:
    """Write the best fleet size into a configuration. Returns lines that say what changed."""
    from ludus.config import edit, load

    best = verdict.best
    sections = {"fleet": {"hosts": best.hosts, "matches": best.matches}}
    if best.servers:
        sections["servers"] = {"count": best.servers}
    data, changed, lines = load.read(path), path.read_text(encoding="utf-8"), []
    for section, values in sections.items():
        before = data.get(section) or {}
        changed = edit.put(changed, section, values, str(path))
        lines += [
            f"{path}: {section}.{name} is {value} (unchanged)"
            if before.get(name) == value
            else f"{path}: {section}.{name} is now {value} (was {before.get(name, 'not set')})"
            for name, value in values.items()
        ]
    replace(path, changed.encode())
    return lines
