"""Writes the result of `ludus tune` into a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ludus.cli import scale_result, tune_plan
from ludus.config import document, edit, load
from ludus.files import replace

if TYPE_CHECKING:
    from ludus.api.settings_source import Source
    from ludus.diagnostics.dimensions import Configuration


def apply_best(path: Path, best: Configuration, source: Source, sets: Sequence[str]) -> list[str]:
    """Write the best values into a configuration, except those that it has already. Returns lines that say so.

    A file that does not exist begins as a copy of the preset or file that was tuned, with the values of `--set`.
    """
    from ludus.actors.resolved import resolve
    from ludus.diagnostics import dimensions

    if not path.exists():
        replace(path, _copy(source, sets).encode())
    data, changed, lines = load.read(path), {}, []
    for setting, value in best.settings:
        if dimensions.present(setting, tune_plan.facts_of(resolve(data))) == value:
            lines.append(f"{path}: {setting} is {value} (unchanged)")
        else:
            changed[setting] = value
            data = load.override(data, [f"{setting}={value}"])
    return [*scale_result.apply(path, changed), *lines]


def _copy(source: Source, sets: Sequence[str]) -> str:
    """Return the text of the settings that were tuned, with its comments if `--set` changes single values only."""
    text = Path(source.path).read_text(encoding="utf-8") if source.path else document.render(source.data)
    values = {path.strip(): document.parse(value, "--set") for path, _, value in (each.partition("=") for each in sets)}
    if all(isinstance(value, int | float | str) for value in values.values()):
        return edit.put(text, values, source.path or "--set")
    return document.render(load.override(source.data, sets))
