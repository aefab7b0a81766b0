"""Turns the command line of `ludus tune` into a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ludus.cli.scale_plan import seconds
from ludus.config import document, familiar, load
from ludus.config.overrides import texts_of
from ludus.config.settings import RunConfig
from ludus.errors import ConfigError

if TYPE_CHECKING:
    from ludus.actors.resolved import ResolvedRun
    from ludus.diagnostics.dimensions import Configuration, RunFacts, Value
    from ludus.diagnostics.tuning import TuningPlan

BUDGET = "10m"


@dataclass(frozen=True, slots=True)
class TuneArguments:
    """Arguments of `ludus tune`. None: the option was not given."""

    config: str | None = None
    game: str | None = None
    sets: tuple[str, ...] = ()
    budget: str | None = None
    tries: tuple[str, ...] = ()
    apply: Path | None = None
    save: Path | None = None
    start_limit: str | None = None

    def refuse_beside_resume(self) -> None:
        """Raise ConfigError if an option is given that a resumed tuning keeps."""
        kept_options = {"CONFIG": self.config, "--game": self.game, "--set": self.sets, "--try": self.tries}
        if names := [name for name, value in {**kept_options, "--save": self.save}.items() if value]:
            raise ConfigError(f"--resume: keeps the settings of the tuning; leave out {', '.join(names)}")


@dataclass(frozen=True, slots=True)
class PlannedTuning:
    plan: TuningPlan
    values: Mapping[str, Sequence[Value]]  # by the path of the setting, the present one first
    left_out: int  # combinations that do not fit into memory


def make(name: str, run: ResolvedRun, arguments: TuneArguments) -> PlannedTuning:
    """Make the plan of a tuning. Measures the memory of the game's hosts, unless it is known. Raises ConfigError."""
    from ludus.diagnostics import dimensions, tuning

    facts = facts_of(run)
    user_values = {path: _values(path, text, facts) for path, text in map(_parted, arguments.tries)}
    fixed = {text.partition("=")[0].strip() for text in arguments.sets}
    if both := sorted(fixed & user_values.keys()):
        raise ConfigError(f"--try {both[0]}: is also given with --set, which fixes it; leave out one of the two")
    values = dimensions.candidates(facts, user_values, fixed)
    if not values:
        raise ConfigError("nothing can be varied here; give values with --try, as in --try fleet.matches=16,64")
    every = dimensions.configurations(values, lambda configuration: True)
    fitting = dimensions.configurations(values, _memory_check(run, facts))
    budget_s = seconds(arguments.budget or BUDGET, "--budget")
    measure_s = tuning.measured_s(budget_s, len(fitting))
    plan = tuning.TuningPlan(
        name=name,
        title=familiar.title(run.config),
        settings=msgspec.to_builtins(run.config),
        budget_s=budget_s,
        measure_s=measure_s,
        warm_s=tuning.warm_s(measure_s),
        start_limit_s=seconds(arguments.start_limit, "--start-limit") if arguments.start_limit else 0.0,
        configurations=tuple(fitting),
    )
    shortest_s = tuning.START_S + plan.warm_s + plan.measure_s
    if not tuning.affordable(budget_s, shortest_s):
        raise ConfigError(f"--budget: {budget_s:g} s is too short for one trial of {shortest_s:.0f} s; give 2m or more")
    return PlannedTuning(plan, values, len(every) - len(fitting))


def facts_of(run: ResolvedRun) -> RunFacts:
    import torch

    from ludus.diagnostics.dimensions import RunFacts

    return RunFacts(
        run.config,
        run.machine.cores,
        run.hosts,
        run.actors.actors,
        torch.cuda.is_available(),
        run.actor_device.device.type,
        run.learner_device.type,
    )


def config_of(settings: Mapping[str, Any], configuration: Configuration) -> RunConfig:  # Any: plain data of a run
    """Return the configuration of a run with the values of a tuned configuration. Raises ConfigError."""
    from ludus.actors.resolved import resolve

    return resolve(load.override(settings, texts_of(dict(configuration.settings)))).config


def _memory_check(run: ResolvedRun, facts: RunFacts) -> Callable[[Configuration], bool]:
    """Return a function that says whether a configuration fits into the free memory."""
    from ludus.diagnostics import machine, sizing

    size, needs = machine.look(run.machine), machine.needs(run)

    def fits(configuration: Configuration) -> bool:
        hosts = int(configuration.value("fleet.hosts", facts.hosts))
        matches = int(configuration.value("fleet.matches", facts.config.fleet.matches))
        batch = int(configuration.value("learner.decisions", facts.config.learner.decisions))
        return sizing.needed_mib(size, needs, hosts, matches, batch) <= sizing.USABLE * size.free_mib

    return fits


def _parted(text: str) -> tuple[str, str]:
    path, equals, values = text.partition("=")
    if not equals or not values.strip():
        raise ConfigError(f"--try {document.excerpt(text)}: must look like a.b=1,2, as in --try fleet.matches=16,64")
    return path.strip(), values


def _values(path: str, text: str, facts: RunFacts) -> tuple[Value, ...]:
    """Return the values of `--try`, the one of the run first. Raises ConfigError for an unknown setting."""
    from ludus.diagnostics import dimensions

    where = f"--try {path}"
    if not dimensions.may_vary(path):
        raise ConfigError(f"{where}: is no setting that can be varied; the game and its options cannot")
    values = [document.parse(part, where) for part in text.split(",")]
    for value in values:
        if not isinstance(value, int | float | str):
            raise ConfigError(f"{where}: must be numbers or words, separated by commas, but has {value!r}")
    present = dimensions.present(path, facts)
    return (present, *values) if present in values else (*values,)
