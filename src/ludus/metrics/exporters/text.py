"""Formats numbers for people."""

from __future__ import annotations

import math

from ludus.metrics import names
from ludus.metrics.bottleneck import sentence
from ludus.metrics.observer import ALONE, Numbers, Result


def earned(result: Result) -> str:
    """Format the mean reward per match with its 95% interval, and the share of matches won if they can be won."""
    low, high = result.reward_interval
    words = f"{decimal(result.reward)} earned (95%: {decimal(low)} to {decimal(high)})"
    return f"{words}, {percent(result.win_rate, 1)} won" if result.wins or result.losses else words


def number(numbers: Numbers, name: str) -> float:
    """Return a number of a report, or NaN if it is missing."""
    value = numbers.get(name, math.nan)
    return value if isinstance(value, int | float) else math.nan


def count(value: float) -> str:
    """Format a count: 12,345 up to a million, then 1.23 M."""
    if math.isnan(value):
        return "-"
    for size, letter in ((1e9, "G"), (1e6, "M")):
        if abs(value) >= size:
            return f"{value / size:.2f} {letter}"
    return f"{value:,.0f}" if abs(value) >= 10 or float(value).is_integer() else f"{value:.1f}"


def decimal(value: float) -> str:
    """Format a number with three significant digits, for losses and the like."""
    if math.isnan(value):
        return "-"
    if value == 0:
        return "0"
    return f"{value:.3g}" if 1e-4 <= abs(value) < 1e4 else f"{value:.1e}"


def percent(value: float, digits: int = 0) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.{digits}f}%"


def duration(seconds: float) -> str:
    """Format a duration as m:ss or h:mm:ss."""
    if not math.isfinite(seconds):
        return "-"
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def span(ms: float) -> str:
    """Format a duration in at most five characters: 4us, 0.12ms, 3.4ms, 120ms, 1.2s."""
    if math.isnan(ms):
        return "-"
    for unit, size in (("us", 1e-3), ("ms", 1.0), ("s", 1e3)):
        value = ms / size
        if round(value) < 1000 or unit == "s":
            return f"{value:.1f}{unit}" if round(value, 1) < 10 else f"{value:,.0f}{unit}"
    return "-"


def stage(numbers: Numbers) -> str:
    """Return the stage of the curriculum, or "" without a curriculum."""
    at, total = number(numbers, names.STAGE), number(numbers, names.STAGES_TOTAL)
    if math.isnan(at + total):
        return ""
    return f"stage {at:.0f} of {total:.0f}: {numbers.get(names.STAGE_NAME, '')}"


def evaluated(numbers: Numbers) -> str:
    """Return the progress of the running evaluation, or "" if there is none."""
    ended, scheduled = number(numbers, names.EVALUATED), number(numbers, names.EVALUATION_MATCHES)
    if numbers.get(names.PHASE) != "evaluating" or math.isnan(ended + scheduled):
        return ""
    opponent = numbers.get(names.EVALUATION_OPPONENT, "-")
    return f"{ended:.0f}/{scheduled:.0f}" + ("" if opponent == ALONE else f" against {opponent}")


def elo(numbers: Numbers) -> str:
    """Return the rating at the latest evaluation with half its 95% interval, or "" before there is one."""
    rating, low, high = (number(numbers, name) for name in (names.ELO, names.ELO_LOW, names.ELO_HIGH))
    return "" if math.isnan(rating + low + high) else f"Elo {rating:.0f} ±{(high - low) / 2:.0f}"


def bottleneck(numbers: Numbers) -> str:
    """Return the line that names the bottleneck, or "" before anything was timed."""
    activities = ((names.SHARE.end(name), number(numbers, name)) for name in numbers)
    hosts, cores = number(numbers, names.HOSTS_TOTAL), number(numbers, names.CORES)
    if math.isnan(hosts + cores):
        return ""
    shares = {activity: share for activity, share in activities if activity is not None}
    actors = number(numbers, names.ACTORS_TOTAL)
    return sentence(shares, hosts=int(hosts), cores=int(cores), actors=1 if math.isnan(actors) else int(actors))


def line(numbers: Numbers) -> str:
    """Format a report as one line for a log."""

    def get(name: str) -> float:
        return number(numbers, name)

    parts = [
        f"{percent(get(names.PROGRESS))} {numbers.get(names.PHASE, '')} {evaluated(numbers)}".strip(),
        *([stage(numbers)] if stage(numbers) else []),
        f"{duration(get(names.TRAINING_S))} trained, {duration(get(names.ETA_S))} left",
        f"{count(get(names.DECISIONS_PER_S))} decisions/s",
        f"{count(get(names.MATCHES_PER_HOUR))} matches/h",
        f"{decimal(get(names.UPDATES_PER_S))} updates/s",
        f"update {count(get(names.UPDATES))}",
        f"lag {decimal(get(names.LAG))}",
        f"entropy {decimal(get(names.ENTROPY))}",
        f"kl {decimal(get(names.KL))}",
        f"reward {decimal(get(names.REWARD))}",
        *([elo(numbers)] if elo(numbers) else []),
        f"hosts {count(get(names.HOSTS_ALIVE))}/{count(get(names.HOSTS_TOTAL))}",
    ]
    if math.isfinite(waiting := get(names.SHARE(names.HOST_WAIT))):
        parts[-1] += f" busy {percent(1 - waiting)}"
    if names.NODES_TOTAL in numbers:
        parts.append(f"actors {count(get(names.ACTORS_PLAYING))}/{count(get(names.ACTORS_TOTAL))}")
        parts.append(f"nodes {count(get(names.NODES_ALIVE))}/{count(get(names.NODES_TOTAL))}")
    if names.SERVERS_TOTAL in numbers:
        parts.append(f"servers {count(get(names.SERVERS_ALIVE))}/{count(get(names.SERVERS_TOTAL))}")
    for label, name in (
        ("servers restarted", names.SERVERS_RESTARTS),
        ("recycled", names.SERVERS_RECYCLED),
        ("voided", names.VOIDED),
        ("truncated", names.TRUNCATED),
        ("skipped", names.SKIPPED),
    ):
        if get(name) > 0:
            parts.append(f"{label} {count(get(name))}")
    return " | ".join(parts)
