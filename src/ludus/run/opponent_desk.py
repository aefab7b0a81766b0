"""Decides when snapshots join the pool, which members of a league may play, and logs whom the learner meets."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec
import numpy as np
from msgspec import Struct

from ludus.errors import LudusError
from ludus.files import Appender
from ludus.league.candidates import CandidateReader
from ludus.league.equilibrium import nash_average
from ludus.league.matchmaking import MEMBER_PREFIX, PAST_PREFIX, SELF_PLAY, OpponentNews, kind_of
from ludus.league.opponent_log import OPPONENTS, line_of
from ludus.league.records import Records, merged
from ludus.metrics import names
from ludus.policies.checkpoints.read_errors import reading
from ludus.run.context import RunContext

LEAST_MATCHES = 20.0  # weighted, against the latest past self, before its win rate can call for another snapshot
log = logging.getLogger(__name__)


class OpponentsState(Struct, frozen=True):
    """The state of a run's opponents, as stored in a checkpoint."""

    members: tuple[str, ...] = ()  # of the league, the oldest first
    nash: dict[str, float] = {}  # mixture of the members, for `choose: nash`
    elo: dict[str, float] = {}  # ratings in the league, by opponent
    rows: dict[str, Records] = {}  # by past self: the learner's records when it was taken
    starts: dict[str, int] = {}  # matches that had begun at the latest line of opponents.jsonl, by opponent


class OpponentDesk:
    """Called after every update of a run. `keep_past_self` adds a snapshot to the pool."""

    def __init__(self, parts: RunContext, keep_past_self: Callable[[], None]) -> None:
        """Raises LeagueError if `opponents.league` is no league of this game, and CheckpointError if the state of the
        checkpoint is damaged."""
        self._parts, self._keep_past_self = parts, keep_past_self
        self._config = config = parts.config.opponents
        several = len(set(parts.spec.teams)) > 1
        self._meets_past_selves = config.past > 0 and several
        self._reader: CandidateReader | None = None
        if config.league and config.league_share > 0 and several:
            self._reader = CandidateReader(config, parts.config.policy, parts.spec)
        self._logs = several and (config.past > 0 or config.scripted > 0 or self._reader is not None)
        self._state = OpponentsState()
        self._log = Appender(parts.run_dir / OPPONENTS)
        saved = None if parts.run.checkpoint is None else parts.run.checkpoint.state.opponents
        self._is_resumed = saved is not None
        if saved is not None:
            with reading("what the checkpoint knows of opponents"):
                self._state = msgspec.convert(saved, OpponentsState)

    @property
    def state(self) -> OpponentsState:
        return self._state

    def begin(self) -> None:
        """Tell the actors who may play. Call when they have started."""
        if not self._is_resumed:
            self._read_league()
        self._tell()

    def after_update(self) -> None:
        """Take a snapshot if one is due, read the league again and log the opponents, every `snapshot_every`
        updates."""
        version = self._parts.learner.version
        is_due = version % self._config.snapshot_every == 0
        if self._meets_past_selves and (is_due or self._beats_latest()):
            self._keep_past_self()
            self._note_snapshot(version)
            if not is_due:
                self._tell()
        if is_due:
            self._read_league()
            self._tell()
            if self._logs:
                self._write_line(version)

    def _records(self) -> Records:
        """Return the learner's record by opponent, over all actors, at its present version."""
        half_life, version = self._config.half_life, self._parts.learner.version
        states = [state for state in self._parts.source.states() if state is not None]
        total = merged([state.matchmaker.records for state in states], half_life)
        return {name: record.at(version, half_life) for name, record in total.items()}

    def _beats_latest(self) -> bool:
        """Return whether the learner has become strong enough for another snapshot."""
        versions = self._parts.pool.versions()
        if not self._config.snapshot_win_rate or not versions:
            return False
        record = self._records().get(f"{PAST_PREFIX}{versions[-1]}")
        if record is None or record.wins + record.losses < LEAST_MATCHES:
            return False
        return record.win_rate >= self._config.snapshot_win_rate

    def _note_snapshot(self, version: int) -> None:
        """Keep the learner's present records as those of the new snapshot, as far as both sides are in the pool."""
        there = {f"{PAST_PREFIX}{each}" for each in self._parts.pool.versions()}
        rows = {**self._state.rows, f"{PAST_PREFIX}{version}": self._records()}
        self._state = msgspec.structs.replace(
            self._state,
            rows={
                name: {other: record for other, record in row.items() if other in there}
                for name, row in rows.items()
                if name in there
            },
        )

    def _read_league(self) -> None:
        """Read who is in the league now. If it cannot be read, the members of before play on."""
        if self._reader is None:
            return
        try:
            candidates = self._reader.read()
        except (LudusError, OSError) as error:
            log.warning("opponents.league: %s; the members of before play on", error)
            return
        self._state = msgspec.structs.replace(
            self._state,
            members=candidates.names,
            nash={MEMBER_PREFIX + name: weight for name, weight in (candidates.nash or {}).items()},
            elo={MEMBER_PREFIX + name: elo for name, elo in (candidates.elo or {}).items() if name in candidates.names},
        )

    def _tell(self) -> None:
        state = self._state
        weights = {**state.nash, **_nash_of_pool(state.rows)} if self._config.choose == "nash" else {}
        self._parts.source.tell(OpponentNews(state.members, weights))

    def _write_line(self, version: int) -> None:
        parts = self._parts
        total: dict[str, int] = {}
        for state in parts.source.states():
            for name, count in ({} if state is None else state.matchmaker.starts).items():
                total[name] = total.get(name, 0) + count
        before, self._state = self._state.starts, msgspec.structs.replace(self._state, starts=total)
        starts = {name: count - before.get(name, 0) for name, count in total.items() if count > before.get(name, 0)}
        line = line_of(version, parts.learner.training_s, self._records(), starts, self._state.elo)
        shares: dict[str, float] = {SELF_PLAY: line.self_play}
        for each in line.opponents:
            kind = kind_of(each.name)
            shares[kind] = shares.get(kind, 0.0) + each.share
        for kind, share in shares.items():
            parts.metrics.set(names.OPPONENT_SHARE(kind), share)
        if line.elo is not None:
            parts.metrics.set(names.OPPONENT_ELO, line.elo)
        try:
            self._log.write(msgspec.json.encode(line) + b"\n")
        except OSError as error:
            parts.metrics.add(names.TELEMETRY_FAILURES)
            log.warning("%s cannot be written: %s", OPPONENTS, error)
        finally:
            self._log.close()


def _nash_of_pool(rows: dict[str, Records]) -> dict[str, float]:
    """Return the Nash average of the past selves, from the learner's records when each was taken."""
    players = list(rows)
    n = len(players)
    if n < 2:
        return dict.fromkeys(players, 1.0)
    shares = np.full((n, n), 0.5)
    for i, name in enumerate(players):
        for other, record in rows[name].items():
            j = players.index(other) if other in rows else i
            if i != j:
                shares[i, j], shares[j, i] = record.win_rate, 1 - record.win_rate
    return dict(zip(players, map(float, nash_average(shares)), strict=True))
