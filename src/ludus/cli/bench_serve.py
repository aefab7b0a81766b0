"""`ludus bench serve`: many battle workers around one policy server, against one process."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ludus.config import places

if TYPE_CHECKING:
    from rich.console import Console

    from ludus.diagnostics.serving_trials import ServingPlan, ServingTrial

FOLDER = Path("serving")
SERVER_LOG = "server.log"  # stderr of the servers, in the folder of the report


def bench_serve(
    policy: Annotated[str, typer.Argument(metavar="RUN|CHECKPOINT", help="A run plays its latest checkpoint.")],
    opponent: Annotated[
        str,
        typer.Option(help="A scripted policy. Default: the last in `ludus games`.", show_default=False),
    ] = "",
    matches: Annotated[int, typer.Option(min=2, help="Battles in each of the three trials.")] = 400,
    workers: Annotated[int, typer.Option(min=0, help="Battle workers; 0: one per core, at least 2.")] = 0,
    concurrency: Annotated[int, typer.Option(min=1, max=4096, help="Concurrent battles of each worker.")] = 32,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the server; 0: any free one.")] = 0,
    max_batch: Annotated[int, typer.Option(min=1, help="Most rows of one forward pass.")] = 1024,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the lists of matches.")] = 20_000,
    deadline_s: Annotated[float, typer.Option("--deadline", metavar="S", min=1, help="Seconds for a trial.")] = 3600.0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="D", help="Folder of the report. Default: serving/<run>-<date>-<n>.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Play battles with workers around a policy server, in one process, and around a server that answers row by row.

    First checks that the policy loads, the simulator is there, the port is free and the disk has room. Reports battles
    per hour, latency, batch sizes, GPU use, invalid actions and win rates.

    Example: [bold]ludus bench serve runs/gen1-20250101-1 --opponent heuristic --matches 500 --workers 10[/bold]
    """
    if out is not None:
        places.check_folder(out, "--out")
    from rich.console import Console

    from ludus.config.folders import new_run_dir
    from ludus.diagnostics import serving_report
    from ludus.diagnostics.serving_trials import ServingPlan
    from ludus.games import named_policies
    from ludus.processes.cores import cores

    console = Console(stderr=as_json)
    agent = named_policies.agent_source(policy)
    scripted = tuple(agent.game().scripted)
    plan = ServingPlan(
        agent.name,
        opponent or (scripted[-1] if scripted else ""),
        matches,
        workers or max(cores(), 2),
        concurrency,
        port,
        max_batch,
        seed,
        deadline_s,
    )
    folder = out or new_run_dir(FOLDER, Path(policy).name, date.today())
    checks = _check(plan, folder, console)
    trials = _play(plan, folder / SERVER_LOG, console)
    page = serving_report.write(folder, plan, trials, checks)
    if as_json:
        typer.echo((folder / serving_report.JSON).read_text())
        return
    _say(trials, console)
    console.print(f"Report: {page}, with {serving_report.PICTURE}.", highlight=False, soft_wrap=True)


def _check(plan: ServingPlan, folder: Path, console: Console) -> dict[str, str]:
    from ludus.diagnostics import serving_trials
    from ludus.games import command_parts

    checks = {}
    for what, detail in serving_trials.check(
        plan, folder, lambda game, options: command_parts.install(game, options, console)
    ):
        checks[what] = detail
        console.print(f"[green]ok[/green]  {what:<10} {detail}", highlight=False, soft_wrap=True)
    return checks


def _play(plan: ServingPlan, log: Path, console: Console) -> list[ServingTrial]:
    """Play the trials with a progress bar."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from ludus.diagnostics import serving_trials

    columns = (TextColumn("{task.description:<20}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting", total=plan.matches)

        def show(name: str, ended: int, matches: int) -> None:
            bar.update(task, description=name, completed=ended, total=matches)

        return list(serving_trials.play(plan, log, show))


def _say(trials: list[ServingTrial], console: Console) -> None:
    from rich.table import Table

    from ludus.diagnostics import serving_report

    name, *rows = serving_report.COLUMNS
    names, *lines = zip(*(serving_report.cells(trial) for trial in trials), strict=True)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for at, column in enumerate((name, *names)):
        table.add_column(column, justify="right" if at else "left")
    for row, line in zip(rows, lines, strict=True):
        table.add_row(row, *line)
    console.print(table)
    for sentence in serving_report.sentences(trials):
        console.print(sentence, highlight=False, soft_wrap=True)
