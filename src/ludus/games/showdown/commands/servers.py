"""`ludus servers up`, `status`, `down` and `page`."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from ludus.games.showdown.servers.fleet import ServerView
    from ludus.games.showdown.servers.keeper import KeeperConfig

NONE_UP = 1  # exit code of status
POLL_S = 0.1
DOWN_S = 20.0  # a keeper stops its servers within five seconds
MIB = Annotated[int, typer.Option(min=600, help="MiB of memory from which a server is replaced, between battles.")]

app = typer.Typer(
    help="Run Pokemon Showdown servers on this machine for agents, bots and people.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@app.command("up")
def up(
    game: Annotated[str, typer.Argument(metavar="GAME", help="Game whose servers are started.")] = "showdown",
    count: Annotated[int, typer.Option(help="Number of servers.")] = 1,
    base_port: Annotated[
        int | None,
        typer.Option(help="First of consecutive ports. Default: free ports from 8000.", show_default=False),
    ] = None,
    memory: MIB = 1024,
    stock_engine: Annotated[
        bool, typer.Option("--stock-engine", help="Run Showdown without ludus's speed-up.")
    ] = False,
    foreground: Annotated[bool, typer.Option("--foreground", help="Run in the foreground until Ctrl-C.")] = False,
) -> None:
    """Start servers on the loopback interface. They run in the background until `ludus servers down`.

    Example: [bold]ludus servers up showdown --count 4 --base-port 8000[/bold]
    """
    from rich.console import Console

    from ludus.errors import ConfigError
    from ludus.games import command_parts, registry
    from ludus.games.showdown.servers import keeper, ports, state

    console = Console()
    served_game = registry.load(game)
    if served_game.name != "showdown":
        raise ConfigError(f"{served_game.name} has no servers; showdown has")
    if state.is_kept():
        raise keeper.already(state.read())
    ports.choose(count, base_port)  # refuses wrong ports before anything is installed
    command_parts.install(served_game, served_game.options(), console)
    plan = keeper.KeeperConfig(count, base_port, memory, stock_engine)
    if foreground:
        _keep_here(plan, console)
    else:
        _say_up(console, _keep_in_background(plan, console))


@app.command("status")
def status(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Show the running servers. The exit code is 1 if there are none.

    Example: [bold]ludus servers status[/bold]
    """
    from rich.console import Console

    from ludus.games.showdown.servers import state

    console = Console()
    is_up, keeper = state.is_kept(), state.read()
    if as_json:
        servers = keeper.servers if is_up and keeper is not None else ()
        typer.echo(msgspec.json.encode({"up": is_up, "servers": servers}).decode())
    elif is_up and keeper is not None:
        console.print(_table(keeper.servers, time.time()))
        for server in keeper.servers:
            if server.last_failure:
                failure = f"{server.address}: last failure: it {server.last_failure}"
                console.print(failure, highlight=False, soft_wrap=True)
        console.print(f"Keeper: pid {keeper.pid}, log {state.folder() / 'keeper.log'}", highlight=False, soft_wrap=True)
    else:
        console.print(_why_none(), highlight=False, soft_wrap=True)
    if not is_up:
        raise typer.Exit(NONE_UP)


@app.command("down")
def down() -> None:
    """Stop all servers that `ludus servers up` started.

    Example: [bold]ludus servers down[/bold]
    """
    import psutil
    from rich.console import Console

    from ludus.games.showdown.servers import state

    console = Console()
    keeper = state.read()
    if not state.is_kept() or keeper is None or not keeper.alive:
        console.print(_why_none(), highlight=False, soft_wrap=True)
        state.remove()
        return
    process = psutil.Process(keeper.pid)
    process.terminate()
    if not _ends_within(DOWN_S):
        process.kill()  # its servers die with it
        _ends_within(DOWN_S)
        state.remove()
    console.print(f"Stopped: {', '.join(view.address for view in keeper.servers)}.", highlight=False, soft_wrap=True)


