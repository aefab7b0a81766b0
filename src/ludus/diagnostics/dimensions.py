"""The settings that `ludus tune` varies, and the values that it tries. Pure.

To add a dimension, add a line to `DIMENSIONS`. Settings that this version's configuration does not have are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import msgspec
from msgspec import Struct, inspect

from ludus.config import document
from ludus.config.settings import RunConfig
from ludus.diagnostics import halving

Value = int | float | bool | str
Candidates = Mapping[str, Sequence[Value]]
"""The values to try, by the path of the setting. The first is the one that the run has now."""


class Configuration(Struct, frozen=True):
    """One value for every setting that is varied."""

    settings: tuple[tuple[str, Value], ...]  # pairs of a setting's path and its value

    def value(self, path: str, otherwise: Value) -> Value:
        """Return the value of a setting, or `otherwise` if it is not varied."""
        return dict(self.settings).get(path, otherwise)

    def __str__(self) -> str:
        return ", ".join(f"{name_of(path)} {value}" for path, value in self.settings)


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The facts about a run and its machine on which the values to try depend."""

    config: RunConfig
    cores: int
    hosts: int
    actors: int
    has_cuda: bool
    policy_device: str  # kind of device: cpu or cuda
    learner_device: str

    def present(self, path: str) -> Value:
        """Return the value that the configuration has for a setting."""
        value: Value = document.value_at(msgspec.to_builtins(self.config), path)
        return value


@dataclass(frozen=True, slots=True)
class Dimension:
    path: str  # of the setting
    name: str  # in tables
    values: Callable[[RunFacts], Sequence[Value]]  # the present one first; a single one is not varied


DIMENSIONS: tuple[Dimension, ...] = (
    Dimension("actors.count", "actors", lambda run: [run.actors, *_doubled(run.cores // 2)]),
    Dimension("fleet.hosts", "hosts", lambda run: _around(run.hosts, 0.75, 1.25, 0.5)),
    Dimension("fleet.matches", "matches", lambda run: _around(run.config.fleet.matches, 0.5, 2)),
    Dimension("servers.count", "servers", lambda run: _around(run.config.servers.count, 2, 0.5)),
    Dimension("fleet.parts", "parts", lambda run: [run.config.fleet.parts_on(run.cores, run.hosts), 1, 2]),
    Dimension("policy.device", "policy on", lambda run: [run.policy_device, *_devices(run)]),
    Dimension("device", "learner on", lambda run: [run.learner_device, *_devices(run)]),
)
NAMES = {dimension.path: dimension.name for dimension in DIMENSIONS}


def name_of(path: str) -> str:
    """Return the name of a setting in tables."""
    return NAMES.get(path, path)


def present(path: str, run: RunFacts) -> Value:
    """Return the value that a setting has in a run; for a dimension, what an automatic setting comes to."""
    values = next((dimension.values for dimension in DIMENSIONS if dimension.path == path), None)
    return run.present(path) if values is None else values(run)[0]


def candidates(run: RunFacts, user_values: Candidates, fixed: Iterable[str]) -> dict[str, tuple[Value, ...]]:
    """Return the values to try for each setting that is varied: those that the user has given, and the usual ones for
    the other dimensions, except for settings in `fixed`."""
    usual = {
        dimension.path: dimension.values(run)
        for dimension in DIMENSIONS
        if dimension.path not in fixed and has_setting(RunConfig, dimension.path)
    }
    distinct = {path: tuple(dict.fromkeys(values)) for path, values in {**usual, **user_values}.items()}
    return {path: values for path, values in distinct.items() if len(values) > 1}


def configurations(values: Candidates, fits: Callable[[Configuration], bool]) -> list[Configuration]:
    """Return all combinations of the values that fit into memory, those near the present setting first.

    The fewer settings differ, the nearer; of equally near ones, those come first that differ in an earlier dimension.
    The present setting itself is the first and is never left out.
    """

    def distance(place: tuple[int, ...]) -> tuple[int, int, tuple[int, ...]]:
        return sum(map(bool, place)), sum(place), tuple(-at for at in place)

    places = sorted(product(*(range(len(each)) for each in values.values())), key=distance)
    every = [
        Configuration(tuple((path, values[path][at]) for path, at in zip(values, place, strict=True)))
        for place in places
    ]
    return [each for at, each in enumerate(every) if at == 0 or fits(each)]


def combined(rates: Mapping[Configuration, Sequence[float]]) -> Configuration | None:
    """Return the combination of the value of every setting that does best alone; None without rates.

    A value is as good as the fastest configuration that has it and differs from the first one in nothing else.
    """
    first = next(iter(rates), None)
    if first is None:
        return None
    best = []
    for path, now in first.settings:
        alone = {
            each.value(path, now): own
            for each, own in rates.items()
            if all(each.value(other, value) == value for other, value in first.settings if other != path)
        }
        best.append((path, next(iter(halving.ranked(alone)), now)))
    return Configuration(tuple(best))


def may_vary(path: str) -> bool:
    """Return True for a setting that a tuning may vary: any setting of the run except the game and its options.

    A tuning can come from another machine, and options may name programs to run (docs/security.md).
    """
    return path != "game" and has_setting(RunConfig, path)


def has_setting(struct: type[Struct], path: str) -> bool:
    """Return True if the configuration has a setting with this path."""
    kind: inspect.Type = inspect.type_info(struct)
    for key in path.split("."):
        if not isinstance(kind, inspect.StructType):
            return False
        field = next((field for field in kind.fields if field.encode_name == key), None)
        if field is None:
            return False
        kind = field.type
    return True


def _around(present: int, *factors: float) -> list[int]:
    """Return the present number and some near it; only the present one if it is 0."""
    return [present, *(max(1, math.ceil(present * factor)) for factor in factors if present)]


def _doubled(limit: int) -> list[int]:
    """Return the powers of two up to `limit`."""
    return [2**power for power in range(limit.bit_length()) if 2**power <= limit > 1]


def _devices(run: RunFacts) -> tuple[str, ...]:
    return ("cuda", "cpu") if run.has_cuda else ()
