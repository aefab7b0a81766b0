"""Kinds of machines and what an hour of each costs: read from a YAML file that the user edits."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from ludus.config import load
from ludus.config.validation import check
from ludus.errors import ConfigError
from ludus.suggestions import did_you_mean

EXAMPLE = Path(__file__).parent / "example_prices.yaml"

Money = Annotated[float, Meta(ge=0, le=1e6)]
Count = Annotated[int, Meta(ge=1, le=100_000)]


class MachineKind(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One kind of machine that can be rented, or that is owned (price 0)."""

    name: str
    cores: Count  # as the machine shows them; on most clouds, two of them share one physical core
    hosts: Annotated[int, Meta(ge=0, le=100_000)] = 0  # host processes to run on it; 0: one per core
    most: Count = 1000  # machines of this kind that can be had, on demand and spot together
    speed: Annotated[float, Meta(gt=0, le=100)] = 1.0  # of a host here, relative to the measured machine
    on_demand: Money  # price of an hour
    spot: Money | None = None  # price of an hour on the spot market; None: there is none
    interruptions_per_day: Annotated[float, Meta(ge=0, le=1000)] = 0.0  # of one spot machine

    @property
    def hosts_used(self) -> int:
        return self.hosts or self.cores


class Prices(Struct, frozen=True, forbid_unknown_fields=True):
    date: str  # when the prices were written down, as 2026-01-31
    machines: tuple[MachineKind, ...]
    currency: Annotated[str, Meta(min_length=1, max_length=8)] = "$"
    start_minutes: Annotated[float, Meta(ge=0, le=1440)] = 5.0  # until a machine plays, at first and after a loss


@dataclass(frozen=True, slots=True)
class Offer:
    """A kind of machine, rented on demand or on the spot market."""

    kind: MachineKind
    is_spot: bool

    @property
    def price(self) -> float:
        """Return the price of an hour."""
        return self.kind.spot if self.is_spot and self.kind.spot is not None else self.kind.on_demand

    @property
    def interruptions_per_hour(self) -> float:
        return self.kind.interruptions_per_day / 24 if self.is_spot else 0.0

    def __str__(self) -> str:
        return f"{self.kind.name} {'spot' if self.is_spot else 'on demand'}"


def read(path: Path | None) -> Prices:
    """Read a price file; None reads the example. Raises ConfigError."""
    where = path or EXAMPLE
    try:
        prices = check(load.read(where), Prices)
        _check(prices)
    except ConfigError as error:
        text = str(error)
        raise ConfigError(text if text.startswith(str(where)) else f"{where}: {text}") from error
    return prices


def selection(prices: Prices, names: Sequence[str]) -> Prices:
    """Return the prices of these kinds of machines only. Raises ConfigError for an unknown name."""
    kinds = {kind.name: kind for kind in prices.machines}
    for name in names:
        if name not in kinds:
            raise ConfigError(f"--machine: the price file has no {name!r}; {did_you_mean(name, kinds)}")
    return Prices(prices.date, tuple(kinds[name] for name in names), prices.currency, prices.start_minutes)


def _check(prices: Prices) -> None:
    names = [kind.name for kind in prices.machines]
    if not names:
        raise ConfigError("machines: is empty; name at least one kind of machine")
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"machines: {name!r} is listed {names.count(name)} times; give each kind its own name")
    try:
        datetime.date.fromisoformat(prices.date)
    except ValueError as error:
        raise ConfigError(f"date: must be a day as 2026-01-31, but is {prices.date!r}") from error
