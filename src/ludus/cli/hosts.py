"""`ludus hosts`: checks whether a program follows the host protocol, and lists the files for writing one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ludus.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from ludus.hostcheck.check import RuleResult

FAILED = 1  # exit code when a rule is broken
MARGIN = 11

app = typer.Typer(
    help="Check your own hosts, and list the files for writing one.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
)


@app.callback()
def hosts() -> None:
    """Check your own hosts, and list the files for writing one."""


@app.command("check", context_settings={"allow_interspersed_args": False})
def check(
    command: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND...", help="The host and its arguments, after --.", show_default=False),
    ],
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="NAME=VALUE",
            help="An option of the game; may be given several times.",
            show_default=False,
        ),
    ] = None,
    matches: Annotated[int, typer.Option(min=1, max=65536, metavar="N", help="Concurrent matches.")] = 4,
    decisions: Annotated[int, typer.Option(min=1, metavar="N", help="Decisions to play per rule.")] = 400,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="The same seed plays the same matches.")] = 1,
    deadline_s: Annotated[float, typer.Option(min=0.01, metavar="S", help="Seconds to wait for each reply.")] = 30.0,
) -> None:
    """Check whether a program follows the host protocol. Prints the result of each rule and how to fix a failure.

    Every rule is tested in a new process. The exit code is 1 if a rule is broken.

    Example: [bold]ludus hosts check --option rows=6 -- node my_host.js[/bold]
    """
    from rich.console import Console

    from ludus.hostcheck.check import NO_HELLO, Mark, results
    from ludus.processes.command import HostCommand

    console = Console()
    marks = []
    with console.status("playing") if console.is_terminal else nullcontext():
        for result in results(
            HostCommand(tuple(command)), _options(options or ()), matches, decisions, seed, deadline_s
        ):
            marks.append(result.mark)
            if result.detail != NO_HELLO:
                _say(console, result)
    if marks.count(Mark.UNTRIED) == len(marks) - 1:
        console.print(f"{'not tried':<{MARGIN}}the other rules: {NO_HELLO}", style="yellow", highlight=False)
    console.print()
    failed = marks.count(Mark.FAILED)
    if failed:
        words = f"{failed} of {len(marks)} rules {'is' if failed == 1 else 'are'} broken."
        console.print(words, style="bold red", highlight=False)
        raise typer.Exit(FAILED)
    console.print(f"All {len(marks)} rules are kept.", style="bold green", highlight=False)


@app.command("files")
def files() -> None:
    """Print the paths of the JavaScript and Java files for writing a host.

    Example: [bold]cp $(ludus hosts files | grep java$) .[/bold]
    """
    import ludus.sdk

    folder = Path(str(ludus.sdk.__file__)).parent
    for path in (folder / "javascript", *sorted((folder / "java").glob("*.java"))):
        typer.echo(path)


def _options(assignments: Sequence[str]) -> dict[str, Any]:  # Any: values are read as YAML
    from ludus.config import document

    options = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"--option {text}: must look like name=value, as in --option rows=6")
        options[name.strip()] = document.parse(value, f"--option {text}")
    return options


def _say(console: Console, result: RuleResult) -> None:
    from rich.text import Text

    from ludus.hostcheck.check import Mark

    style = {Mark.OK: "green", Mark.FAILED: "bold red", Mark.UNTRIED: "yellow"}[result.mark]
    failed, advice = result.mark is Mark.FAILED, result.advice
    line = Text.assemble((f"{result.mark.value:<{MARGIN}}", style), result.rule)
    if result.detail and not failed:
        line.append(f"  {result.detail}", "dim")
    console.print(line, highlight=False, soft_wrap=True)
    below = {"seen": result.detail} if failed else {}
    if failed and advice is not None:
        below |= {"rule": f"docs/host-protocol.md, {advice.place}", "to do": advice.words}
    for name, words in below.items():
        console.print(Text.assemble((f"{name:>{MARGIN - 2}}  ", "dim"), words), highlight=False, soft_wrap=True)
