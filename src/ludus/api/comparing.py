"""Decides which of two policies is better, with as few matches as the answer needs."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ludus.api import league_servers
from ludus.api.leagues import arenas_of, load_checkpoint, loader, on_this_machine
from ludus.config.validation import check
from ludus.errors import ConfigError, LeagueError
from ludus.evaluation.tournament import Arenas, Load, Tournament, TournamentStoppedError, TournamentTotals
from ludus.games import named_policies, trust
from ludus.games.named_policies import AgentSource
from ludus.games.registry import Game
from ludus.league import results, sprt
from ludus.league.members import SCRIPTED_PREFIX, League
from ludus.league.pairings import Encounter
from ludus.league.results import ResultsWriter
from ludus.league.sprt import Comparison
from ludus.serving.address import is_address, parse
from ludus.spec import GameSpec
from ludus.types import Policy

FIRST_PAIRS, MOST_PAIRS = 50, 1000  # pairs of matches between two looks at the result
FIRST, SECOND = "A", "B"  # names in the results outside of a league


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """The answer of `compare`, and what was played for it."""

    comparison: Comparison
    played: TournamentTotals
    interrupted: bool


def compare(
    first: str | Path,
    second: str | Path,
    *,
    elo: tuple[float, float] = (0.0, 10.0),
    limit: int = 20_000,
    league: str | Path | None = None,
    hosts: int = 0,
    seed: int | None = None,
    options: Mapping[str, Any] | None = None,  # Any: options of the game, checked before anything starts
    stopped: Callable[[], bool] = lambda: False,
    progress: Callable[[int, int, str], None] = lambda ended, scheduled, pair: None,
) -> ComparisonResult:
    """Play pairs of matches until it is known whether the first policy is better than the second.

    Args:
        first: Folder of a run or checkpoint, "scripted:NAME", "tcp://HOST:PORT/NAME", or a member of `league`.
        second: The policy to compare it with.
        elo: "Not better" means a difference of at most `elo[0]`, "better" one of at least `elo[1]`. Each verdict is
            wrong in at most 5% of the cases. A narrow range needs many matches.
        limit: Most matches to play.
        league: Folder of a league. Its earlier results of these members count, and new ones are added.
        hosts: Number of host processes. 0 means one per core.
        seed: Draws the seeds of the matches. The default draws new ones each time.
        options: Options of the game that this machine sets (docs/security.md).
        stopped: Called at least once a second; if it returns True, the comparison ends undecided.
        progress: Called after each match with finished and scheduled matches of the round, and who played.

    Raises:
        ConfigError: An argument is wrong, or both are the same.
        LeagueError: A policy failed, or results cannot be written.
        CheckpointError: A checkpoint cannot be read, or is of another game than the other one.
    """
    if str(first) == str(second):
        raise ConfigError(f"{first} cannot be compared with itself; name two policies")
    if not elo[0] < elo[1]:
        raise ConfigError(f"--elo: the first bound must be below the second, got {elo[0]:g} and {elo[1]:g}")
    with ExitStack() as stack:
        if league is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ludus-compare-")))
            names = (FIRST, SECOND)
            arenas, load = _outside(stack, str(first), str(second), hosts, options or {})
        else:
            there = League.open(Path(league))
            names = (str(first), str(second))
            there.players(names)
            there.refuse_several_teams("compare")
            arenas = stack.enter_context(arenas_of(there, hosts, options or {}))
            folder, load = there.folder, loader(there, arenas.game)
        writer = stack.enter_context(ResultsWriter(folder))
        tournament = Tournament(arenas, load, writer, seed=seed, stopped=stopped, progress=progress)
        interrupted = False
        try:
            comparison = _until_decided(tournament, folder, names, elo, limit)
        except TournamentStoppedError:
            interrupted = True
            comparison = _decide(folder, names, elo)
    return ComparisonResult(comparison, tournament.played, interrupted)


def _until_decided(
    tournament: Tournament, folder: Path, names: tuple[str, str], elo: tuple[float, float], limit: int
) -> Comparison:
    pairs = FIRST_PAIRS
    while (comparison := _decide(folder, names, elo)).outcome == "undecided":
        room = (limit - tournament.played.matches) // 2
        if room < 1:
            return comparison
        if not tournament.play([Encounter(*names, min(pairs, room))]):
            failures = tournament.played.failures
            raise LeagueError(f"no match has a result: {'; '.join(f'{name}: {why}' for name, why in failures.items())}")
        pairs = min(max(FIRST_PAIRS, comparison.more_matches // 4), MOST_PAIRS)
    return comparison


def _decide(folder: Path, names: tuple[str, str], elo: tuple[float, float]) -> Comparison:
    """Test all pairs of matches that these two have played."""
    payoff = results.read(folder).of(set(names)).payoff(set(names))
    pairs = payoff.pairs[0, 1]  # of the name that comes first in the alphabet
    return sprt.decide(np.asarray(pairs if payoff.names == names else pairs[::-1]), *elo)


def _outside(
    stack: ExitStack,
    first: str,
    second: str,
    hosts: int,
    local: Mapping[str, Any],  # Any: options of the game
) -> tuple[Arenas, Load]:
    """Return where two policies that are in no league play, and how they are loaded. The game and its options are those
    of the first one that is not scripted."""
    texts = {FIRST: first, SECOND: second}
    agents = {name: named_policies.agent_source(text) for name, text in texts.items() if not _is_scripted(text)}
    if not agents:
        raise ConfigError(
            "two scripted policies do not say which game they play; compare them in a league, with --league DIR"
        )
    agent = next(iter(agents.values()))
    game, teams = agent.game(), agent.teams
    accepted = trust.accept(game, agent.options, agent.name, local)
    options: msgspec.Struct = check(accepted, game.options, "options")
    if len(set(teams)) != 2:
        raise ConfigError(f"{agent.game_name} has {len(set(teams))} teams; only policies that play each other compare")
    for text in (first, second):
        name = text.removeprefix(SCRIPTED_PREFIX)
        if _is_scripted(text) and name not in game.players:
            raise ConfigError(f"{game.name} has no scripted policy {name!r}; there are {', '.join(game.players)}")
    arenas = stack.enter_context(on_this_machine(game, options, teams, hosts))
    return arenas, _loader(game, agents, texts)


def _loader(game: Game, agents: Mapping[str, AgentSource], texts: Mapping[str, str]) -> Load:
    def load(name: str, spec: GameSpec) -> Policy:
        if is_address(texts[name]):
            return league_servers.FrozenRemotePolicy(parse(texts[name]), spec, None, texts[name])
        if name in agents:
            return load_checkpoint(Path(agents[name].name), spec, game)
        return game.players[texts[name].removeprefix(SCRIPTED_PREFIX)](spec, 1)

    return load


def _is_scripted(text: str) -> bool:
    return bool(re.match(SCRIPTED_PREFIX, text))
