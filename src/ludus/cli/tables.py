"""Tables that several commands print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from ludus.metrics.exporters import text
from ludus.metrics.observer import ALONE

if TYPE_CHECKING:
    from ludus.data.generation import PolicyScore
    from ludus.diagnostics.scaling_report import TextTable
    from ludus.evaluation.arena import MatchupResult
    from ludus.metrics.times import Times
    from ludus.run.reproduction import Compared


def titled(table: TextTable) -> Table:
    """Return a table with its title above it and every column aligned to the right."""
    grid = Table(
        title=table.title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="bold"
    )
    for column in table.columns:
        grid.add_column(column, justify="right")
    for row in table.rows:
        grid.add_row(*row)
    return grid


def win_rates(results: Sequence[MatchupResult]) -> Table:
    """Return a table of win rates by opponent with 95% intervals. For games with one seat, it has mean returns, and
    win rates if matches can be won."""
    if any(result.opponent == ALONE for result in results):
        return _returns(results)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("opponent")
    for name in ("win rate", "95% interval", "won", "lost", "tied", "turns"):
        table.add_column(name, justify="right")
    for result in results:
        low, high = result.interval
        table.add_row(
            result.opponent,
            text.percent(result.win_rate, 1),
            f"{text.percent(low, 1)} to {text.percent(high, 1)}",
            f"{result.wins:,}",
            f"{result.losses:,}",
            f"{result.ties:,}",
            f"{result.turns:.1f}" if result.turns else "-",
        )
    return table


def compared(rows: Sequence[Compared]) -> Table:
    """Return a table of the final results of two runs."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("opponent")
    for name in ("then", "now", ""):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(row.opponent, row.then, row.now, row.verdict)
    return table


def standings(rows: Sequence[PolicyScore]) -> Table:
    """Return a table of the results of the policies in a dataset, with 95% intervals."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("policy", "against"):
        table.add_column(name, overflow="fold")
    for name in ("win rate", "95% interval", "won", "lost", "tied"):
        table.add_column(name, justify="right")
    for row in rows:
        low, high = row.interval
        table.add_row(
            row.policy,
            row.opponent,
            text.percent(row.win_rate, 1),
            f"{text.percent(low, 1)} to {text.percent(high, 1)}",
            f"{row.wins:,}",
            f"{row.matches - row.wins - row.ties:,}",
            f"{row.ties:,}",
        )
    return table


def _returns(results: Sequence[MatchupResult]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    decided = any(result.wins or result.losses for result in results)
    rates = ("win rate", "95% interval", "won", "lost") if decided else ()
    for name in (*rates, "return, mean", "95% interval", "matches", "decisions in one", "truncated"):
        table.add_column(name, justify="right")
    for result in results:
        low, high = result.reward_interval
        interval = " to ".join(text.percent(end, 1) for end in result.interval)
        won = (text.percent(result.win_rate, 1), interval, f"{result.wins:,}", f"{result.losses:,}")
        table.add_row(
            *(won if decided else ()),
            f"{result.reward:.2f}",
            f"{low:.2f} to {high:.2f}",
            f"{result.matches:,}",
            f"{result.decisions / result.matches:.1f}",
            f"{result.truncated:,}",
        )
    return table


def activity_times(times: Times) -> Table:
    """Return a table of the time per activity. The shares of each process sum to 100% of its wall-clock time."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("process")
    table.add_column("activity")
    for name in ("share", "mean", "p50", "p95"):
        table.add_column(name, justify="right")
    process = ""
    for line in times.lines():
        spans = (text.span(ms) for ms in (line.mean_ms, line.p50_ms, line.p95_ms))
        name = "" if line.process == process else line.process
        table.add_row(name, line.part.replace("_", " "), text.percent(line.share, 1), *spans)
        process = line.process
    return table
