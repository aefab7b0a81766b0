"""The members of a league that a run may meet in training, and what the results of the league say about them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ludus.config.settings import OpponentsConfig, PolicyConfig
from ludus.errors import CheckpointError, LeagueError, LudusError
from ludus.league import results
from ludus.league.equilibrium import nash_average
from ludus.league.members import CHECKPOINT, OUTSIDER, SCRIPTED, League, LeagueNote, Member, read_state
from ludus.policies.checkpoints.checkpoint import State
from ludus.policies.nets.recurrence import state_size
from ludus.spec import GameSpec

MOST_NASH = 200  # members; in a larger league, the mixture is not computed, and each is as likely
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Members that may play, the oldest first, with the ratings and the Nash average of their league."""

    names: tuple[str, ...] = ()
    elo: Mapping[str, float] | None = None  # of those that have played in the league
    nash: Mapping[str, float] | None = None


class CandidateReader:
    """Reads a league again and again while a run trains. A member that cannot play is logged once and left out."""

    def __init__(self, config: OpponentsConfig, policy: PolicyConfig, spec: GameSpec) -> None:
        """Raises LeagueError if the folder is no league, or one of another game."""
        self._config, self._policy = config, policy
        self._league = League.open(Path(config.league))
        refuse_other_game(self._league, spec)
        self._fits: dict[str, bool] = {}

    def read(self) -> Candidates:
        """Return the members that may play now. Raises LeagueError if the folder cannot be read."""
        config, everyone = self._config, self._league.members()
        members = [each for each in everyone.values() if self._plays(each)]
        members.sort(key=lambda each: (each.kind != SCRIPTED, each.added, each.version, each.name))
        names = tuple(each.name for each in members)
        if not names:
            return Candidates()
        results_so_far = results.read(self._league.folder).of(set(everyone))
        payoff = results_so_far.payoff(set(everyone))
        ratings = results_so_far.ratings(set(everyone), self._league.note.anchor or None)
        rated_names = {name for name, played in zip(payoff.names, payoff.meetings.sum(1), strict=True) if played}
        elo = {
            name: float(rating) for name, rating in zip(payoff.names, ratings.elo, strict=True) if name in rated_names
        }
        nash = None
        if config.choose == "nash" and len(names) <= MOST_NASH:
            places = [payoff.names.index(name) for name in names]
            shares = payoff.win_shares(ratings.expected())[places][:, places]
            nash = dict(zip(names, map(float, nash_average(shares)), strict=True))
        return Candidates(names, elo, nash)

    def _plays(self, member: Member) -> bool:
        if member.kind == OUTSIDER or not matches(member.name, self._config.league_members):
            return False
        if member.name not in self._fits:
            self._fits[member.name] = self._can_play(member)
        return self._fits[member.name]

    def _can_play(self, member: Member) -> bool:
        if member.kind == SCRIPTED:
            return True
        try:
            if member.kind != CHECKPOINT:
                raise LeagueError(f"it is a member of kind {member.kind!r}, which does not play in training")
            refuse_other_state(read_state(self._league, member), self._policy, member.name)
        except LudusError as error:
            log.warning("%s of %s is no opponent: %s", member.name, self._league.folder, error)
            return False
        return True


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Return whether a member's name fits one of the patterns, or there are none."""
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def refuse_other_game(league: League, spec: GameSpec) -> None:
    """Raise LeagueError, which names both games, unless the members of a league play this one."""
    note: LeagueNote = league.note
    for what, ours, theirs in (
        ("game", spec.name, note.spec),
        ("schema", spec.schema, note.schema),
        ("fingerprint", spec.fingerprint, note.fingerprint),
    ):
        if ours != theirs:
            raise LeagueError(f"opponents.league: {league.folder} plays {what} {theirs}, this run {what} {ours}")


def refuse_other_state(state: State, policy: PolicyConfig, name: str) -> None:
    """Raise CheckpointError unless a member has a hidden state of the learner's size: both share one table."""
    theirs, ours = state_size(state.policy.recurrent), state_size(policy.recurrent)
    if theirs != ours:
        raise CheckpointError(
            f"{name} has a hidden state of {theirs} floats, the learner of {ours}; in training both must be the same"
        )
