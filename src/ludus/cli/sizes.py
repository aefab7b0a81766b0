"""`ludus train --size`: chooses the sizes of a run by the machine. Values in the configuration win."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any  # Any: plain data, not yet checked

from ludus.config import familiar, load
from ludus.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

    from ludus.actors.resolved import ResolvedRun
    from ludus.diagnostics.sizing import Purpose, Sizes


def purpose_of(word: str, *, resume: bool) -> Purpose:
    from ludus.diagnostics.sizing import PLANS

    if resume:
        raise ConfigError("--size: a resumed run keeps its sizes; leave out --size")
    for purpose in PLANS:
        if word == purpose:
            return purpose
    raise ConfigError(f"--size: {word!r} is none of {', '.join(PLANS)}; a preset of a game is given without --size")


def fixed_settings(data: Mapping[str, Any], sets: Sequence[str], *, shipped: bool) -> dict[str, Any]:
    """Return the settings that win over the chosen sizes: all, except the minutes of a preset that comes with a
    game."""
    settings = dict(data)
    if shipped and isinstance(settings.get("budget"), Mapping):
        settings["budget"] = {key: value for key, value in settings["budget"].items() if key != "minutes"}
    return load.override(settings, sets)


def choose(purpose: Purpose, run: ResolvedRun, settings: Mapping[str, Any]) -> Sizes:
    """Choose the sizes of a run. `settings` are those that the user has fixed."""
    from ludus.diagnostics import machine, sizing

    config, fixed = run.config, _numbers(settings)
    if familiar.N_ENVS in settings:  # n_envs sets both of these
        fixed |= {sizing.HOSTS: config.fleet.hosts, sizing.MATCHES: config.fleet.matches}
    return sizing.choose(purpose, machine.look(run.machine), machine.needs(run), fixed, config.rollout.segment)


def under(data: Mapping[str, Any], sizes: Sizes, sets: Sequence[str]) -> dict[str, Any]:
    """Return the data with the chosen sizes. `sets` win over both."""
    size_sets = [f"{setting}={value:.10g}" for setting, value in sizes.settings().items()]
    return load.override(load.override(data, size_sets), sets)


def table(purpose: str, sizes: Sizes) -> Table:
    """Return a table of the chosen sizes, each with its reason."""
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, header_style="bold", title=f"--size {purpose}", title_justify="left")
    grid.add_column("setting")
    grid.add_column("value", justify="right")
    grid.add_column("why", style="dim")
    for choice in sizes.choices:
        grid.add_row(choice.setting, f"{choice.value:,.10g}", choice.why)
    hosts = f"a host {sizes.needs.host_mib:,.0f} MiB, a match {sizes.needs.match_mib:,.1f} ({sizes.needs.source})"
    grid.add_row("memory, MiB", f"{sizes.needed_mib:,.0f}", f"of {sizes.usable_mib:,.0f} that may be used; {hosts}")
    return grid


def _numbers(data: Mapping[str, Any], path: str = "") -> dict[str, float]:
    """Return all numbers of a configuration by their paths."""
    numbers: dict[str, float] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            numbers |= _numbers(value, f"{path}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool) and value != 0:  # 0: choose for me
            numbers[f"{path}{key}"] = value
    return numbers
