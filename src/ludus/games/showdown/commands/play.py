"""`ludus play`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

import typer

from ludus.config import places
from ludus.config.overrides import given_options
from ludus.games import command_parts

if TYPE_CHECKING:
    from ludus.api.league_outsiders import OutsiderResults
    from ludus.api.server_recording import Recording
    from ludus.games.named_policies import AgentSource
    from ludus.games.showdown.play.outsiders import StopRequest
    from ludus.games.showdown.play_game import PlayOptions
    from ludus.types import Ending

FAILED = 2
DEFAULT_SERVER = "ws://127.0.0.1:8000"
RULES = (
    "Before an agent plays on a public ladder: read the server's rules on bots, ask its staff unless they allow bots, "
    "say in the account's name or profile that it is a bot, and stay at the machine."
)
# options of the run that `ludus play` uses, too
CARRIED = ("format", "feature_set", "beliefs", "leave_out", "usage", "teams", "node")
Mode = Literal["accept", "challenge", "ladder"]

CheckpointArgument = Annotated[
    str,
    typer.Argument(
        metavar="CHECKPOINT|tcp://...",
        help="A run's folder (its latest checkpoint), one checkpoint, or a policy on a server (`ludus serve`).",
    ),
]
ServerOption = Annotated[
    str, typer.Option(metavar="ws://...", help="Address of the server: a WebSocket URL, or host and port.")
]
PasswordFileOption = Annotated[
    Path | None,
    typer.Option(
        metavar="P", help="File whose first line is the password of a registered account.", show_default=False
    ),
]
LoginServerOption = Annotated[
    str,
    typer.Option(
        metavar="https://...",
        help="The only place the password is sent to. Default: the login server of play.pokemonshowdown.com.",
        show_default=False,
    ),
]
TeamFolderOption = Annotated[
    Path | None,
    typer.Option(metavar="T", help="Folder of teams, for formats without random teams.", show_default=False),
]
SaveReplaysOption = Annotated[
    Path | None, typer.Option(metavar="D", help="Folder for an HTML page of every battle.", show_default=False)
]
RecordOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Dataset that receives the agent's decisions and the logs; a later call continues it.",
        show_default=False,
    ),
]
LeagueOption = Annotated[
    Path | None,
    typer.Option(
        "--league",
        metavar="DIR",
        help="CHECKPOINT is a member of this league; battles count there, and opponents get ratings.",
        show_default=False,
    ),
]
ReadTheRulesOption = Annotated[
    bool, typer.Option("--i-read-the-rules", help="Required for the ladder of a server on another machine.")
]
BrowserOption = Annotated[
    bool,
    typer.Option(
        "--browser", help="Play against the agent yourself: starts a server and a page on this machine, and opens it."
    ),
]
ThinkOption = Annotated[
    float, typer.Option(min=0, help="Milliseconds of search before each decision; 0: none. Singles with random teams.")
]
FormatOption = Annotated[
    str, typer.Option("--format", help="Battle format. Default: the format of training.", show_default=False)
]


def play(
    path: CheckpointArgument,
    server: ServerOption = DEFAULT_SERVER,
    game_format: FormatOption = "",
    name: Annotated[str, typer.Option(help="Name of the account, exactly.")] = "ludus",
    password_file: PasswordFileOption = None,
    login_server: LoginServerOption = "https://play.pokemonshowdown.com/action.php",
    team_folder: TeamFolderOption = None,
    browser: BrowserOption = False,
    accept: Annotated[bool, typer.Option("--accept", help="Accept challenges in this format.")] = False,
    challenge: Annotated[str, typer.Option(metavar="USER", help="Challenge this user.", show_default=False)] = "",
    ladder: Annotated[bool, typer.Option("--ladder", help="Search for opponents on the server's ladder.")] = False,
    matches: Annotated[int, typer.Option(min=0, help="Number of battles; 0: until Ctrl-C.", show_default=True)] = 0,
    concurrency: Annotated[int, typer.Option(min=1, max=256, help="Battles at the same time.")] = 1,
    save_replays: SaveReplaysOption = None,
    record: RecordOption = None,
    league: LeagueOption = None,
    think_ms: ThinkOption = 0.0,
    read_the_rules: ReadTheRulesOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    sets: command_parts.Sets = None,
) -> None:
    """Play on a Showdown server against people and other programs.

    After Ctrl-C no battle begins and running ones are finished; a second Ctrl-C forfeits them.

    Example: [bold]ludus play gen1-best --browser[/bold]
    Example: [bold]ludus play runs/gen1-20250101-1 --accept --name mybot[/bold]
    Example: [bold]ludus play runs/gen1-20250101-1 --challenge ash --matches 10 --concurrency 4 --save-replays D[/bold]
    Example: [bold]ludus play gen1-20250101-1@u00000120 --league leagues/gen1 --accept[/bold]
    """
    if save_replays is not None:
        places.check_folder(save_replays, "--save-replays")
    if record is not None:
        places.check_folder(record, "--record")
    from ludus.games import named_policies
    from ludus.games.showdown.play_game import address

    mode = _mode(accept or browser, challenge, ladder)
    agent = (named_policies.agent_source(path) if league is None else _member(league, path)).with_search(think_ms)
    arguments: dict[str, object] = {
        "server": address(server),
        "name": name,
        "mode": mode,
        "opponent": challenge,
        "password_file": None if password_file is None else str(password_file.absolute()),
        "login_server": login_server,
    }
    local = given_options(sets or ())
    run_options = _accepted(agent.name, agent.options, local, game_format, team_folder)
    with ExitStack() as stack:
        if browser:
            arguments["server"] = stack.enter_context(_server_here(server, run_options))
        options = _options(run_options, game_format, team_folder, arguments)
        if browser:
            stack.enter_context(_page(options))
        results = None if league is None else _results(league, path, options)
        _play(agent, options, matches or None, concurrency, save_replays, record, results, read_the_rules, as_json)


def _server_here(server: str, run_options: Mapping[str, Any]) -> AbstractContextManager[str]:  # Any: checked later
    """Start a server for --browser. Raises ConfigError if the user has named one."""
    from rich.console import Console

    from ludus.errors import ConfigError
    from ludus.games.showdown.commands.browser import local_server

    if server != DEFAULT_SERVER:
        raise ConfigError("--browser starts a server of its own; leave --server out, or see: ludus servers page --help")
    return local_server(Console(stderr=True), str(run_options.get("node", "wheel")))


def _page(options: PlayOptions) -> AbstractContextManager[str]:
    from rich.console import Console

    from ludus.games.showdown.commands.browser import page

    return page(Console(stderr=True), options.server, options.name, options.format)


def _member(league: Path, name: str) -> AgentSource:
    from ludus.api import league_outsiders

    return league_outsiders.member_source(league, name)


def _results(league: Path, member: str, options: PlayOptions) -> AbstractContextManager[OutsiderResults]:
    from ludus.api import league_outsiders

    league_outsiders.refuse_other_format(league, options.format)
    return league_outsiders.outsider_results(league, member, options.server)


def _play(
    agent: AgentSource,
    options: PlayOptions,
    matches: int | None,
    concurrency: int,
    save_replays: Path | None,
    record: Path | None,
    results: AbstractContextManager[OutsiderResults] | None,
    read_the_rules: bool,
    as_json: bool,
) -> None:
    from rich.console import Console

    from ludus.games import registry
    from ludus.games.showdown.commands.play_view import PlayView
    from ludus.games.showdown.play import outsiders
    from ludus.processes import log_folder

    console = Console(stderr=as_json)
    _remind(options, read_the_rules, console.print)
    game = registry.load("showdown")
    command_parts.install(game, {"node": options.node}, console)
    stop = outsiders.StopRequest()
    view = PlayView(console, options, matches)
    with ExitStack() as stack:
        recorded = None if record is None else stack.enter_context(_recording(record, options, agent))
        counted = None if results is None else stack.enter_context(results)
        folder = stack.enter_context(log_folder.temporary_log_folder("ludus-play-"))
        stack.enter_context(_signals(stop, view.interrupt))
        stack.enter_context(view)
        result = outsiders.play(
            lambda spec: agent.load(spec, game, rows=concurrency),
            options,
            log_dir=folder,
            matches=matches,
            concurrency=concurrency,
            seed=0 if recorded is None else recorded.first_number,
            stop=stop,
            save_replays=save_replays,
            record=None if recorded is None else recorded.recorder,
            ended=lambda ending: None if counted is None else _count(counted, options, ending),
            show=view.show,
            tell=view.tell,
        )
    if as_json:
        typer.echo(view.json(result))
    else:
        view.summary(result, save_replays)
        if record is not None:
            console.print(f"Recorded in {record}: ludus data info {record}", highlight=False, soft_wrap=True)
        if counted is not None:
            console.print(f"{counted.matches:,} battles are in the league", highlight=False)
    if result.stopped not in ("", "interrupted"):
        typer.echo(f"ludus: {result.stopped}", err=True)
        sys.exit(FAILED)


def _recording(folder: Path, options: PlayOptions, agent: AgentSource) -> AbstractContextManager[Recording]:
    """Open the dataset for the battles. It keeps the options that decide what is seen, and none of this machine's."""
    from ludus.api.server_recording import recording
    from ludus.games import registry, trust

    game = registry.load("showdown")
    saved = game.saved_options(options)
    played_options = {name: saved[name] for name in game.options.__struct_fields__ if name in saved}
    trust.remember(game, played_options)
    return recording(folder, game.name, played_options, agent)


