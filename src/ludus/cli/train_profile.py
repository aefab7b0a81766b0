"""`ludus train --profile`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ludus.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from ludus.actors.resolved import ResolvedRun
    from ludus.diagnostics.profiling.run_profile import ProfileResult
    from ludus.metrics.observer import RunObserver

SECONDS = 30.0
SHOWN = 15  # frames on the console; the files have more


@dataclass(frozen=True, slots=True)
class ProfileArguments:
    """The arguments of `--profile`."""

    kinds: tuple[str, ...]
    seconds: float


def arguments(kinds: str | None, seconds: float | None) -> ProfileArguments | None:
    """Check both options. Returns None if nothing is profiled. Raises ConfigError."""
    if kinds is None:
        if seconds is not None:
            raise ConfigError("--profile-seconds: needs --profile, which names the processes: --profile all")
        return None
    from ludus.diagnostics.profiling import run_profile

    return ProfileArguments(run_profile.kinds_of(kinds), SECONDS if seconds is None else seconds)


@contextmanager
def profiled(
    profiling: ProfileArguments | None, run: ResolvedRun, folder: Path, console: Console
) -> Iterator[dict[str, RunObserver]]:
    """Yield the observer that profiles a run, by its name, and show the table at the end. Yields {} without one."""
    if profiling is None:
        yield {}
        return
    from ludus.diagnostics.profiling.run_profile import RunProfile

    hook = run.game.command(run.options).profile if "hosts" in profiling.kinds else ()
    on_gpu = run.learner_device.type == "cuda"
    profile = RunProfile(folder, profiling.kinds, profiling.seconds, hook=hook, on_gpu=on_gpu)
    yield {"the profile": profile}
    if profile.result is not None:
        _show(console, profile.result)


def _show(console: Console, result: ProfileResult) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Hottest frames", title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in ("process", "function", "place"):
        table.add_column(column)
    for column in ("self", "with callees"):
        table.add_column(column, justify="right")
    for line in result.frames[:SHOWN]:
        words = (line.process, line.frame.function, line.frame.place)
        table.add_row(*map(Text, words), f"{line.self_share:.1%}", f"{line.total_share:.1%}")
    console.print()
    if result.frames:
        console.print(table)
    for trouble in result.troubles:
        console.print(f"Not profiled: {trouble}", highlight=False, markup=False, soft_wrap=True)
    console.print(
        f"Profile: {result.folder} (hottest.md, profile.speedscope.json for https://www.speedscope.app)",
        highlight=False,
        soft_wrap=True,
    )