@app.command("page")
def page(
    server: Annotated[
        str, typer.Option(help="Address of the server. Default: the first of `ludus servers up`.", show_default=False)
    ] = "",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0: a free port.")] = 8100,
) -> None:
    """Serve a page for playing on a server in a browser, on the loopback interface and until Ctrl-C.

    Example: [bold]ludus servers page[/bold]
    """
    from rich.console import Console

    from ludus.games.showdown.play_game import address
    from ludus.games.showdown.servers import client, state

    keeper = state.read() if state.is_kept() else None
    if not server and keeper is not None and keeper.servers:
        server = keeper.servers[0].address
    with client.serve(address(server or "127.0.0.1:8000"), port) as serving:
        url = f"http://127.0.0.1:{serving.server_address[1]}/"
        Console().print(f"Open {url} in a browser; Ctrl-C ends it.", highlight=False, soft_wrap=True)
        with suppress(KeyboardInterrupt):
            serving.serve_forever()


def _ends_within(timeout_s: float) -> bool:
    """Wait for the keeper to end. Returns False if it still runs after `timeout_s`."""
    from ludus.games.showdown.servers import state

    until = time.monotonic() + timeout_s
    while state.is_kept():
        if time.monotonic() > until:
            return False
        time.sleep(POLL_S)
    return True


def _why_none() -> str:
    """Explain why no servers are shown."""
    from ludus.games.showdown.servers import state

    if state.is_kept():
        return "Servers are starting; try again in a moment."
    if (keeper := state.read()) is not None:
        death = f"The keeper (pid {keeper.pid}) died, and its servers with it"
        return f"{death}; its log is {state.folder() / 'keeper.log'}."
    return "No servers are up. Start some with: ludus servers up showdown --count 2"


def _keep_here(plan: KeeperConfig, console: Console) -> None:
    from ludus.games.showdown.servers import keeper

    is_shown = False

    def watch(views: Sequence[ServerView]) -> None:
        nonlocal is_shown
        if not is_shown and all(view.state == "ready" for view in views):
            is_shown = True
            _say_up(console, views)
            console.print("Ctrl-C stops them.", highlight=False)

    keeper.keep(plan, watch)
    console.print("\nstopped.", highlight=False)


def _keep_in_background(plan: KeeperConfig, console: Console) -> Sequence[ServerView]:
    """Start a keeper in a session of its own and wait until all its servers are ready."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from ludus.errors import FleetError
    from ludus.games.showdown.servers import keeper, state

    command = [sys.executable, "-m", keeper.__name__, msgspec.json.encode(plan).decode()]
    state.folder().mkdir(parents=True, exist_ok=True)
    with (state.folder() / "keeper.err").open("wb") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
    assert process.stdout is not None
    columns = (TextColumn("starting servers"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
            task = bar.add_task("", total=plan.count)
            while process.poll() is None:
                current = state.read()
                views = current.servers if current is not None and current.pid == process.pid else ()
                ready = sum(view.state == "ready" for view in views)
                bar.update(task, completed=ready)
                if ready == plan.count:
                    return views
                time.sleep(POLL_S)
        reason = process.stdout.read().strip()
        raise FleetError(reason or f"the keeper of the servers died; see {errors.name}")
    except BaseException:
        if process.poll() is None:
            process.terminate()
            process.wait(DOWN_S)
        raise


def _say_up(console: Console, views: Sequence[ServerView]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("address", "pid", "log"):
        table.add_column(name, no_wrap=True, justify="right" if name == "pid" else "left")
    for view in views:
        table.add_row(view.address, str(view.pid), Path(view.log).name)
    console.print(table)
    console.print(f"Logs are in {Path(views[0].log).parent}", highlight=False, soft_wrap=True)
    console.print("Next: ludus servers status, ludus servers down", highlight=False)


def _table(views: Sequence[ServerView], now: float) -> Table:
    from rich.table import Table

    from ludus.metrics.exporters import text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("address", "state"):
        table.add_column(name, no_wrap=True)
    for name in ("pid", "up for", "restarts", "recycled", "memory", "battles"):
        table.add_column(name, no_wrap=True, justify="right")
    for view in views:
        table.add_row(
            view.address.split("/")[2],  # the rest is the same for all servers
            view.state,
            "-" if view.pid is None else str(view.pid),
            "-" if view.since is None else text.duration(now - view.since),
            str(view.restarts),
            str(view.recycled),
            f"{view.memory_mib:.0f} MiB" if view.memory_mib else "-",
            "-" if view.battles is None else str(view.battles),
        )
    return table
