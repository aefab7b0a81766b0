"""Words and tables of a plan, and its form as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from typing import Any

import msgspec

from ludus.diagnostics.scaling import Spread, counted
from ludus.diagnostics.scaling_report import TextTable
from ludus.metrics.exporters.text import count, percent
from ludus.plan.estimate import Estimate
from ludus.plan.measurement import MeasuredSpeed
from ludus.plan.planned import MachinePlan
from ludus.plan.prices import Prices

DAY_H = 24.0
AT_LIMIT = "*"  # marks a speed that the learner limits
LONG_H = 72.0  # from here on, durations are in days


def head_lines(plan: MachinePlan, measurement: MeasuredSpeed, prices: Prices, price_file: str) -> list[str]:
    """Describe goal, measurement, assumptions, the learner's limit and the prices, one line each."""
    unit, measured, deadline_h = plan.goal.unit, measurement, plan.goal.deadline_h
    what = "training" if measured.training else "play without training (training is slower)"
    return [
        f"Goal: {count(plan.goal.amount)} {unit}{f' within {duration(deadline_h)}' if deadline_h else ''}",
        f"Measured: {measured.origin}: {speed(measured.per_s(unit))} {unit}/s in {what}, range over {measured.samples} "
        f"{measured.samples_of}; {counted(measured.hosts, 'hosts')} on {measured.cores} cores of {measured.machine}",
        "Assumed: speed grows linearly with hosts, one a core unless the price file says otherwise, and its `speed` is "
        "right; evaluations are not included",
        _learner_line(plan, measured),
        f"Prices: {price_file}, written down on {prices.date}",
    ]


def _learner_line(plan: MachinePlan, measured: MeasuredSpeed) -> str:
    limit = plan.speed.learner_limit
    if limit is None or measured.learner_busy is None:
        return "Learner: its limit is unknown, so many machines may promise too much; give the folder of a training run"
    machines = ", ".join(f"{number:.1f} {offer.kind.name}" for offer, number in plan.saturating)
    return (
        f"Learner: busy {percent(measured.learner_busy)} of the time where it was measured; one is saturated at "
        f"{speed(limit)} {plan.goal.unit}/s, which is {machines}"
    )


def tables(plan: MachinePlan, currency: str) -> list[TextTable]:
    columns = (f"{plan.goal.unit}/s", "time", "low to high", "cost", "low to high")
    single = [(each.groups[0].offer.kind.name, *_row(each, currency)) for each in plan.single]
    growing = [(str(each.machines), *_row(each, currency)) for each in plan.growing]
    kind, is_spot = plan.worker.kind.name, plan.worker.is_spot
    title = f"{kind}: the first machine on demand, the others spot" if is_spot else f"{kind}, on demand"
    text_tables = [
        TextTable("One machine of each kind, on demand", ("machine", *columns), single, ""),
        TextTable(title, ("machines", *columns), growing, ""),
    ]
    if is_spot:
        losses = [(str(each.machines), *_losses(each, currency)) for each in plan.growing]
        lost_columns = ("machines", "interruptions", "machine hours lost", "their cost")
        text_tables.append(TextTable(f"Interruptions expected of {kind} spot", lost_columns, losses, ""))
    return text_tables


def verdict_lines(plan: MachinePlan, currency: str) -> list[str]:
    """Explain marks in the tables, then name the cheapest mix for the deadline, or say why no mix meets it."""
    limited = any(each.learner_is_limit for each in (*plan.single, *plan.growing))
    return [
        *([f"{AT_LIMIT} The learner is the limit: more machines would not be faster."] if limited else ()),
        *_mix(plan, currency),
    ]


