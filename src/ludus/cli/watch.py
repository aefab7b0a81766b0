"""`ludus watch`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from ludus.config import places
from ludus.config.folders import RUNS
from ludus.processes.command import ISOLATED


def watch(
    folder: Annotated[
        Path,
        typer.Argument(metavar="[RUN]", help="The folder of a run, or a folder of runs.", show_default=True),
    ] = RUNS,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="Port of the page. Default: 7777, or a free one if it is in use.", show_default=False
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="PAGE.html",
            help="Write the page into one file, which needs no server, and end.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show runs on a page in the browser: speed, learning curves, losses, where the time goes, logs, settings.

    The page refreshes itself while a run trains, and also shows runs that have ended. It can be opened on this machine
    only. It only reads the folder, so it cannot disturb a run.

    Example: [bold]ludus watch runs/gen1-20250101-1[/bold]

    Example: [bold]ludus watch runs --export runs.html[/bold]
    """
    if export is not None:
        places.check_file(export, "--export")
    from ludus.watch import assets
    from ludus.watch import export as exporting
    from ludus.watch.answers import Answers
    from ludus.watch.runs_folder import Runs

    runs = Runs(folder)
    if not assets.has_charts():
        typer.echo("ludus: charts are left out; for them: pip install 'ludus-rl[watch]'", err=True)
    if export is not None:
        size = exporting.write(Answers(runs), export)
        typer.echo(f"Wrote {export} ({size / 2**20:.1f} MiB): open it in a browser, also without a network.")
        return
    words = [str(folder), *([] if port is None else [str(port)])]
    sys.stdout.flush()
    # takes the place of this process, whose imports would cost 20 MiB
    os.execv(sys.executable, [*ISOLATED, "ludus.watch", *words])
