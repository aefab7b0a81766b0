"""Checks that one net can play all stages of a curriculum, by starting a host for each set of options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from ludus.actors.actor import open_fleet
from ludus.actors.resolved import ResolvedRun
from ludus.errors import ConfigError, FleetError
from ludus.spec import GameSpec


def refuse_other_nets(stages: Sequence[ResolvedRun], log_dir: Path) -> None:
    """Raise ConfigError if the stages need different nets, or if no host starts with the options of one of them.

    A host is started for each distinct set of options. Stages that start servers of their own are not checked: if their
    net does not fit, they fail when they begin.
    """
    if all(stage.options == stages[0].options for stage in stages):
        return
    first: GameSpec | None = None
    checked_options: list[msgspec.Struct] = []
    for index, stage in enumerate(stages):
        if stage.config.servers.count or stage.options in checked_options:
            continue
        checked_options.append(stage.options)
        spec = _spec_of(stage, log_dir, index)
        if first is None:
            first = spec
        elif spec.net_fingerprint != first.net_fingerprint:
            raise ConfigError(f"curriculum[{index}].set: {_difference(first, spec)}; one net plays all stages")


def _spec_of(stage: ResolvedRun, log_dir: Path, index: int) -> GameSpec:
    try:
        with open_fleet(stage.sized(1, 1), log_dir, 0) as fleet:
            return fleet.spec
    except FleetError as error:
        raise ConfigError(f"curriculum[{index}].set: no host plays with these options: {error}") from error


def _difference(one: GameSpec, other: GameSpec) -> str:
    if one.actions != other.actions:
        return f"this stage has {other.actions} actions, the first has {one.actions}"
    if one.obs != other.obs:
        shapes = ({leaf.name: leaf.shape for leaf in spec.obs.leaves} for spec in (other, one))
        return "this stage observes {}, the first {}".format(*shapes)
    return f"observations or actions have another meaning in this stage ({other.name}) than in the first ({one.name})"
