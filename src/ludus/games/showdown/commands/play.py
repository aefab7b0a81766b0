"""`ludus play`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ludus.config import places
from ludus.config.overrides import given_options
from ludus.games import command_parts

if TYPE_CHECKING:
    from ludus.games.showdown.play.outsiders import StopRequest
    from ludus.games.showdown.play_game import PlayOptions

FAILED = 2
RULES = (
    "Before an agent plays on a public ladder: read the server's rules on bots, ask its staff where they do not allow "
    "them by themselves, say in the name or the profile that it is one, and stay at the machine."
)
CARRIED = ("format", "feature_set", "teams", "node")  # from the run's options to those of playing
Mode = Literal["accept", "challenge", "ladder"]


def play(
    path: Annotated[
        Path,
        typer.Argument(metavar="CHECKPOINT", help="A run's folder (its latest checkpoint), or one checkpoint."),
    ],
    server: Annotated[
        str, typer.Option(metavar="ws://...", help="The server, by its WebSocket or by host and port.")
    ] = "ws://127.0.0.1:8000",
    game_format: Annotated[
        str, typer.Option("--format", help="Default: the one it was trained in.", show_default=False)
    ] = "",
    name: Annotated[str, typer.Option(help="Of the account, exactly.")] = "ludus",
    password_file: Annotated[
        Path | None,
        typer.Option(
            metavar="P", help="Its first line is the account's password; for registered names.", show_default=False
        ),
    ] = None,
    login_server: Annotated[
        str,
        typer.Option(
            metavar="https://...",
            help="Where the password goes, and nowhere else. Default: that of play.pokemonshowdown.com.",
            show_default=False,
        ),
    ] = "https://play.pokemonshowdown.com/action.php",
    team_folder: Annotated[
        Path | None,
        typer.Option(metavar="T", help="Teams, for formats that do not make their own.", show_default=False),
    ] = None,
    accept: Annotated[bool, typer.Option("--accept", help="Accept challenges in that format.")] = False,
    challenge: Annotated[str, typer.Option(metavar="USER", help="Challenge that user.", show_default=False)] = "",
    ladder: Annotated[bool, typer.Option("--ladder", help="Search for opponents on the server's ladder.")] = False,
    matches: Annotated[int, typer.Option(min=0, help="Battles to play; 0: until Ctrl-C.", show_default=True)] = 0,
    concurrency: Annotated[int, typer.Option(min=1, max=256, help="Battles at once.")] = 1,
    save_replays: Annotated[
        Path | None, typer.Option(metavar="D", help="Write every battle there as a page.", show_default=False)
    ] = None,
    read_the_rules: Annotated[
        bool, typer.Option("--i-read-the-rules", help="Needed for the ladder of a server that is not on this machine.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    sets: command_parts.Sets = None,
) -> None:
    """Play on a Showdown server, over WebSockets, against people and other programs.

    Ctrl-C begins no more battles and finishes those that run; a second Ctrl-C forfeits them.

    Example: [bold]ludus play runs/gen1-20250101-1 --accept --name mybot[/bold]
    Example: [bold]ludus play runs/gen1-20250101-1 --challenge ash --matches 10 --concurrency 4 --save-replays D[/bold]
    """
    if save_replays is not None:
        places.check_folder(save_replays, "--save-replays")
    from ludus.games.showdown.play_game import address
    from ludus.policies.checkpoints import checkpoint

    mode = _mode(accept, challenge, ladder)
    checkpoint_path = checkpoint.find(path)
    settings: dict[str, object] = {
        "server": address(server),
        "name": name,
        "mode": mode,
        "opponent": challenge,
        "password_file": None if password_file is None else str(password_file.absolute()),
        "login_server": login_server,
    }
    trained = _accepted(
        checkpoint_path,
        checkpoint.read_state(checkpoint_path).options,
        given_options(sets or ()),
        game_format,
        team_folder,
    )
    options = _options(trained, game_format, team_folder, settings)
    _play(checkpoint_path, options, matches or None, concurrency, save_replays, read_the_rules, as_json)


def _play(
    checkpoint_path: Path,
    options: PlayOptions,
    matches: int | None,
    concurrency: int,
    save_replays: Path | None,
    read_the_rules: bool,
    as_json: bool,
) -> None:
    from rich.console import Console

    from ludus.games import registry
    from ludus.games.showdown.commands.play_view import View
    from ludus.games.showdown.play import outsiders
    from ludus.policies.checkpoints import checkpoint
    from ludus.processes import log_folder

    console = Console(stderr=as_json)
    _remind(options, read_the_rules, console.print)
    game = registry.load("showdown")
    command_parts.install(game, {"node": options.node}, console)
    stop = outsiders.StopRequest()
    view = View(console, options, matches)
    with log_folder.temporary_log_folder("ludus-play-") as folder, _signals(stop, view.interrupt), view:
        result = outsiders.play(
            lambda spec: checkpoint.load_agent(checkpoint_path, spec, game_nets=registry.nets_of(game)),
            options,
            log_dir=folder,
            matches=matches,
            concurrency=concurrency,
            stop=stop,
            save_replays=save_replays,
            show=view.show,
            tell=view.tell,
        )
    if as_json:
        typer.echo(view.json(result))
    else:
        view.summary(result, save_replays)
    if result.stopped not in ("", "interrupted"):
        typer.echo(f"ludus: {result.stopped}", err=True)
        sys.exit(FAILED)


def _mode(accept: bool, challenge: str, ladder: bool) -> Mode:
    from ludus.errors import ConfigError

    if accept + bool(challenge) + ladder != 1:
        raise ConfigError("say how to find opponents: one of --accept, --challenge USER and --ladder")
    return "accept" if accept else "ladder" if ladder else "challenge"


def _accepted(
    checkpoint_path: Path,
    trained: dict[str, Any],  # Any: options of the game it was trained in
    local: dict[str, Any],
    game_format: str,
    team_folder: Path | None,
) -> dict[str, Any]:
    """Options of the checkpoint about what an agent sees and does, and which Node runs it, with this machine's over
    them. Raises UntrustedError for one that only this machine may set."""
    from ludus.games import registry, trust

    options = {key: trained[key] for key in CARRIED if key in trained}
    if team_folder is not None or (game_format and game_format != options.get("format")):
        options.pop("teams", None)  # the command line says which teams, or that there are none
    return trust.accept(registry.load("showdown"), options, str(checkpoint_path), local)


def _options(
    trained: dict[str, Any],  # Any: options of the game it was trained in
    game_format: str,
    team_folder: Path | None,
    settings: dict[str, object],
) -> PlayOptions:
    """Those of the checkpoint where it is about what an agent sees and does, with what was asked for."""
    from ludus.config.check import check
    from ludus.games.showdown.play_game import PlayOptions

    options = {key: trained[key] for key in CARRIED if key in trained}
    if game_format and game_format != options.get("format"):
        settings = settings | {"format": game_format, "teams": None}
    if team_folder is not None:
        settings = settings | {"teams": str(team_folder)}
    return check(options | settings, PlayOptions, "ludus play")


def _remind(options: PlayOptions, read_the_rules: bool, say: Any) -> None:  # Any: rich's print
    from ludus.errors import ConfigError
    from ludus.games.showdown.play_game import is_local

    if options.mode != "ladder" or is_local(options.server):
        return
    if not read_the_rules:
        raise ConfigError(f"--ladder on {options.server}: {RULES} Then say so with --i-read-the-rules")
    say(RULES, style="yellow", highlight=False, soft_wrap=True)


@contextmanager
def _signals(stop: StopRequest, on_signal: Any) -> Iterator[None]:  # Any: a function of nothing
    def handle(number: int, frame: object) -> None:
        stop()
        on_signal(stop.asked)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
