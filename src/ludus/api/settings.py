"""The settings of a run: those of a preset, a YAML file or a mapping, with single settings put over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ludus.actors import preflight
from ludus.config import load
from ludus.config.folders import file_name
from ludus.config.overrides import whole_options
from ludus.config.settings import RunConfig
from ludus.games import catalogue, registry, trust

DEFAULT = "gen1"  # preset

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
    return of_file(load.find(str(config or DEFAULT), catalogue.presets()))


def fit(data: Mapping[str, Any]) -> RunConfig:  # Any: plain data, not yet checked
    """The configuration of a run that can begin, as far as that can be told without a host. Raises ConfigError."""
    config = load.build(data, options_of=catalogue.options_of)
    preflight.stages(config, registry.load(config.game))
    return config


def assembled(source: Source, sets: Sequence[str]) -> RunConfig:
    """The checked configuration of a source with `sets`, as `learner.lr=1e-3`, put over it. Raises ConfigError."""
    return load.assembled(source.data, sets, source.path, fit)


def refuse_untrusted(config: RunConfig, sets: Sequence[str], origin: str) -> None:
    """Raise UntrustedError if the run's folder (`origin`), which may come from elsewhere, sets an option that only this
    machine may set."""
    game, named = registry.load(config.game), whole_options(sets)
    local = {name: config.options[name] for name in named if name in config.options}
    for stage in load.in_stages(config, options_of=catalogue.options_of):
        ours = {name: value for name, value in local.items() if stage.options.get(name) == value}
        trust.accept(game, stage.options, origin, ours)
