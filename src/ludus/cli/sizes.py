"""`ludus train --preset`: sizes of a run by the machine, put under what its configuration says itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any  # Any: plain data, not yet checked

from ludus.config import familiar, load
from ludus.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

    from ludus.config.settings import RunConfig
    from ludus.diagnostics.sizing import Purpose, Sizes


def purpose_of(word: str, *, resume: bool) -> Purpose:
    from ludus.diagnostics.sizing import PLANS

    if resume:
        raise ConfigError("--preset: a run that is resumed has its sizes; leave --preset out")
    for known in PLANS:
        if word == known:
            return known
    raise ConfigError(f"--preset: {word!r} is none of {', '.join(PLANS)}; a preset of a game stands without --preset")


def given(data: Mapping[str, Any], sets: Sequence[str], *, shipped: bool) -> dict[str, Any]:
    """What wins over the machine's sizes: all that is said, but of a preset that came with a game not its minutes."""
    said = dict(data)
    if shipped and isinstance(said.get("budget"), Mapping):
        said["budget"] = {key: value for key, value in said["budget"].items() if key != "minutes"}
    return load.override(said, sets)


def choose(purpose: Purpose, config: RunConfig, said: Mapping[str, Any]) -> Sizes:
    """For a run whose configuration, but for what is not `said`, is to be chosen here."""
    from ludus.diagnostics import machine, sizing
    from ludus.games import registry

    fixed = _numbers(said)
    if familiar.N_ENVS in said:  # it was shared out to these
        fixed |= {sizing.HOSTS: config.fleet.hosts, sizing.MATCHES: config.fleet.matches}
    needs = machine.needs(registry.load(config.game), config)
    return sizing.choose(purpose, machine.look(config.device), needs, fixed, config.rollout.segment)


def under(data: Mapping[str, Any], sizes: Sizes, sets: Sequence[str]) -> dict[str, Any]:
    """The data with the chosen sizes in it; `sets` win over all."""
    chosen = [f"{setting}={value:.10g}" for setting, value in sizes.settings().items()]
    return load.override(load.override(data, chosen), sets)


def table(purpose: str, sizes: Sizes) -> Table:
    """What was chosen, and why."""
    from rich.table import Table

    shown = Table(box=None, pad_edge=False, header_style="bold", title=f"--preset {purpose}", title_justify="left")
    shown.add_column("setting")
    shown.add_column("value", justify="right")
    shown.add_column("why", style="dim")
    for choice in sizes.choices:
        shown.add_row(choice.setting, f"{choice.value:,.10g}", choice.why)
    hosts = f"a host {sizes.needs.host_mib:,.0f} MiB, a match {sizes.needs.match_mib:,.1f} ({sizes.needs.source})"
    shown.add_row("memory, MiB", f"{sizes.needed_mib:,.0f}", f"of {sizes.usable_mib:,.0f} that may be taken; {hosts}")
    return shown


def _numbers(data: Mapping[str, Any], path: str = "") -> dict[str, float]:
    """All numbers of a configuration by their paths."""
    found: dict[str, float] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            found |= _numbers(value, f"{path}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool) and value != 0:  # 0: choose for me
            found[f"{path}{key}"] = value
    return found
