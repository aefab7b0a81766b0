"""Results of matches on a server, as matches of a league: a member against outsiders that nobody can ask to play."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ludus.api import league_servers
from ludus.errors import ConfigError, LeagueError
from ludus.games import named_policies
from ludus.games.named_policies import ROWS, AgentSource
from ludus.games.registry import Game
from ludus.league.members import (
    CHECKPOINT,
    MEMBERS,
    OUTSIDER_PREFIX,
    SERVER,
    League,
    Member,
    folder_name,
    refuse_elsewhere,
    refuse_other_version,
)
from ludus.league.results import MatchRecord, ResultsWriter
from ludus.serving.address import parse
from ludus.serving.client import Client
from ludus.spec import GameSpec
from ludus.types import Policy

MOST_OUTSIDERS = 1000  # of one call; a server may invent any number of names
log = logging.getLogger(__name__)


class OutsiderResults:
    """Receives the matches of a member against outsiders. `outsider_results` opens it.

    A result that cannot be written, for example because the disk is full, waits in memory and is tried again after each
    match, so that no running match is lost with it.
    """

    def __init__(self, league: League, member: Member, origin: str, writer: ResultsWriter) -> None:
        self._league, self._member, self._origin, self._writer = league, member, origin, writer
        self._waiting: list[MatchRecord] = []
        self._names: set[str] = set()
        self._trouble = ""
        self.nameless = 0  # matches against somebody without a name of their own, which have no line in the table

    @property
    def matches(self) -> int:
        """Return the number of results in the league's log."""
        return self._writer.matches

    def add(self, outsider: str, score: float, *, first: bool, truncated: bool = False) -> None:
        """Add the result of a match.

        Args:
            outsider: Name of the opponent, as a part of a member's name. Empty if it has none.
            score: Score of the member.
            first: Whether the member was on the first side.
            truncated: Whether a limit cut the match short.
        """
        name = OUTSIDER_PREFIX + outsider
        if not outsider or (name not in self._names and len(self._names) >= MOST_OUTSIDERS):
            self.nameless += 1
            return
        self._names.add(name)
        seed, score = secrets.randbits(53), min(max(score, 0.0), 1.0)
        names, share = ((self._member.name, name), score) if first else ((name, self._member.name), 1 - score)
        self._waiting.append(MatchRecord(*names, seed, share, "", truncated))
        self._write()

    def close(self) -> None:
        """Write all results that wait. Raises LeagueError if that is not possible; they are lost then."""
        self._write()
        if self._waiting:
            raise LeagueError(f"{len(self._waiting)} results of matches are lost: {self._trouble}")

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        trouble = ""
        for record in waiting:
            try:
                self._join(record.second if record.first == self._member.name else record.first)
                self._writer.add(record)
            except LeagueError as error:
                trouble = str(error)
                self._waiting.append(record)
        if trouble and not self._trouble:
            log.warning("%s; trying again", trouble)
        self._trouble = trouble

    def _join(self, name: str) -> None:
        if not (self._league.folder / MEMBERS / folder_name(name)).exists():
            self._league.add_outsider(name.removeprefix(OUTSIDER_PREFIX), self._origin)


@contextmanager
def outsider_results(folder: str | Path, member: str, origin: str) -> Iterator[OutsiderResults]:
    """Yield what receives the matches of a member on a server.

    Args:
        folder: Folder of the league.
        member: Name of the member.
        origin: Address of the server, for the page of the league.

    Raises:
        LeagueError: The folder is no league, or at the end results cannot be written.
        ConfigError: The league has no such member.
    """
    league = League.open(Path(folder))
    entry = league.players((member,))[member]
    with ResultsWriter(league.folder) as writer:
        results = OutsiderResults(league, entry, origin, writer)
        try:
            yield results
        finally:
            results.close()


def member_source(folder: str | Path, name: str) -> AgentSource:
    """Return the policy of a member, which can then play on a server.

    Raises:
        ConfigError: There is no such member, or it is neither a checkpoint nor a policy on a server.
        LeagueError: The folder is no league, or the server has other weights now.
        CheckpointError: Its files vanished or are damaged.
    """
    league = League.open(Path(folder))
    member = league.players((name,))[name]
    sources: dict[str, Callable[[], AgentSource]] = {
        CHECKPOINT: lambda: named_policies.agent_source(str(league.path(member))),
        SERVER: lambda: _served(member),
    }
    if member.kind not in sources:
        raise ConfigError(f"{name} is {member.kind}; only a checkpoint or a policy on a server can play on a server")
    return sources[member.kind]()


def refuse_other_format(folder: str | Path, battle_format: str) -> None:
    """Raise ConfigError unless the matches of a league have this format."""
    ours = League.open(Path(folder)).note.options.get("format", "")
    if ours != battle_format:
        raise ConfigError(f"--league: {folder} plays {ours or 'another game'}, these battles are {battle_format}")


@dataclass(frozen=True, slots=True)
class ServedMember(AgentSource):
    """A member on a server of this machine, which must keep its weights."""

    member: Member | None = None

    def load(self, spec: GameSpec, game: Game, *, rows: int = ROWS, greedy: bool = True, seed: int = 0) -> Policy:
        """Return the policy, whose address says whether it samples. It raises LeagueError as soon as the server has
        other weights."""
        assert self.member is not None
        return league_servers.policy_of(self.member, spec)


def _served(member: Member) -> ServedMember:
    address = parse(member.origin)
    refuse_elsewhere(address)
    with Client(address) as client:
        refuse_other_version(member.name, member.origin, member.version, client.policy.version)
        game = client.policy.game
    return ServedMember(member.origin, game.name, game.seats, game.layout, game.options, member=member)