def _count(results: OutsiderResults, options: PlayOptions, ending: Ending) -> None:
    """Add a battle to a league."""
    from ludus.games.showdown.play import outsiders
    from ludus.games.showdown.play_game import is_local

    own = outsiders.user_id(options.name)
    outsider = outsiders.lasting_id(outsiders.opponent_of(ending.log, own))
    if outsider and not is_local(options.server):  # the same name on another server may be somebody else
        outsider += f"@{urlsplit(options.server).hostname}"
    score, first = float(ending.score[outsiders.OWN]), outsiders.is_first(ending.log, own)
    results.add(outsider, score, first=first, truncated=ending.truncated)


def _mode(accept: bool, challenge: str, ladder: bool) -> Mode:
    from ludus.errors import ConfigError

    if accept + bool(challenge) + ladder != 1:
        raise ConfigError("choose how to find opponents: one of --accept, --challenge USER and --ladder")
    return "accept" if accept else "ladder" if ladder else "challenge"


def _accepted(
    agent: str,
    run_options: Mapping[str, Any],  # Any: options of the game that the agent was trained in
    local: dict[str, Any],
    game_format: str,
    team_folder: Path | None,
) -> dict[str, Any]:
    """Return the run's options on observations, actions and Node, overridden by this machine's (`local`). Raises
    UntrustedError for an option that only this machine may set."""
    from ludus.games import registry, trust

    carried = {key: run_options[key] for key in CARRIED if key in run_options}
    if team_folder is not None or (game_format and game_format != carried.get("format")):
        carried.pop("teams", None)  # the command line names the teams, or the format needs none
    return trust.accept(registry.load("showdown"), carried, agent, local)


