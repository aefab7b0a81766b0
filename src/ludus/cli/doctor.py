"""`ludus doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

MISSING = 1  # exit code


def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Install missing simulators.")] = False,
) -> None:
    """Check whether this machine can train, with the checks of all installed games. Each line is ok or says what to do.

    Example: [bold]ludus doctor --fix[/bold]
    """
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    from ludus.diagnostics.doctor import examine
    from ludus.games.checks import Finding

    console = Console()
    if fix:
        _install(console)
    findings = examine()
    table = Table.grid("state", "name", Column("words", overflow="fold"), padding=(0, 2))  # fold: paths stay whole
    styles = {"ok": "green", "note": "yellow", "missing": "bold red"}

    def words(finding: Finding) -> Text:
        remedy = (f"\n{finding.remedy}", "" if finding.state == "missing" else "dim") if finding.remedy else ("", "")
        return Text.assemble(finding.detail, remedy)

    for finding in findings:
        table.add_row(
            Text(finding.state, style=styles[finding.state]), Text(finding.name, style="bold"), words(finding)
        )
    console.print(table)
    missing = [finding.name for finding in findings if finding.state == "missing"]
    if missing:
        console.print(f"\nNot ready: {', '.join(missing)}.", highlight=False)
        raise typer.Exit(MISSING)
    console.print("\nReady. Train with: ludus train", highlight=False)


def _install(console: Console) -> None:
    """Install what the games with checks of their own need for their default options."""
    from ludus.errors import ConfigError, SetupError
    from ludus.games import command_parts, registry

    for name in registry.names():
        try:
            game = registry.load(name)
            if game.checks:
                command_parts.install(game, game.options(), console)
        except (ConfigError, SetupError) as error:  # the table below has the other findings
            console.print(f"could not install: {error}", style="red", highlight=False, soft_wrap=True)
