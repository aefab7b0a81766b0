"""Reads the settings of a run from a preset, a YAML file or a mapping, and applies overrides to them."""

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
    """The settings of a run before overrides, and where they come from."""

    name: str  # base name for the run's folder
    path: str | None  # path of their file; None if they are not from a file
    data: Mapping[str, Any]  # Any: plain data, not yet checked
    is_preset: bool  # True for a preset of an installed game


def of_game(game: str) -> Source:
    """Return the default settings of a game. A colon may add its main option, as in "gymnasium:CartPole-v1"."""
    return Source(file_name(game), None, {"game": game}, False)


def of_file(path: Path) -> Source:
    """Return the settings in a YAML file. Raises ConfigError if it cannot be read."""
    return Source(path.stem, str(path), load.read(path), path in catalogue.presets().values())


def of(config: Config | None) -> Source:
    """Return the settings in `config`: a preset's name, a path of a YAML file, a mapping or a RunConfig.

    None means the default preset. Raises ConfigError if there is no such preset or file.
    """
    if isinstance(config, RunConfig):
        config = msgspec.to_builtins(config)
    if isinstance(config, Mapping):
        return Source(file_name(str(config.get("game", "run"))), None, config, False)
    return of_file(load.find(str(config or defaults.PRESET), catalogue.presets()))


def resolved(source: Source, sets: Sequence[str]) -> ResolvedRun:
    """Apply overrides such as "learner.lr=1e-3" (`sets`) to the settings and return the validated run.

    Raises ConfigError, which names the file or the override that is wrong.
    """
    return load.assembled(source.data, sets, source.path, resolve)


def refuse_untrusted(run: ResolvedRun, sets: Sequence[str], origin: str) -> None:
    """Raise UntrustedError if the run's configuration file sets an option that only the user of this machine may set.

    The file may come from another machine (docs/security.md). Options that `sets` replaces are the user's own.
    `origin` names the file in the error.
    """
    options, given_names = run.config.options, whole_options(sets)
    local = {name: options[name] for name in given_names if name in options}
    for stage in run.stages or (run,):
        stage_options = stage.config.options
        unchanged = {name: value for name, value in local.items() if stage_options.get(name) == value}
        trust.accept(run.game, stage_options, origin, unchanged)
