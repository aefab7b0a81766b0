"""`ludus games`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ludus.games.registry import Game


def games(
    name: Annotated[str | None, typer.Argument(metavar="GAME", help="Show this game only.", show_default=False)] = None,
) -> None:
    """List the games: formats, options with their defaults, opponents and presets.

    Example: [bold]ludus games showdown[/bold]
    """
    from rich.console import Console

    from ludus.games import registry

    console = Console()
    for each in [name] if name else registry.names():
        console.print(_page(registry.load(each)))
        console.print()


def _page(game: Game) -> RenderableType:
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from ludus.config import load

    presets, options = Table.grid(padding=(0, 2)), Table.grid(padding=(0, 2))
    for table in (presets, options):
        table.add_column(style="cyan", no_wrap=True)
    options.add_column(overflow="fold")
    for path in load.preset_files(game.presets):
        presets.add_row(path.stem, Text(_first_comment(path)))
    for option, default, allowed in _options(game):
        options.add_row(f"options.{option}", Text(default), Text(allowed, style="dim"))
    formats = () if game.formats is None else game.formats()
    parts: list[tuple[str, RenderableType]] = [
        *([("presets", presets)] if presets.row_count else []),
        *([("opponents", Text(", ".join(game.players)))] if game.players else []),
        ("options, defaults and allowed values", options),
        *([("formats", Text(", ".join(formats)))] if formats else []),
    ]
    lines: list[RenderableType] = [Text.assemble((game.name, "bold cyan"), f"  {game.summary}")]
    for title, part in parts:
        lines += [Padding(Text(title, style="bold"), (0, 0, 0, 2)), Padding(part, (0, 0, 0, 4))]
    return Group(*lines)


def _options(game: Game) -> list[tuple[str, str, str]]:
    """Return the name, the default and the allowed values of each option."""
    import msgspec
    from msgspec import inspect

    from ludus.config.document import render
    from ludus.config.validation import describe

    info = inspect.type_info(game.options)
    assert isinstance(info, inspect.StructType)
    defaults = msgspec.to_builtins(game.options())
    rendered = {
        name: f"[{', '.join(map(str, value))}]"
        if isinstance(value, list | tuple)
        else render({"value": value}).removeprefix("value:").strip()
        for name, value in defaults.items()
    }
    return [(field.encode_name, rendered[field.encode_name], describe(field.type)) for field in info.fields]


def _first_comment(path: Path) -> str:
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    return first.lstrip("# ") if first.startswith("#") else ""
