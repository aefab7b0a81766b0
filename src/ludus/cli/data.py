"""`ludus data`: describe, check and render datasets."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ludus.cli import bars
from ludus.config import places
from ludus.games import command_parts

if TYPE_CHECKING:
    from ludus.data.dataset import Dataset
    from ludus.data.rendering import RenderProgress

DAMAGED = 2  # exit code of `check`, as for every LudusError
INTERRUPTED = 130  # exit code, as for a process that SIGINT ended

app = typer.Typer(
    help="Describe, check, render, merge, filter and export datasets (docs/datasets.md).",
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
)
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a dataset.")]
Workers = Annotated[int, typer.Option(min=0, help="Number of hosts; 0: one per core.")]


@app.command("info")
def info(folder: Folder) -> None:
    """Show what a dataset contains, with the win rates of its policies.

    Example: [bold]ludus data info data/gen1[/bold]
    """
    from rich.console import Console

    from ludus.cli.tables import standings
    from ludus.data import generation
    from ludus.data.dataset import Dataset

    console = Console()
    dataset = Dataset.open(folder)
    for line in _lines(dataset):
        console.print(line, highlight=False, soft_wrap=True)
    console.print(standings(generation.standings(dataset)))


@app.command("check")
def check(folder: Folder) -> None:
    """Compare every file of a dataset with its checksum. The other shards stay usable if one is damaged.

    Example: [bold]ludus data check data/gen1[/bold]
    """
    from rich.console import Console

    from ludus.api import datasets

    console = Console()
    with bars.counting(console) as show:
        result = datasets.check(folder, lambda done, of: show(done, of, "shards"))
    for line in result.damage:
        console.print(line, style="red", highlight=False, soft_wrap=True)
    console.print(
        f"{result.shards:,} shards, {len(result.damage):,} damaged files; usable: {result.matches:,} matches, "
        f"{result.decisions:,} decisions, {result.rows:,} of them with rows",
        highlight=False,
        soft_wrap=True,
    )
    if result.damage:
        raise typer.Exit(DAMAGED)


@app.command("render")
def render(
    folder: Folder,
    workers: Workers = 0,
    again: Annotated[bool, typer.Option("--again", help="Also render shards whose rows are up to date.")] = False,
    sets: command_parts.Sets = None,
) -> None:
    """Make the rows of a dataset (observations, masks, rewards) by playing its matches again.

    Ctrl-C keeps the finished shards; the same command continues.

    Example: [bold]ludus data render data/gen1[/bold]
    """
    from rich.console import Console

    from ludus.api import datasets
    from ludus.config.overrides import given_options

    console = Console()
    began_s = time.monotonic()
    last: list[RenderProgress] = []
    with bars.counting(console) as show:

        def progress(now: RenderProgress) -> None:
            last[:] = [now]
            show(now.decisions, now.planned, "decisions")

        finished = datasets.render(
            folder, workers=workers, again=again, options=given_options(sets or ()), progress=progress
        )
    if not last:
        console.print(f"All rows of {folder} are up to date.", highlight=False, soft_wrap=True)
        return
    seconds = time.monotonic() - began_s
    console.print(
        f"{last[0].decisions:,} of {last[0].planned:,} decisions have rows, after {seconds:.1f} s.", highlight=False
    )
    if last[0].diverged:
        console.print(
            f"{last[0].diverged:,} matches were different when they were played again, and have no rows: the game has "
            "changed since they were recorded.",
            style="yellow",
            highlight=False,
            soft_wrap=True,
        )
    if not finished:
        console.print("Interrupted; the same command continues.", highlight=False)
        raise typer.Exit(INTERRUPTED)


@app.command("agreement")
def agreement(
    folder: Folder,
    policy: Annotated[str, typer.Argument(metavar="POLICY", help="A run, a checkpoint or scripted:NAME.")],
    of: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Recorded policy to compare with. Default: all.", show_default=False),
    ] = None,
    held_out: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Only this share of the matches, which training with the same data.holdout left out; 0: all.",
        ),
    ] = 0.05,
    most: Annotated[int, typer.Option(min=0, help="Stop after about as many decisions; 0: all.")] = 0,
    sets: command_parts.Sets = None,
) -> None:
    """Show how often a policy chooses the recorded action.

    Example: [bold]ludus data agreement data/gen1 runs/clone --of scripted:heuristic[/bold]
    """
    from rich.console import Console

    from ludus.api import datasets
    from ludus.config.overrides import given_options

    console = Console()
    with bars.counting(console) as show:
        result = datasets.agreement(
            folder,
            policy,
            of=of,
            held_out=held_out,
            most=most,
            options=given_options(sets or ()),
            progress=lambda decisions: show(decisions, max(most, decisions), "decisions"),
        )
    console.print(f"same action in {result.share:.2%} of {result.decisions:,} decisions", highlight=False)
    if result.settled < result.decisions:
        console.print(
            f"and in {result.settled_share:.2%} of the {result.settled:,} in which {of} draws no random number",
            highlight=False,
        )


@app.command("merge")
def merge(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of datasets of one game.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the new dataset.")],
) -> None:
    """Copy several datasets into a new one. Matches that occur twice are copied once.

    Example: [bold]ludus data merge data/monday data/tuesday --out data/both[/bold]
    """
    _copy(folders, out)


@app.command("filter")
def filter_(
    folder: Folder,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the new dataset.")],
    policies: Annotated[
        str, typer.Option(help="Matches in which one of these played; names, separated by commas.", show_default=False)
    ] = "",
    min_rating: Annotated[float, typer.Option(min=0.0, help="Matches with a player of at least this rating.")] = 0.0,
    newest: Annotated[int, typer.Option(min=0, help="So many latest matches; 0: all.")] = 0,
) -> None:
    """Copy some matches into a new dataset. Without options, copies everything that is not damaged.

    Example: [bold]ludus data filter data/gen1 --policies scripted:heuristic --newest 10000 --out data/some[/bold]
    """
    names = [name.strip() for name in policies.split(",") if name.strip()]
    _copy([folder], out, policies=names, min_rating=min_rating, newest=newest)


@app.command("export")
def export(
    folder: Folder,
    to: Annotated[str, typer.Option(metavar="FORMAT", help="parquet, minari, or metamon (Showdown singles).")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write to.")],
    sets: command_parts.Sets = None,
) -> None:
    """Write the rows of a dataset in a format of other programs.

    Example: [bold]ludus data export data/gen1 --to parquet --out gen1-parquet[/bold]
    """
    from rich.console import Console

    from ludus.api import datasets
    from ludus.config.overrides import given_options

    places.check_folder(out, "--out")
    console = Console()
    with bars.counting(console) as show:
        decisions = datasets.export(
            folder,
            to,
            out,
            options=given_options(sets or ()),
            progress=lambda done, of: show(done, of, "decisions"),
        )
    console.print(f"{decisions:,} decisions are in {out}.", highlight=False, soft_wrap=True)


def _copy(
    folders: Sequence[Path], out: Path, *, policies: Sequence[str] = (), min_rating: float = 0.0, newest: int = 0
) -> None:
    from rich.console import Console

    from ludus.api import datasets

    places.check_folder(out, "--out")
    console = Console()
    with bars.counting(console) as show:
        result = datasets.copy(
            folders,
            out,
            policies=policies,
            min_rating=min_rating,
            newest=newest,
            progress=lambda done, of: show(done, of, "shards"),
        )
    for line in result.damage:
        console.print(f"left out: {line}", style="yellow", highlight=False, soft_wrap=True)
    content = result.dataset.manifest
    repeated = f"; {result.repeated:,} repeated matches were left out" if result.repeated else ""
    console.print(
        f"{content.matches:,} matches, {content.decisions:,} decisions are in {out}{repeated}.",
        highlight=False,
        soft_wrap=True,
    )


def _lines(dataset: Dataset) -> list[str]:
    content = dataset.manifest
    ledger_bytes = sum(shard.ledger.size for shard in content.shards)
    with_rows = [shard for shard in content.shards if shard.rows is not None]
    rows_bytes = sum(shard.rows.file.size for shard in with_rows if shard.rows is not None)
    plan = "" if content.plan is None else f" of {content.plan.matches:,} planned"
    rows_spec = "" if content.rows_spec is None else f", schema {content.rows_spec.schema}"
    lines = [
        f"{content.spec.name}, schema {content.spec.schema}, recorded with ludus {content.ludus}",
        f"{content.matches:,} matches{plan}, {content.decisions:,} decisions in {len(content.shards):,} shards",
        f"ledger: {ledger_bytes / 2**20:,.1f} MiB, {ledger_bytes / max(content.decisions, 1):.2f} bytes a decision",
        f"rows: {len(with_rows):,} of {len(content.shards):,} shards, {rows_bytes / 2**20:,.1f} MiB{rows_spec}",
        "matches can be played again"
        if content.replayable
        else "matches were played on servers: they cannot be played again",
    ]
    if content.voided:
        voided = ", ".join(f"{reason} ({count})" for reason, count in sorted(content.voided.items()))
        lines.append(f"lost and played again: {voided}")
    return lines
