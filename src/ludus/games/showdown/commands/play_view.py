"""The output of `ludus play`: a live table on a terminal, lines elsewhere, and a summary."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from ludus.games.showdown.play.outsiders import Event, OpponentRecord, PlayResult, printable
from ludus.games.showdown.play_game import PlayOptions
from ludus.metrics.exporters import text
from ludus.metrics.intervals import wilson

OPPONENTS_SHOWN = 8
LINE_S = 5.0  # between two lines without a terminal


class PlayView:
    """Shows results and events while `with` is active. It draws when `show` is called and has no thread of its own."""

    def __init__(self, console: Console, options: PlayOptions, matches: int | None) -> None:
        self._console, self._options, self._matches = console, options, matches
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._line_s = 0.0  # when the last line was printed
        self._line_battles = -1  # battles on the last line
        self._stop_requests = 0

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, result: PlayResult) -> None:
        """Redraw the table; without a terminal, print a line if battles have ended since the last one."""
        if self._live is not None:
            self._live.update(self._table(result), refresh=True)
            return
        now_s = time.monotonic()
        if result.total.battles != self._line_battles and now_s - self._line_s >= LINE_S:
            self._line_battles, self._line_s = result.total.battles, now_s
            self._print(self._line(result))

    def tell(self, event: Event) -> None:
        """Print an event of the host."""
        words = sentence(event, self._options)
        if words:
            self._print(words)

    def interrupt(self, requests: int) -> None:
        """Record the number of Ctrl-C so far; the next `show` mentions it. Safe in a signal handler."""
        self._stop_requests = requests

    def summary(self, result: PlayResult, save_replays: Path | None) -> None:
        """Print the final results, by opponent."""
        rows = [("all", result.total)] if len(result.opponents) != 1 else []
        ranked = sorted(result.opponents.items(), key=lambda entry: -entry[1].battles)
        self._console.print(_records([*rows, *ranked]))
        self._print(
            f"{result.total.battles:,} battles in {text.duration(result.seconds)}, {result.decisions:,} decisions "
            f"({_rate(result)}/s), {result.invalid} invalid choices, {result.refused} retried, "
            f"{result.reconnects} reconnects"
        )
        if result.rating is not None:
            self._print(f"Rating: {result.rating:.0f}")
        for what, reasons in (("did not count", result.voided), ("did not begin", result.unplayed)):
            for reason, count in reasons.most_common():
                self._print(f"{count} {what}: {reason}")
        if save_replays is not None and result.total.battles:
            unsaved = f"; {result.unsaved} could not be written" if result.unsaved else ""
            self._print(f"Pages of the battles are in {save_replays}{unsaved}")

    def json(self, result: PlayResult) -> str:
        page = {**msgspec.to_builtins(result), "win_rate": result.win_rate, "interval": list(result.interval)}
        return msgspec.json.encode(page).decode()

    def _table(self, result: PlayResult) -> Table:
        grid = Table.grid()
        grid.add_row(escape(self._line(result)))
        ranked = sorted(result.opponents.items(), key=lambda entry: -entry[1].battles)
        if ranked:
            grid.add_row(_records(ranked[:OPPONENTS_SHOWN]))
        if len(ranked) > OPPONENTS_SHOWN:
            grid.add_row(f"and {len(ranked) - OPPONENTS_SHOWN} more opponents")
        if self._stop_requests:
            grid.add_row("finishing the running battles; Ctrl-C again forfeits them", style="yellow")
        return grid

    def _line(self, result: PlayResult) -> str:
        total = result.total
        low, high = result.interval
        of = f"/{self._matches:,}" if self._matches else ""
        parts = [
            f"{total.battles:,}{of} battles, {result.running} running",
            f"{total.wins:,} won, {total.losses:,} lost, {total.ties:,} tied",
            f"{text.percent(result.win_rate, 1)} ({text.percent(low)} to {text.percent(high)})"
            if total.battles
            else "waiting for an opponent",
            f"{_rate(result)} decisions/s",
        ]
        if result.rating is not None:
            parts.append(f"rating {result.rating:.0f}")
        if result.invalid:
            parts.append(f"{result.invalid} invalid choices")
        voided = sum(result.voided.values())
        if voided:
            parts.append(f"{voided} did not count")
        return " | ".join(parts)

    def _print(self, words: str) -> None:
        self._console.print(printable(words), highlight=False, soft_wrap=True, markup=False)


def sentence(event: Event, options: PlayOptions) -> str:
    """Describe an event of the host in a sentence. Returns an empty text for events that users need not know."""
    who, why = event.get("who", ""), event.get("why", "")
    waits = {
        "accept": "challenge it",
        "challenge": f"it challenges {options.opponent}",
        "ladder": "it searches on the ladder",
    }[options.mode]
    match event.get("event"):
        case "connected":
            return f"{event.get('name')} is on {options.server}, {options.format}; {waits}"
        case "lost":
            return f"{why}; reconnecting"
        case "back":
            return f"reconnected after {event.get('afterS')} s"
        case "declined":
            return f"declined a challenge of {who} to {event.get('format')}"
        case "unplayed":
            return f"no battle with {who or 'anybody'}: {why}"
        case "delayed" | "popup":
            return f"the server says: {why}"
        case "unknown":
            return f"ignored a message of unknown kind: {event.get('kind')}"
    return ""


def _records(rows: list[tuple[str, OpponentRecord]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("opponent")
    for name in ("win rate", "95% interval", "won", "lost", "tied"):
        table.add_column(name, justify="right")
    for name, record in rows:
        low, high = wilson(record.wins, record.battles)
        share = record.wins / record.battles if record.battles else 0.0
        table.add_row(
            escape(printable(name)),
            text.percent(share, 1) if record.battles else "-",
            f"{text.percent(low, 1)} to {text.percent(high, 1)}" if record.battles else "-",
            f"{record.wins:,}",
            f"{record.losses:,}",
            f"{record.ties:,}",
        )
    return table


def _rate(result: PlayResult) -> str:
    return text.decimal(result.decisions / result.seconds) if result.seconds > 0 else "-"