def _mix(plan: MachinePlan, currency: str) -> list[str]:
    deadline_h, best = plan.goal.deadline_h, plan.best
    if deadline_h is None:
        return [f"Cheapest workers: {plan.worker}. For the cheapest mix, give --deadline."]
    if best is None:
        return [_no_mix(plan, deadline_h)]
    lines = [
        f"Cheapest for {duration(deadline_h)}: {' + '.join(str(group) for group in best.groups)}: "
        f"{duration(best.hours.median)} ({duration(best.hours.low)} to {duration(best.hours.high)}), "
        f"{money(best.cost.median, currency)} ({money(best.cost.low, currency)} to {money(best.cost.high, currency)})"
    ]
    if best.interruptions.median > 0:
        lines.append(
            f"Expected there: {decimals(best.interruptions.median)} interruptions, which lose "
            f"{decimals(best.lost_machine_hours.median)} machine hours ({money(best.lost_cost.median, currency)})"
        )
    if best.learner_is_limit:
        lines.append("The learner is the limit there: more machines would not be faster.")
    return lines


def _no_mix(plan: MachinePlan, deadline_h: float) -> str:
    if plan.shortest_h is not None and plan.shortest_h > deadline_h - plan.losses.start_h:
        return (
            f"No mix meets {duration(deadline_h)}: one learner needs {duration(plan.shortest_h)} at the lowest "
            "measured speed, however many machines play. Make updates cheaper (learner.epochs, policy.width, a GPU), "
            "or allow more time"
        )
    return f"No mix of these machines meets {duration(deadline_h)}; allow more time, or list larger or more machines"


def as_json(plan: MachinePlan, measurement: MeasuredSpeed, prices: Prices, price_file: str) -> dict[str, Any]:
    """Return the whole plan as plain data. Infinite numbers, which stand for unknown ones, become null."""
    builtins: dict[str, Any] = msgspec.to_builtins(
        {
            "measurement": measurement,
            "prices": {"file": price_file, "date": prices.date, "currency": prices.currency},
            "goal": asdict(plan.goal),
            "per_host_per_s": plan.speed.per_host,
            "learner_limit_per_s": plan.speed.learner_limit,
            "losses": asdict(plan.losses),
            "one_learner_needs_h": plan.shortest_h,
            "saturating_machines": {
                offer.kind.name: number if math.isfinite(number) else None for offer, number in plan.saturating
            },
            "one_machine": [_plain(each) for each in plan.single],
            "more_machines": [_plain(each) for each in plan.growing],
            "cheapest": None if plan.best is None else _plain(plan.best),
        }
    )
    return builtins


def _plain(each: Estimate) -> dict[str, Any]:
    groups = [
        {"machine": group.offer.kind.name, "spot": group.offer.is_spot, "count": group.count} for group in each.groups
    ]
    numbers = {field.name: getattr(each, field.name) for field in fields(Estimate)}
    return {**numbers, "machines": each.machines, "groups": groups}


def _row(each: Estimate, currency: str) -> tuple[str, ...]:
    return (
        count(each.per_s.median) + (f" {AT_LIMIT}" if each.learner_is_limit else ""),
        duration(each.hours.median),
        _range(each.hours),
        money(each.cost.median, currency),
        f"{money(each.cost.low, currency)} to {money(each.cost.high, currency)}",
    )


def _losses(each: Estimate, currency: str) -> tuple[str, ...]:
    return (
        decimals(each.interruptions.median),
        decimals(each.lost_machine_hours.median),
        money(each.lost_cost.median, currency),
    )


def speed(spread: Spread) -> str:
    return f"{count(spread.median)} ({count(spread.low)} to {count(spread.high)})"


def duration(hours: float) -> str:
    """Format hours: 25 min, 8.3 h, 5.2 days."""
    if hours < 1:
        return f"{60 * hours:.0f} min"
    return f"{hours:.1f} h" if hours < LONG_H else f"{hours / DAY_H:,.1f} days"


def _range(hours: Spread) -> str:
    low, high = duration(hours.low), duration(hours.high)
    unit = high.partition(" ")[2]
    return f"{low.removesuffix(f' {unit}')} to {high}"


def decimals(value: float) -> str:
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def money(amount: float, currency: str) -> str:
    return f"{currency}{amount:,.2f}" if amount < 100 else f"{currency}{amount:,.0f}"