def _options(
    run_options: dict[str, Any],  # Any: options of the game that the agent was trained in
    game_format: str,
    team_folder: Path | None,
    arguments: dict[str, object],
) -> PlayOptions:
    """Return the run's options on observations and actions, combined with the arguments of the command."""
    from ludus.config.validation import check
    from ludus.games.showdown.play_game import PlayOptions

    carried = {key: run_options[key] for key in CARRIED if key in run_options}
    if game_format and game_format != carried.get("format"):
        arguments = arguments | {"format": game_format, "teams": None}
    if team_folder is not None:
        arguments = arguments | {"teams": str(team_folder)}
    return check(carried | arguments, PlayOptions, "ludus play")


def _remind(options: PlayOptions, read_the_rules: bool, say: Any) -> None:  # Any: rich's print
    """Print the rules on bots before playing on the ladder of a server on another machine. Raises ConfigError if the
    user has not confirmed them."""
    from ludus.errors import ConfigError
    from ludus.games.showdown.play_game import is_local

    if options.mode != "ladder" or is_local(options.server):
        return
    if not read_the_rules:
        raise ConfigError(f"--ladder on {options.server}: {RULES} Then confirm with --i-read-the-rules")
    say(RULES, style="yellow", highlight=False, soft_wrap=True)


@contextmanager
def _signals(stop: StopRequest, on_signal: Any) -> Iterator[None]:  # Any: a function of the number of signals so far
    def handle(number: int, frame: object) -> None:
        stop()
        on_signal(stop.requests)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
