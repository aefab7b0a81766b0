"""Loads the configuration of a run from a preset or a YAML file, applies `--set a.b=c`, and checks the result."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

import ludus
from ludus import files
from ludus.config import bounds, document, familiar, renamed, stage_configs
from ludus.config.settings import RunConfig
from ludus.config.validation import check
from ludus.errors import ConfigError
from ludus.processes.cores import cores
from ludus.suggestions import did_you_mean

Built = TypeVar("Built")
log = logging.getLogger(__name__)

OptionsOf = Callable[[str], type[msgspec.Struct]]
"""Returns the struct of a game's options, by the game's name. Raises ConfigError for a game that is not installed."""


@dataclass(frozen=True, slots=True)
class CheckedConfig:
    """A valid configuration, with the options of its game as the game's own struct."""

    config: RunConfig
    options: msgspec.Struct
    stages: tuple[CheckedConfig, ...] = ()  # one for each stage of the curriculum; empty without a curriculum


def load(path: Path, sets: Sequence[str] = (), *, options_of: OptionsOf) -> RunConfig:
    """Return the configuration in a YAML file, changed by `sets` ("learner.lr=1e-3"), with every option of its game."""
    return assembled(read(path), sets, str(path), lambda data: build(data, options_of=options_of))


def assembled(
    data: Mapping[str, Any],  # Any: plain data, not yet checked
    sets: Sequence[str],
    origin: str | None,
    build: Callable[[Mapping[str, Any]], Built],
) -> Built:
    """Apply `sets` to the data and return the result of `build`.

    A ConfigError names the `--set` that caused it, or else `origin`, the file of the data (None if there is no file).
    """
    for old in renamed.old_names(data, sets):
        log.warning("%s is a deprecated name; use %s", old, renamed.current(old))
    changed = override(data, sets)
    try:
        return build(changed)
    except ConfigError as error:
        culprit = _culprit(str(error), data, sets, build)
        if culprit is not None:
            path = renamed.current(culprit.partition("=")[0].strip())
            raise ConfigError(f"--set {document.excerpt(culprit)}: {str(error).removeprefix(f'{path}: ')}") from error
        if origin is not None:
            raise ConfigError(f"{origin}: {error}") from error
        raise


def build(data: Mapping[str, object], *, options_of: OptionsOf) -> RunConfig:
    """Return the checked configuration of a run from plain data. Raises ConfigError."""
    return checked(data, options_of=options_of).config


def checked(data: Mapping[str, object], *, options_of: OptionsOf, usable_cores: int | None = None) -> CheckedConfig:
    """Check plain data as the configuration of a run, each stage of its curriculum included. Raises ConfigError.

    The other names that settings may have, such as `n_envs`, are in familiar.py. `usable_cores` is the number of hosts
    that `n_envs` is divided by; by default the cores are counted.
    """
    data, environments = familiar.without_n_envs(renamed.moved(data))
    config = check(data, RunConfig)
    game, main = familiar.parted(config.game)
    struct = options_of(game)
    options = check(familiar.with_main_option(config.options, main, struct, config.game), struct, "options")
    fleet = config.fleet
    if environments is not None:
        fleet = familiar.shared_out(environments, fleet, usable_cores or cores())
    config = msgspec.structs.replace(config, game=game, options=msgspec.to_builtins(options), fleet=fleet)
    in_stages = stage_configs.built(config, lambda data: checked(data, options_of=options_of))
    return CheckedConfig(config, options, in_stages)


def save(config: RunConfig, path: Path) -> None:
    """Write the whole configuration, including defaults, atomically. `load` returns an equal configuration."""
    header = f"# ludus {ludus.__version__}: the whole configuration of this run, defaults included.\n"
    files.replace(path, (header + document.render(msgspec.to_builtins(config))).encode())


def find(source: str, presets: Mapping[str, Path]) -> Path:
    """Return the file of a preset, if `source` is the name of one, or the path `source`.

    Raises ConfigError if there is neither such a preset nor such a file.
    """
    if source in presets:
        return presets[source]
    path = Path(source)
    if path.is_file():
        return path
    if path.suffix in {".yaml", ".yml"} or path.name != source:
        raise ConfigError(f"{source}: no such file; name one that exists, or a preset (`ludus games` lists them)")
    otherwise = f"known are {', '.join(presets) or 'none'}; a path to a YAML file works too"
    raise ConfigError(f"{source}: no such preset; {did_you_mean(source, presets, otherwise)}")


def presets_in(folders: Mapping[str, Path]) -> dict[str, Path]:
    """Return the files of presets by name, from the preset folder of each game. Every preset is also listed as
    game/name, because two games may use the same name."""
    paths: dict[str, Path] = {}
    for game, folder in folders.items():
        for path in preset_files(folder):
            paths.setdefault(path.stem, path)
            paths[f"{game}/{path.stem}"] = path
    return paths


def preset_files(folder: Path) -> list[Path]:
    """Return the presets in a folder, sorted by name: nim, then nim-stages."""
    return sorted(folder.glob("*.yaml"), key=lambda path: path.stem)


def read(path: Path) -> dict[str, Any]:
    """Return the plain data of a YAML file, not yet checked. An empty file returns {}, which means all defaults.

    Raises ConfigError if the file cannot be read or is not a section with keys.
    """
    try:
        with path.open("rb") as file:
            content = file.read(bounds.MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    data = document.parse(document.decode(content, str(path)), str(path))
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: must be a section with keys, but is {document.excerpt(repr(data))}")
    return data


def override(data: Mapping[str, Any], sets: Sequence[str]) -> dict[str, Any]:
    """Return a copy of `data` with each "a.b=value" in `sets` applied in order. Values are parsed as YAML."""
    changed = renamed.moved(_copy(data))
    for text in sets:
        where = f"--set {document.excerpt(text)}"
        path, equals, value = text.partition("=")
        keys = renamed.current(".".join(key.strip() for key in path.split("."))).split(".")
        if not equals or not all(keys):
            raise ConfigError(f"{where}: must look like a.b=value, as in --set learner.lr=1e-3")
        section = document.section(changed, keys[:-1], where)
        section[keys[-1]] = document.parse(value, where)
    return changed


def _culprit(
    message: str,
    data: Mapping[str, Any],  # Any: plain data
    sets: Sequence[str],
    build: Callable[[Mapping[str, Any]], object],
) -> str | None:
    """Return the first of `sets` that makes `build` fail with this message, or None if the data alone fails with it."""
    for count in range(len(sets)):
        try:
            build(override(data, sets[:count]))
        except ConfigError as error:
            if str(error) == message:
                return sets[count - 1] if count else None
    return sets[-1] if sets else None


def _copy(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copy(value) if isinstance(value, Mapping) else value for key, value in data.items()}
