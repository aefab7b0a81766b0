"""Leagues from Python: make one, add members, play, and compute the table."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import msgspec

from ludus import files
from ludus.api import league_servers, settings_source
from ludus.api.evaluating import find
from ludus.config.settings import FleetConfig, ServersConfig
from ludus.config.validation import check
from ludus.errors import ConfigError, LeagueError, LudusError
from ludus.evaluation import best_matches, league_page, league_pictures, replay
from ludus.evaluation.best_matches import BestMatches
from ludus.evaluation.tournament import Arenas, Load, Tournament, TournamentStoppedError, TournamentTotals
from ludus.fleet.fleet import HostFleet
from ludus.games import registry, trust
from ludus.games.registry import Game
from ludus.league import pairings, results
from ludus.league.members import (
    CHECKPOINT,
    SCRIPTED,
    SCRIPTED_PREFIX,
    SERVER,
    League,
    Member,
)
from ludus.league.pairings import Encounter
from ludus.league.results import ResultsWriter
from ludus.league.standings import Standings, standings
from ludus.policies.checkpoints import checkpoint
from ludus.policies.checkpoints.checkpoint import CHECKPOINTS, SavedCheckpoint, names_in
from ludus.processes import log_folder
from ludus.processes.cores import cores
from ludus.serving.address import is_address, parse
from ludus.spec import GameSpec
from ludus.types import Policy

System = Literal["round-robin", "gauntlet", "swiss"]
SYSTEMS: tuple[System, ...] = ("round-robin", "gauntlet", "swiss")
MATCH_S = 10.0  # that a match may take in the mean, before a round is given up
LEAST_ROUND_S = 3600.0
STANDINGS_MD, STANDINGS_CSV, PAYOFF_PNG, TRAINING_PNG = "standings.md", "standings.csv", "payoff.png", "training.png"
PAGE = "league.html"


def new(folder: str | Path, game: str, sets: Sequence[str] = (), *, scripted: bool = True) -> League:
    """Make a league for a game. It starts a host to learn the game's spec.

    Args:
        folder: Folder of the league.
        game: Name of the game. A colon may add its main option, as in "showdown:gen9randombattle".
        sets: Options of the game, as texts such as "options.format=gen1randombattle".
        scripted: Add all scripted policies of the game. The ratings of leagues with the same scripted policies can be
            compared, because the rating of the last one is fixed.

    Raises:
        LeagueError: The folder is a league already, or the game has one team.
        ConfigError: The game or an option is wrong.
    """
    run = settings_source.resolved(settings_source.of_game(game), sets)
    return new_for(Path(folder), run.game, run.options, scripted=scripted)


def new_for(folder: Path, game: Game, options: msgspec.Struct, *, scripted: bool = True) -> League:
    """Make a league for a game with these options. The errors are those of `new`."""
    trust.remember(game, msgspec.to_builtins(options))
    if (folder / "league.json").exists():
        raise LeagueError(f"{folder} is a league already; add members with: ludus league add {folder} RUN")
    league = League.create(folder, game, options, spec_of(game, options))
    for name in game.scripted if scripted else ():
        league.add_scripted(game, name)
    return league


def spec_of(game: Game, options: msgspec.Struct) -> GameSpec:
    """Start one host of the game and return the spec that it sends."""
    with _served(game, options) as (served, folder):
        command = game.command(served)
        with HostFleet(
            command,
            FleetConfig(),
            options=msgspec.to_builtins(served),
            seed=1,
            log_dir=folder,
            hosts=1,
            matches=1,
            schedule=[(0, 1)],
        ) as fleet:
            return fleet.spec


def add(
    folder: str | Path,
    what: str | Path,
    *,
    name: str = "",
    parents: Sequence[str] = (),
    every: bool = False,
) -> list[Member]:
    """Add members to a league. Their weights are copied, so the run may be deleted.

    Args:
        folder: Folder of the league.
        what: Folder of a run (its latest checkpoint) or of a checkpoint, "scripted:NAME", or "tcp://127.0.0.1:PORT/NAME".
        name: Name of the member. The default is RUN@CHECKPOINT.
        parents: Members that it was trained from.
        every: Add all checkpoints of the run.

    Raises:
        LeagueError: It is of another game or schema, or the name belongs to another member.
        CheckpointError: There is no checkpoint, or it is damaged.
        ConfigError: A name is wrong.
    """
    league = League.open(Path(folder))
    text = str(what)
    if text.startswith(SCRIPTED_PREFIX):
        return [league.add_scripted(registry.load(league.note.game), text.removeprefix(SCRIPTED_PREFIX))]
    if is_address(text):
        return [league_servers.add(league, parse(text), name)]
    kind, separator, _ = text.partition("://")
    if separator:
        raise ConfigError(f"{text}: there are no members of kind {kind}://; expected a run, scripted:NAME or tcp://...")
    if every and name:
        raise ConfigError("--name: several checkpoints cannot have one name; leave it out, or add one checkpoint")
    run = Path(what)
    paths = [run / CHECKPOINTS / each for each in names_in(run / CHECKPOINTS)] if every else []
    members = []
    for path in map(Path.absolute, map(find, paths or [run])):
        saved = SavedCheckpoint(path, checkpoint.read_state(path))
        run_name = path.parent.parent.name if path.parent.name == CHECKPOINTS else ""
        default = f"{run_name}@{path.name}" if run_name else path.name
        member_name = name or re.sub(r"[^A-Za-z0-9._@-]+", "-", default).lstrip("._@-")
        members.append(league.add_checkpoint(saved, member_name, origin=run_name or path.name, parents=parents))
    return members


@dataclass(frozen=True, slots=True)
class LeaguePlay:
    """The matches that `play` has played, and the table afterwards."""

    played: TournamentTotals
    table: Standings
    interrupted: bool  # True if it was stopped before its end
    settled: bool  # True if all ranks are known


def play(
    folder: str | Path,
    *,
    members: Sequence[str] = (),
    challengers: Sequence[str] = (),
    system: System = "round-robin",
    matches: int = 20,
    until_settled: bool = False,
    limit: int = 20_000,
    hosts: int = 0,
    seed: int | None = None,
    options: Mapping[str, Any] | None = None,  # Any: options of the game, checked before anything starts
    save_best: bool = True,
    stopped: Callable[[], bool] = lambda: False,
    progress: Callable[[int, int, str], None] = lambda ended, scheduled, pair: None,
) -> LeaguePlay:
    """Play matches between members of a league. Every result is saved at once; stopping loses none.

    Args:
        folder: Folder of the league.
        members: Names of those that play. The default is all but outsiders.
        challengers: Members that play a gauntlet against all others (`system="gauntlet"`).
        system: Who plays whom: "round-robin", "gauntlet" or "swiss".
        matches: Matches of each two members that meet, in one round of "swiss". Every member plays all sides equally.
        until_settled: Play until the ranks are known, where they are not; `system` and `matches` do not count then.
        limit: Most matches with `until_settled`.
        hosts: Number of host processes. 0 means one per core.
        seed: Draws the seeds of the matches. The default draws new ones each time.
        options: Options of the game that this machine sets (docs/security.md).
        save_best: Keep the best matches as replays.
        stopped: Called at least once a second; if it returns True, the tournament ends.
        progress: Called after each match with finished and scheduled matches of the round, and who played.
    """
    league = League.open(Path(folder))
    names = _players(league, members, challengers)
    teams = len(set(league.note.teams))
    pairs = max(1, matches // teams)
    with ExitStack() as stack:
        arenas = stack.enter_context(arenas_of(league, hosts, options or {}))
        writer = stack.enter_context(ResultsWriter(league.folder))
        table = table_of(league)
        best = BestMatches(league.folder, table.ratings) if save_best else None
        tournament = Tournament(
            arenas, loader(league, arenas.game), writer, seed=seed, stopped=stopped, progress=progress, best=best
        )
        interrupted = False
        try:
            if until_settled:
                _settle(league, tournament, names, limit)
            elif system == "swiss":
                _swiss(league, tournament, names, pairs)
            else:
                tournament.play(_encounters(system, names, challengers, pairs, teams))
        except TournamentStoppedError:
            interrupted = True
    table = table_of(league)
    if save_best:
        best_matches.list_best(league.folder, table.ratings, prune=True)
    settled = not pairings.unsettled(table.ratings, [name for name in names if name in table.payoff.names], teams=teams)
    return LeaguePlay(tournament.played, table, interrupted, settled)


def _players(league: League, members: Sequence[str], challengers: Sequence[str]) -> tuple[str, ...]:
    """Return the names of all that play, never outsiders. Raises ConfigError for one that cannot, LeagueError if they
    are too few."""
    league.players(challengers)
    names = tuple(league.players(members))
    if len(names) < 2:
        folder = league.folder
        raise LeagueError(f"{folder} has {len(names)} members to play; add some: ludus league add {folder} RUN")
    return names


def _encounters(
    system: System, names: Sequence[str], challengers: Sequence[str], pairs: int, teams: int
) -> list[Encounter]:
    """Return the encounters of a tournament of one round. Raises ConfigError for a gauntlet without challengers."""
    if system == "round-robin":
        return pairings.round_robin(names, pairs, teams)
    if not challengers:
        raise ConfigError("--challengers: name who plays the gauntlet against all others")
    return pairings.gauntlet(challengers, names, pairs, teams)


def _settle(league: League, tournament: Tournament, names: Sequence[str], limit: int) -> None:
    teams = len(set(league.note.teams))
    while tournament.played.matches < limit:
        table = table_of(league)
        payoff = table.payoff
        playing = [name for name in names if name not in tournament.played.failures and name in payoff.names]
        meetings = {
            frozenset((one, other)): int(payoff.meetings[payoff.names.index(one), payoff.names.index(other)])
            for one in playing
            for other in playing
            if one < other
        }
        encounters = pairings.introductions(playing, meetings, teams)
        room = max(1, min(pairings.ROUND_PAIRS, (limit - tournament.played.matches) // teams))
        encounters = encounters or pairings.unsettled(table.ratings, playing, room, teams)
        if not encounters or not tournament.play(encounters):
            return


def _swiss(league: League, tournament: Tournament, names: Sequence[str], pairs: int) -> None:
    table = table_of(league)
    ranked = [line.name for line in table.lines if line.name in names]
    meetings: set[frozenset[str]] = set()
    for _ in range(pairings.swiss_rounds(len(names))):
        playing = [name for name in ranked if name not in tournament.played.failures]
        scores = dict.fromkeys(playing, 0.0)
        for name, score in tournament.played.scores():
            scores[name] = scores.get(name, 0.0) + score
        encounters = pairings.swiss(playing, scores, meetings, pairs, len(set(league.note.teams)))
        meetings |= {frozenset(couple) for each in encounters for couple in combinations(each.players, 2)}
        if not tournament.play(encounters):
            return


def table_of(league: League) -> Standings:
    """Compute the table. Results are read before members, so a member that joins meanwhile is no stranger."""
    log = results.read(league.folder)
    return standings(league.members(), log, league.note.anchor or None)


def write(folder: str | Path, *, page: bool = False) -> tuple[Standings, list[Path]]:
    """Make the derived files of a league again: standings.md, standings.csv, payoff.png and training.png. With `page`
    also league.html. Returns the table and the paths."""
    league = League.open(Path(folder))
    table, members = table_of(league), league.members()
    pages = {
        STANDINGS_MD: table.markdown(f"Standings of {league.folder.name}").encode(),
        STANDINGS_CSV: table.csv().encode(),
    }
    if table.lines:
        pages[PAYOFF_PNG] = league_pictures.payoff(table)
    training = league_pictures.ratings_over_training(table, members)
    if training is not None:
        pages[TRAINING_PNG] = training
    if page:
        best = best_matches.list_best(league.folder, table.ratings)
        pages[PAGE] = league_page.html_page(league, table, members, best, pages.get(PAYOFF_PNG), training).encode()
    paths = []
    for name, data in pages.items():
        path = league.folder / name
        try:
            files.replace(path, data, partial=path.with_name(f".{name}.{os.getpid()}"))
        except OSError as error:
            raise LeagueError(
                f"{path} cannot be written: {files.reason(error)}; the results log is not affected"
            ) from error
        paths.append(path)
    return table, paths


def write_replays(folder: str | Path) -> list[str]:
    """Replay the best matches of a league and write a page of each. Returns why some could not be replayed."""
    league = League.open(Path(folder))
    trouble = []
    for best in best_matches.list_best(league.folder, table_of(league).ratings):
        page = best_matches.page_path(best.path)
        if page.exists():
            continue
        try:
            replay.replay(best.path, page)
        except (LudusError, OSError) as error:
            trouble.append(f"{best.path} cannot be replayed: {error}")
    return trouble


@contextmanager
def arenas_of(league: League, hosts: int, local: Mapping[str, Any]) -> Iterator[Arenas]:  # Any: options of the game
    """Yield what a tournament of this league plays on. Raises UntrustedError for options of league.json that only this
    machine may set."""
    game = registry.load(league.note.game)
    path = str(league.folder / "league.json")
    options = check(trust.accept(game, league.note.options, path, local), game.options, f"{path}: options")
    with on_this_machine(game, options, league.note.teams, hosts) as arenas:
        yield arenas


@contextmanager
def on_this_machine(game: Game, options: msgspec.Struct, teams: tuple[int, ...], hosts: int) -> Iterator[Arenas]:
    """Yield what matches of a game are played on, with its servers and a folder for logs."""
    if game.prepare is not None:
        game.prepare(options, lambda step, share: None)
    usable_cores = cores()
    count = FleetConfig(hosts=hosts).hosts_on(usable_cores)
    with _served(game, options) as (served, folder):
        yield Arenas(game, served, teams, folder, hosts=count, usable_cores=usable_cores)


@contextmanager
def _served(game: Game, options: msgspec.Struct) -> Iterator[tuple[msgspec.Struct, Path]]:
    with (
        log_folder.temporary_log_folder("ludus-league-") as folder,
        game.served(options, ServersConfig(), folder) as served,
    ):
        yield served.options, folder


def loader(league: League, game: Game) -> Load:
    """Return the function that loads the policies of a league's members."""
    members = league.members()

    def load(name: str, spec: GameSpec) -> Policy:
        member = members[name]
        if member.kind == SCRIPTED:
            return game.players[member.origin](spec, 1)
        if member.kind == CHECKPOINT:
            return load_checkpoint(league.path(member), spec, game)
        if member.kind == SERVER:
            return league_servers.policy_of(member, spec)
        raise LeagueError(f"{name} is a member of kind {member.kind!r}, which this version does not know")

    return load


def load_checkpoint(path: Path, spec: GameSpec, game: Game) -> Policy:
    """Return the policy of a checkpoint, which takes its most likely action."""
    rows = cores() * FleetConfig().matches
    return checkpoint.load_agent(path, spec, rows=rows, game_nets=registry.nets_of(game))
