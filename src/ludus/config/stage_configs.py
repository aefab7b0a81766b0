"""Builds the configuration of each stage of a curriculum: that of the run, overridden by the stage's settings. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from ludus.config import document, renamed
from ludus.config.settings import FallBackConfig, PromoteConfig, RunConfig, StageConfig
from ludus.errors import ConfigError

WHOLE_RUN = {  # settings that a stage cannot change, with the reason
    "game": "a curriculum is of one game",
    "seed": "it is the whole run's",
    "mode": "it is the whole run's",
    "device": "it is the whole run's",
    "policy": "the net goes on from stage to stage",
    "budget": "it is the whole run's; promote says how long a stage lasts",
    "checkpoint": "it is the whole run's",
    "metrics": "they are the whole run's",
    "curriculum": "stages have no stages of their own",
    "learner.algorithm": "the optimiser goes on from stage to stage",
}

Built = TypeVar("Built")
Build = Callable[[Mapping[str, object]], Built]
"""Builds an object from the plain data of a configuration. Raises ConfigError with the path of the setting."""


def built(config: RunConfig, build: Build[Built]) -> tuple[Built, ...]:
    """Return the result of `build` for the configuration of each stage; () for a run without a curriculum.

    Raises ConfigError for the first stage that is wrong, with its path: curriculum[1].set.options.pile.
    """
    if not config.curriculum:
        return ()
    refuse_bad_rules(config.curriculum)
    _refuse_endless_budget(config)
    return tuple(_in_stage(config, index, build) for index in range(len(config.curriculum)))


def refuse_bad_rules(stages: tuple[StageConfig, ...]) -> None:
    """Raise ConfigError for missing or superfluous `promote` and `fall_back` conditions, and for duplicate names."""
    names: set[str] = set()
    for index, stage in enumerate(stages):
        place = f"curriculum[{index}]"
        if not stage.name or stage.name in names:
            raise ConfigError(f"{place}.name: {stage.name!r} must be a name that no stage before it has")
        names.add(stage.name)
        last = index == len(stages) - 1
        if last and stage.promote != PromoteConfig():
            raise ConfigError(f"{place}.promote: {stage.name} is the last stage, none follows; leave it out")
        if not last and stage.promote == PromoteConfig():
            raise ConfigError(
                f"{place}.promote: {stage.name} would never end; give at least one of "
                f"{', '.join(PromoteConfig.__struct_fields__)}"
            )
        if stage.fall_back is None:
            continue
        if index == 0:
            raise ConfigError(f"{place}.fall_back: {stage.name} is the first stage, none is before; leave it out")
        if stage.fall_back == FallBackConfig():
            raise ConfigError(
                f"{place}.fall_back: has no condition; give at least one of "
                f"{', '.join(FallBackConfig.__struct_fields__)}"
            )


def _refuse_endless_budget(config: RunConfig) -> None:
    """Raise ConfigError if a stage waits for a share of a budget without limits."""
    budget = config.budget
    if budget.minutes or budget.decisions or budget.updates:
        return
    for index, stage in enumerate(config.curriculum):
        if stage.promote.budget:
            raise ConfigError(
                f"curriculum[{index}].promote.budget: the run has no budget to take a share of; set budget.minutes, "
                "budget.decisions or budget.updates"
            )


def _in_stage(config: RunConfig, index: int, build: Build[Built]) -> Built:
    stage, place = config.curriculum[index], f"curriculum[{index}].set"
    data: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(config, curriculum=()))  # Any: plain data
    for key, value in stage.set.items():
        _put(data, key, value, place)
    try:
        return build(data)
    except ConfigError as error:
        raise ConfigError(f"{place}.{error}") from error


def _put(data: dict[str, Any], path: str, value: object, place: str) -> None:  # Any: plain data
    keys = renamed.current(path).split(".")
    for depth in range(1, len(keys) + 1):
        reason = WHOLE_RUN.get(".".join(keys[:depth]))
        if reason:
            raise ConfigError(f"{place}.{path}: cannot change from stage to stage: {reason}")
    section = document.section(data, keys[:-1], f"{place}.{path}")
    if path == "options" or (keys[0] != "options" and isinstance(section.get(keys[-1]), dict)):
        raise ConfigError(f"{place}.{path}: is a section; name the settings in it, as in {path}.NAME")
    section[keys[-1]] = value
