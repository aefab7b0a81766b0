"""`ludus serve`: answers other processes with trained policies."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ludus.serving.library import PolicyLibrary
    from ludus.serving.protocol import Report
    from ludus.serving.server import ServerSettings

START = "start"
USUAL_ROWS = 512  # of a forward pass, which decide whether a policy plays on the GPU


class ServeCommands(TyperGroup):
    """A group whose command `start` is meant where no other is named: `ludus serve RUN` is `ludus serve start RUN`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # Any: click's context
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = [START, *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


app = typer.Typer(
    cls=ServeCommands,
    help="Answer other processes with trained policies: `ludus serve RUN ...` (options: `ludus serve start --help`).",
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
)

TokenFile = Annotated[
    Path | None,
    typer.Option(
        metavar="F", help="File with the token that clients must have; mode 0600, 16 characters.", show_default=False
    ),
]


ServerAddress = Annotated[
    str, typer.Argument(metavar="ADDRESS", help="Address of the server, such as tcp://127.0.0.1:5555.")
]
Policies = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME=]RUN|CHECKPOINT...",
        help="Policies to serve. Of a run, its latest checkpoint is served.",
        show_default=False,
    ),
]
Watch = Annotated[
    list[str] | None,
    typer.Option(metavar="[NAME=]RUN", help="Serve this run, and follow its newest checkpoint.", show_default=False),
]


@app.callback()
def serve() -> None:
    """Answer other processes with trained policies: `ludus serve RUN ...` (options: `ludus serve start --help`)."""


@app.command(START)
def start(
    policies: Policies = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free one.")] = 5555,
    bind: Annotated[str, typer.Option(metavar="HOST", help="Address to listen on.")] = "127.0.0.1",
    token_file: TokenFile = None,
    without_token: Annotated[
        bool, typer.Option("--without-token", help="Answer other machines although there is no token.")
    ] = False,
    watch: Watch = None,
    best: Annotated[
        bool, typer.Option("--best", help="Serve the best checkpoint of each run instead of the latest.")
    ] = False,
    max_batch: Annotated[int, typer.Option(min=1, help="Most rows of one forward pass.")] = 1024,
    max_wait_ms: Annotated[
        float, typer.Option(min=0, help="Time to wait for more rows; 0 takes what has arrived.")
    ] = 0.0,
    max_policies: Annotated[
        int, typer.Option(min=1, help="Policies kept in memory. Others are loaded when a client asks for them.")
    ] = 4,
    lease_s: Annotated[
        float, typer.Option("--lease", metavar="S", min=0, help="Seconds to keep the rows of a lost client.")
    ] = 30.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of policies that clients ask to sample.")] = 0,
    threads: Annotated[int, typer.Option(min=1, help="PyTorch threads, for policies on the CPU.")] = 1,
) -> None:
    """Answer clients with these policies until Ctrl-C. The policies of a run are loaded once, for all clients.

    Wherever a checkpoint is accepted, clients name a policy as tcp://HOST:PORT/NAME, or NAME@u00000120 for an earlier
    checkpoint of the run.

    Example: [bold]ludus serve runs/gen1-20250101-1 --port 5555[/bold]
    Example: [bold]ludus eval tcp://127.0.0.1:5555/gen1-20250101-1[/bold]
    Example: [bold]ludus serve --watch mine=runs/gen1-20250101-2 --bind 0.0.0.0 --token-file token[/bold]
    """
    import torch

    from ludus.games import checkpoint_game
    from ludus.serving.address import read_token
    from ludus.serving.library import PolicyLibrary
    from ludus.serving.local_commands import default_folder
    from ludus.serving.policy_sources import sources_of
    from ludus.serving.server import ServerSettings

    settings = ServerSettings(
        host=bind,
        port=port,
        token="" if token_file is None else read_token(token_file),
        without_token=without_token,
        max_batch=max_batch,
        max_wait_s=max_wait_ms / 1e3,
        lease_s=lease_s,
        local_folder=default_folder(),
    )
    settings.check()
    sources = sources_of(map(_located, policies or ()), watched=watch or (), best=best)
    torch.set_num_threads(threads)
    library = PolicyLibrary(
        sources, checkpoint_game, max_policies=max_policies, rows=min(max_batch, USUAL_ROWS), seed=seed
    )
    _run(library, settings, max_policies)


def _located(text: str) -> str:
    """Return PATH or NAME=PATH. If it names an agent of `ludus agents`, the path is that agent's folder."""
    from ludus.games import agents

    name, equals, rest = text.partition("=")
    return f"{name}={agents.path_of(rest)}" if equals else str(agents.path_of(text))


