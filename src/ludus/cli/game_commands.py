"""The commands that installed games bring, beside those of ludus."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from ludus.errors import ConfigError
from ludus.games import hooks, registry
from ludus.games.registry import Game


class GameCommands(TyperGroup):
    """A group that adds the commands of games when help is shown or a name is none of ludus's own, so that other
    commands start without loading all games. A command of ludus cannot be replaced by a game's."""

    _loaded = False

    def list_commands(self, ctx: Any) -> list[str]:  # Any: click's context, whose module depends on typer's version
        self._load()
        return super().list_commands(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # Any: as above, and click's own return type
        if args and args[0] not in self.commands:
            self._load()
        return super().resolve_command(ctx, args)

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        for name in registry.names_by_precedence():
            try:
                commands = _commands_of(registry.load(name))
            except ConfigError as error:  # one broken game must not take the other commands away
                typer.echo(f"ludus: the commands of {name} are left out: {error}", err=True)
                continue
            for command, group_or_command in commands.items():
                self.commands.setdefault(command, group_or_command)


def _commands_of(game: Game) -> dict[str, Any]:  # Any: click's commands, whose module depends on typer's version
    """Build the commands of a game. Raises ConfigError if one is neither a function nor a typer.Typer."""
    if not game.commands:
        return {}
    app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    app.callback()(lambda: None)  # makes it a group, also with one command
    panel = f"Commands of {game.name}"
    for name in game.commands:
        command = hooks.command_of(game, name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=panel)
        elif callable(command):
            app.command(name, rich_help_panel=panel)(command)
        else:
            raise ConfigError(f"its command {name!r} is {type(command).__name__}, expected a function or a typer.Typer")
    return dict(typer.main.get_group(app).commands)
