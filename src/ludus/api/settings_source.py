"""The settings of a run: those of a preset, a YAML file or a mapping, with single settings put over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ludus.actors.resolved import ResolvedRun, resolve
from ludus.config import load
from ludus.config.folders import file_name
from ludus.config.overrides import whole_options
from ludus.config.settings import RunConfig
from ludus.games import catalogue, defaults, trust

Config = str | Path | Mapping[str, Any] | RunConfig  # Any: plain data, not yet checked


@dataclass(frozen=True, slots=True)
class Source:
    """Where the settings of a run come from, before single settings are put over them."""

    name: str  # of the run's folder
    path: str | None  # of the file they are in, if any
    data: Mapping[str, Any]  # Any: plain data, not yet checked
    is_preset: bool  # it came with a game


def of_game(game: str) -> Source:
    """All defaults of a game; what follows a colon is its main option, as in gymnasium:CartPole-v1."""
    return Source(file_name(game), None, {"game": game}, False)


def of_file(path: Path) -> Source:
    return Source(path.stem, str(path), load.read(path), path in catalogue.presets().values())


def of(config: Config | None) -> Source:
    """The settings in a preset of this name, a YAML file, a mapping or a configuration; None: the default preset."""
    if isinstance(config, RunConfig):
        config = msgspec.to_builtins(config)
    if isinstance(config, Mapping):
        return Source(file_name(str(config.get("game", "run"))), None, config, False)
    return of_file(load.find(str(config or defaults.PRESET), catalogue.presets()))


def resolved(source: Source, sets: Sequence[str]) -> ResolvedRun:
    """Return the run that the settings of a source, with `sets` such as `learner.lr=1e-3` over them, describe. Raises
    ConfigError, which names the file or the `--set` that is wrong."""
    return load.assembled(source.data, sets, source.path, resolve)


def refuse_untrusted(run: ResolvedRun, sets: Sequence[str], origin: str) -> None:
    """Raise UntrustedError if the run's folder (`origin`), which may come from elsewhere, sets an option that only this
    machine may set."""
    options, given_names = run.config.options, whole_options(sets)
    local = {name: options[name] for name in given_names if name in options}
    for stage in run.stages or (run,):
        stage_options = stage.config.options
        unchanged = {name: value for name, value in local.items() if stage_options.get(name) == value}
        trust.accept(run.game, stage_options, origin, unchanged)