def _run(library: PolicyLibrary, settings: ServerSettings, max_policies: int) -> None:
    """Load the policies, print their addresses, and serve until a signal comes."""
    from rich.console import Console

    from ludus.processes import interrupts, scheduling
    from ludus.serving.server import Server

    scheduling.set_time_slice(scheduling.SHORT_S)  # all clients wait for this process
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", level=logging.WARNING)
    logging.getLogger("ludus").setLevel(logging.INFO)
    console = Console()
    with interrupts.handled() as stopped, Server(library, settings) as server:
        for name in library.names[:max_policies]:
            library.open(name)
        for name in library.names:
            console.print(f"{server.address}/{name}", style="bold", highlight=False, soft_wrap=True)
        console.print(
            f"Serving {len(library.names)} on {library.device}; stop with Ctrl-C. Numbers: ludus serve status "
            f"{server.address}",
            highlight=False,
            soft_wrap=True,
        )
        server.run(stopped)


@app.command("add")
def add(
    address: ServerAddress,
    policies: Policies = None,
    watch: Watch = None,
    best: Annotated[bool, typer.Option("--best", help="Of runs, serve the best checkpoint, not the latest.")] = False,
) -> None:
    """Add runs and checkpoints to a server that you started on this machine. Its clients notice nothing.

    Example: [bold]ludus serve add tcp://127.0.0.1:5555 runs/gen1-20250101-2[/bold]
    Example: [bold]ludus serve add tcp://127.0.0.1:5555 --watch mine=runs/gen1-20250101-3[/bold]
    """
    from ludus.serving.address import parse
    from ludus.serving.local_commands import LocalCommand, send
    from ludus.serving.policy_sources import sources_of

    where = parse(address, policy=False)._replace(policy="")
    for source in sources_of(map(_located, policies or ()), watched=watch or (), best=best).values():
        path = str(source.path.resolve())
        send(where, LocalCommand("add", source.name, path, watched=source.watched, best=source.best))
        typer.echo(f"{where}/{source.name}")


@app.command("remove")
def remove(
    address: ServerAddress,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of policies, without the address.")],
) -> None:
    """Remove policies that no client uses from a server that you started on this machine.

    Example: [bold]ludus serve remove tcp://127.0.0.1:5555 gen1-20250101-1[/bold]
    """
    from ludus.serving.address import parse
    from ludus.serving.local_commands import LocalCommand, send

    where = parse(address, policy=False)._replace(policy="")
    for name in names:
        rest = send(where, LocalCommand("remove", name))
        typer.echo(f"removed {name}; {where} serves {', '.join(rest) or 'nothing'}")


@app.command("status")
def status(
    address: ServerAddress,
    token_file: TokenFile = None,
    timeout_s: Annotated[float, typer.Option("--timeout", metavar="S", min=0.1, help="Seconds to wait.")] = 5.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Show what a server does: its policies and clients, rows per second, batch sizes, latency and queue.

    Example: [bold]ludus serve status tcp://127.0.0.1:5555[/bold]
    """
    from rich.console import Console

    from ludus.serving.address import parse, read_token
    from ludus.serving.client import Client

    where = parse(address, policy=False)._replace(policy="")
    token = None if token_file is None else read_token(token_file)
    with Client(where, token=token, timeout_s=timeout_s) as client:
        report = client.status()
    if as_json:
        typer.echo(msgspec.json.encode(report).decode())
        return
    console = Console()
    for table in _tables(report):
        console.print(table)


def _tables(report: Report) -> list[RenderableType]:
    from rich.table import Table

    policies = Table(box=None, pad_edge=False)
    for column in ("policy", "version", "in memory", "clients", "rows", "decisions", "reloads", "refused"):
        policies.add_column(column, justify="left" if column in ("policy", "in memory") else "right")
    for each in report.policies:
        counts = (each.clients, each.rows, each.decisions, each.reloads, each.refused_reloads)
        name = each.name if each.greedy else f"{each.name}?sample"
        policies.add_row(name, str(each.version), "yes" if each.loaded else "no", *(f"{count:,}" for count in counts))
    numbers = Table.grid(padding=(0, 2))
    latency = report.latency
    for name, value in (
        ("up", f"{report.uptime_s:,.0f} s on {report.device}, {report.clients} connected"),
        ("rows/s", f"{report.rows_per_s:,.0f} in {report.asks_per_s:,.0f} asks/s"),
        ("latency", f"p50 {latency.p50_ms:.2f} ms, p95 {latency.p95_ms:.2f} ms, p99 {latency.p99_ms:.2f} ms"),
        ("batch", f"mean {report.batch_mean:.1f} rows, median {report.batch_p50:.0f}, largest {report.batch_max:,}"),
        ("queue", f"{report.queue_rows:,} rows"),
        ("so far", f"{report.decisions:,} decisions in {report.forwards:,} forward passes, {report.again:,} again"),
        ("refused", ", ".join(f"{code} {count:,}" for code, count in report.refused.items()) or "nothing"),
    ):
        numbers.add_row(name, value)
    return [policies, "", numbers]
