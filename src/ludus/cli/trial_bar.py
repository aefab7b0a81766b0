"""The progress bar of commands that run one trial after the other."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from ludus.metrics.exporters.text import duration

REDRAW_S = 0.2


class Draw(Protocol):
    def __call__(
        self, description: str, *, completed_s: float, trial: str, left_s: float, is_new: bool = False
    ) -> None:
        """Draw the bar, unless it was drawn just now. `is_new` draws it in any case."""


@contextmanager
def trial_bar(console: Console, total_s: float) -> Iterator[Draw]:
    """Show a progress bar if the output is a terminal. It is redrawn when its function is called, without a thread."""
    columns = (
        TextColumn("{task.description:<16}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("trial {task.fields[trial]}, {task.fields[left]} left"),
    )
    bar = Progress(*columns, console=console, transient=True, auto_refresh=False, disable=not console.is_terminal)
    with bar:
        task = bar.add_task("", total=total_s, trial="-", left="-")
        drawn_s = 0.0

        def draw(description: str, *, completed_s: float, trial: str, left_s: float, is_new: bool = False) -> None:
            nonlocal drawn_s
            if not is_new and time.monotonic() - drawn_s < REDRAW_S:
                return
            drawn_s = time.monotonic()
            bar.update(task, completed=completed_s, description=description, trial=trial, left=duration(left_s))
            bar.refresh()

        yield draw
