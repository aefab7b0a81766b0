"""A progress bar in one line, for notebooks and scripts; the live table is for terminals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from ludus.metrics import names
from ludus.metrics.exporters import text
from ludus.metrics.observer import Numbers, Result


class ProgressBar:
    """Shows the used share of the budget, the speed and the latest evaluation on a terminal or in a notebook.

    It is redrawn when numbers arrive, without a thread. If the output is neither, nothing is shown.
    """

    def __init__(self, title: str, console: Console | None = None) -> None:
        console = console or Console()
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        is_visible = console.is_terminal or console.is_jupyter
        self._bar = Progress(*columns, console=console, auto_refresh=False, disable=not is_visible)
        self._title = title
        self._task = self._bar.add_task(title, total=1.0)
        self._scores = ""

    def on_progress(self, numbers: Numbers) -> None:
        speed = text.number(numbers, names.DECISIONS_PER_S)
        words = "" if math.isnan(speed) else f"  {speed:,.0f} decisions/s"
        done = text.number(numbers, names.PROGRESS)
        words = f"{self._title}{words}{self._scores}"
        self._bar.update(self._task, completed=0.0 if math.isnan(done) else done, description=words, refresh=True)

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        self._scores = "".join(f"  {result.opponent} {result.win_rate:.0%}" for result in results)

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
