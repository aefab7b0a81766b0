"""`ludus plan`: how many machines, how long, and at what price."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

import typer

from ludus.cli import plan_options, scale_plan
from ludus.errors import ConfigError

if TYPE_CHECKING:
    from ludus.plan.planned import Goal

CHECKPOINT = "60s"  # checkpoint.every_s of a run
SUFFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
MOST = 1e18


def plan(
    matches: plan_options.Matches = None,
    decisions: plan_options.Decisions = None,
    measured: plan_options.Measured = None,
    row: plan_options.Row = None,
    prices: plan_options.PriceFile = None,
    machine: plan_options.Machines = None,
    deadline: plan_options.Deadline = None,
    spot: plan_options.Spot = False,
    checkpoint: plan_options.Checkpoint = CHECKPOINT,
    as_json: plan_options.AsJson = False,
) -> None:
    """Compute machines, hours and cost from a measured speed, with the range of the measurement.

    Nothing is rented or started. The example prices are not quotes: copy and correct them (--prices).

    Example: [bold]ludus plan --matches 10e6 --measured runs/gen1-20250101-1 --spot --deadline 48h[/bold]
    """
    goal = _goal(matches, decisions, deadline, spot=spot)
    checkpoint_h = _hours(checkpoint, "--checkpoint")
    from rich.console import Console

    from ludus.cli import tables
    from ludus.plan import planned, presentation, reading
    from ludus.plan import prices as price_files

    if measured is None:
        raise ConfigError(f"--measured: a plan needs a measured speed, and none is assumed; {reading.HOW}")
    price_list = price_files.read(prices)
    if machine:
        price_list = price_files.selection(price_list, machine)
    measurement = reading.read(measured, row)
    result = planned.make(goal, measurement, price_list, checkpoint_h)
    price_file = str(prices) if prices else "the examples of ludus, which are no quotes (--prices)"
    if as_json:
        typer.echo(json.dumps(presentation.as_json(result, measurement, price_list, price_file), allow_nan=False))
        return
    console = Console()
    for line in presentation.head_lines(result, measurement, price_list, price_file):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    for table in presentation.tables(result, price_list.currency):
        console.print()
        console.print(tables.titled(table))
    console.print()
    for line in presentation.verdict_lines(result, price_list.currency):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _goal(matches: str | None, decisions: str | None, deadline: str | None, *, spot: bool) -> Goal:
    from ludus.plan.planned import Goal

    if (matches is None) == (decisions is None):
        raise ConfigError("give one goal: --matches 10e6 or --decisions 1e9")
    deadline_h = None if deadline is None else _hours(deadline, "--deadline")
    if matches is not None:
        return Goal(amount(matches, "--matches"), "matches", deadline_h, spot)
    return Goal(amount(decisions or "", "--decisions"), "decisions", deadline_h, spot)


def amount(text: str, name: str) -> float:
    """Parse a positive number such as "10e6", "10M" or "250_000"."""
    parts = re.fullmatch(r"(\d[\d_]*(?:\.\d+)?(?:[eE]\+?\d{1,3})?)([kMG]?)", text.strip())
    value = float(parts[1].replace("_", "")) * SUFFIXES[parts[2]] if parts else math.nan
    if not 0 < value <= MOST:
        raise ConfigError(f"{name}: must be a number from 1 to {MOST:g} as in 10e6, 10M or 250_000, but is {text!r}")
    return value


def _hours(text: str, name: str) -> float:
    """Parse a duration with its unit. "48" alone is refused: it could mean seconds or hours."""
    seconds = scale_plan.seconds(text, name)
    if not text.strip()[-1].isalpha():
        raise ConfigError(f"{name}: give a unit, as in {text.strip()}h or {text.strip()}m")
    if not 0 < seconds < 10 * 365 * 86_400:
        raise ConfigError(f"{name}: must be longer than 0 and shorter than ten years, but is {text!r}")
    return seconds / 3600
