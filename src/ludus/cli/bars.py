"""Progress bars of commands that play matches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

REDRAW_S = 0.2
LINE_S = 10.0  # seconds between two lines where there is no terminal


@contextmanager
def counting(console: Console, label: str = "") -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar if the output is a terminal. It is redrawn when its function is called, without a thread.

    The function takes the number of finished items, of all items, and a description that follows `label`.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    text = TextColumn(f"{label}{{task.description:<12}}")
    columns = (text, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True, auto_refresh=False, disable=not console.is_terminal)
    with bar:
        task = bar.add_task("...", total=None)
        drawn_s = time.monotonic()

        def show(ended: int, scheduled: int, description: str) -> None:
            nonlocal drawn_s
            bar.update(task, completed=ended, total=scheduled, description=description)
            if time.monotonic() - drawn_s >= REDRAW_S or ended == scheduled:
                drawn_s = time.monotonic()
                bar.refresh()

        yield show


@contextmanager
def match_lines(console: Console) -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar like `counting` on a terminal, and elsewhere a line at the first match and every ten
    seconds."""
    if console.is_terminal:
        with counting(console) as show:
            yield show
        return
    printed_s = float("-inf")

    def line(ended: int, scheduled: int, pair: str) -> None:
        nonlocal printed_s
        if time.monotonic() - printed_s >= LINE_S:
            printed_s = time.monotonic()
            console.print(f"{ended:,} of {scheduled:,} matches: {pair}", highlight=False, soft_wrap=True, markup=False)

    yield line
