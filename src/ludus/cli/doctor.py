"""`ludus doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

MISSING = 1  # exit code


def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Install the simulator where it is missing.")] = False,
) -> None:
    """Look whether this machine can train: each line is ok, or says what to do.

    Example: [bold]ludus doctor --fix[/bold]
    """
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    from ludus.diagnostics.doctor import Finding, examine
    from ludus.errors import SetupError
    from ludus.games import command_parts, registry

    console = Console()
    if fix:
        game = registry.load("showdown")
        try:
            command_parts.install(game, game.options(), console)
        except SetupError as error:  # the lines below say the same, among everything else
            console.print(f"could not install: {error}", style="red", highlight=False, soft_wrap=True)
    findings = examine()
    table = Table.grid("state", "name", Column("words", overflow="fold"), padding=(0, 2))  # fold: paths stay whole
    styles = {"ok": "green", "note": "yellow", "missing": "bold red"}

    def words(finding: Finding) -> Text:
        remedy = (f"\n{finding.remedy}", "" if finding.state == "missing" else "dim") if finding.remedy else ("", "")
        return Text.assemble(finding.seen, remedy)

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
