"""Plays a policy on a Showdown server: many battles at once, with one batched forward pass for all that wait.

result = play(lambda spec: load_agent(path, spec), PlayOptions(mode="accept"), matches=20, concurrency=4, log_dir=logs)
result.wins, result.interval
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from ludus.config.settings import FleetConfig
from ludus.errors import ConfigError, DatasetError, FleetError, HostRefused
from ludus.fleet.fleet import HostFleet
from ludus.fleet.interface import HostEvent
from ludus.games.showdown.page import page
from ludus.games.showdown.play_game import PlayOptions, command
from ludus.metrics.intervals import wilson
from ludus.spec import GameSpec
from ludus.types import Arrivals, Ending, Policy

Event = HostEvent
OWN = 0  # the agent's seat in every match
POLL_S = 1.0
NUDGE_S = 20.0  # between requests to a host that waits for people; its answer shows that it is alive
FLEET = FleetConfig(hosts=1, reply_deadline_s=3 * NUDGE_S)
REASONS = 100  # reasons counted separately; a server may invent any number of them
OTHER_REASONS = "other reasons"
RATING_DIGITS = 6
NAME_LETTERS = 18  # of an id on Showdown's servers
log = logging.getLogger(__name__)


class MatchRecorder(Protocol):
    """Records battles. `data.recorder.LedgerRecorder` implements it."""

    def choose(self, arrivals: Arrivals, action: NDArray[np.int32]) -> None:
        """Record the actions of these rows."""
        ...

    def end(self, ending: Ending) -> None:
        """Keep a battle that has ended, or forget a voided one."""
        ...

    def write_due(self) -> None:
        """Write the battles that have waited for long. Raises DatasetError, and keeps them for another attempt."""
        ...

    def write(self) -> None:
        """Write all battles. Raises DatasetError, and keeps them for another attempt."""
        ...


NewRecorder = Callable[[HostFleet, Callable[[Ending], tuple[float, float]]], MatchRecorder]
"""Returns a recorder for a fleet. The second argument returns the ratings of the agent and of the opponent."""


@dataclass(slots=True)
class OpponentRecord:
    """Battles against one opponent."""

    wins: int = 0
    losses: int = 0
    ties: int = 0

    @property
    def battles(self) -> int:
        return self.wins + self.losses + self.ties


@dataclass(slots=True)
class PlayResult:
    """Results so far, and in the end of all battles. A tie is not a win."""

    total: OpponentRecord = field(default_factory=OpponentRecord)
    opponents: dict[str, OpponentRecord] = field(default_factory=dict)
    running: int = 0  # battles
    decisions: int = 0
    turns: int = 0
    invalid: int = 0  # choices that the server rejected as invalid; it then chose by itself
    refused: int = 0  # choices that hidden information made impossible; the agent chose again
    unsaved: int = 0  # pages that could not be written
    reconnects: int = 0
    restarts: int = 0  # of the host
    unplayed: Counter[str] = field(default_factory=Counter)  # battles that did not begin, by reason
    voided: Counter[str] = field(default_factory=Counter)  # battles that began but do not count, by reason
    rating: float | None = None  # after the last rated battle
    seconds: float = 0.0
    stopped: str = ""  # reason for an early end; empty if all battles were played

    @property
    def win_rate(self) -> float:
        return self.total.wins / self.total.battles if self.total.battles else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95% Wilson interval of the win rate."""
        return wilson(self.total.wins, self.total.battles)


class StopRequest:
    """A request to stop. After the first call no battle begins and running ones are finished; after the second they are
    forfeited. Safe in a signal handler."""

    def __init__(self) -> None:
        self.requests = 0

    def __call__(self, *_: object) -> None:
        self.requests += 1


def play(
    agent: Callable[[GameSpec], Policy],
    options: PlayOptions,
    *,
    log_dir: Path,
    matches: int | None = None,
    concurrency: int = 1,
    seed: int = 0,
    deadline_s: float | None = None,
    stop: StopRequest | None = None,
    save_replays: Path | None = None,
    record: NewRecorder | None = None,
    ended: Callable[[Ending], None] = lambda ending: None,
    show: Callable[[PlayResult], None] | None = None,
    tell: Callable[[Event], None] | None = None,
) -> PlayResult:
    """Play `matches` battles (None: until stopped), `concurrency` at the same time. Returns when all have ended.

    Raises HostRefused if the server, the account's name, the format or the team is not accepted. If that happens after
    the first battle, or the deadline passes, `stopped` of the result has the reason. `record` makes a recorder of the
    battles; if it cannot write, it tries again, and DatasetError is raised after the last battle.
    `ended` is called with the ending of each battle that counts, `show` about once a second, and `tell` with each event
    of the host.
    """
    schedule = None if matches is None else [(number, seed + number) for number in range(matches)]
    until_s = None if deadline_s is None else time.monotonic() + deadline_s
    if save_replays is not None:
        _create(save_replays)
    try:
        with HostFleet(
            command(options),
            FLEET,
            options=msgspec.to_builtins(options),
            seed=seed,
            log_dir=log_dir,
            matches=concurrency if matches is None else min(concurrency, matches),
            schedule=schedule,
            keep_log=True,
            final_refusals=True,
            events=True,
        ) as fleet:
            own = user_id(options.name)
            recorder = None if record is None else record(fleet, lambda ending: ratings_of(ending.log, own))
            table = _Table(fleet, agent(fleet.spec), own, save_replays, recorder, ended)
            try:
                return _play(table, stop or StopRequest(), matches, until_s, show, tell)
            finally:
                if recorder is not None:
                    recorder.write()
    except HostRefused as refusal:
        raise HostRefused(_reason(refusal)) from None


def _create(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--save-replays: {folder} cannot be created ({error.strerror})") from error


def _play(
    table: _Table,
    stop: StopRequest,
    matches: int | None,
    until_s: float | None,
    show: Callable[[PlayResult], None] | None,
    tell: Callable[[Event], None] | None,
) -> PlayResult:
    result, fleet = table.result, table.fleet
    draining = False
    report_s = nudge_s = time.monotonic()
    _report(table, show, tell)
    while not fleet.health.exhausted:
        now_s = time.monotonic()
        if until_s is not None and now_s >= until_s:
            result.stopped = "the time was up"
            break
        if stop.requests and not draining:
            draining = True
            fleet.drain()
        if stop.requests > 1:
            result.stopped = "interrupted"
            break
        if now_s - nudge_s >= NUDGE_S:
            nudge_s = now_s
            fleet.nudge()
        try:
            table.turn(POLL_S if until_s is None else min(POLL_S, until_s - now_s))
        except (HostRefused, FleetError) as error:
            if not result.total.battles:
                raise
            result.stopped = _reason(error)
            break
        if now_s - report_s >= POLL_S or result.stopped:
            report_s = now_s
            _report(table, show, tell)
    if draining and (matches is None or table.ended < matches):
        result.stopped = result.stopped or "interrupted"
    _report(table, show, tell)
    return result


def _report(
    table: _Table,
    show: Callable[[PlayResult], None] | None,
    tell: Callable[[Event], None] | None,
) -> None:
    for event in table.fleet.take_events():
        table.note(event)
        if tell is not None:
            tell(event)
    table.look()
    if show is not None:
        show(table.result)


def _reason(error: Exception) -> str:
    return printable(error.reason if isinstance(error, HostRefused) else str(error))


def printable(words: str) -> str:
    """Replace control characters: names and messages come from other people."""
    return "".join(letter if letter.isprintable() else "?" for letter in words)


class _Table:
    """Running battles, and the results of those that have ended."""

    def __init__(
        self,
        fleet: HostFleet,
        policy: Policy,
        own: str,
        save_replays: Path | None,
        recorder: MatchRecorder | None,
        ended: Callable[[Ending], None],
    ) -> None:
        self.fleet = fleet
        self.result = PlayResult()
        self._policy = policy
        self._id = own
        self._save_replays = save_replays
        self._recorder = recorder
        self._count = ended
        self._unwritten = ""  # why the recorder could not write
        self.ended = 0  # matches, voided ones included
        self._running: set[int] = set()
        self._began_s = time.monotonic()

    def turn(self, timeout_s: float) -> None:
        """Receive endings and rows, and answer the rows that wait for an action."""
        arrivals = self.fleet.recv(timeout_s)
        for ending in arrivals.endings:
            self._end(ending)
        if len(arrivals):
            self._running.update(arrivals.match.tolist())
            action = self._policy.act(arrivals).action
            self.fleet.send(arrivals.row, action)
            self.result.decisions += len(arrivals)
            if self._recorder is not None:
                self._recorder.choose(arrivals, action)
        self.result.running = len(self._running)
        self._write_due()

    def note(self, event: Event) -> None:
        """Count an event of the host."""
        kind = event.get("event")
        if kind == "unplayed":
            unplayed, why = self.result.unplayed, str(event.get("why"))
            has_room = why in unplayed or len(unplayed) < REASONS
            unplayed[why if has_room else OTHER_REASONS] += 1 + int(event.get("left_out", 0))
        elif kind == "back":
            self.result.reconnects += 1

    def look(self) -> None:
        """Update the numbers that the fleet counts."""
        health = self.fleet.health
        self.result.voided = Counter({reason.removeprefix("host: "): count for reason, count in health.voided.items()})
        self.result.restarts = health.restarts
        self.result.seconds = time.monotonic() - self._began_s

    def _write_due(self) -> None:
        """Write recorded battles. A full disk must not cost the running ones: it is logged once."""
        if self._recorder is None:
            return
        try:
            self._recorder.write_due()
            self._unwritten = ""
        except DatasetError as error:
            if not self._unwritten:
                log.warning("%s; trying again", error)
            self._unwritten = str(error)

    def _end(self, ending: Ending) -> None:
        self._running.discard(ending.match)
        self.ended += 1
        if self._recorder is not None:
            self._recorder.end(ending)
        if ending.void:
            return
        self._count(ending)
        result = self.result
        score = float(ending.score[OWN])
        outcome = "wins" if score > 0.5 else "losses" if score < 0.5 else "ties"
        opponent = opponent_of(ending.log, self._id)
        for record in (result.total, result.opponents.setdefault(opponent, OpponentRecord())):
            setattr(record, outcome, getattr(record, outcome) + 1)
        result.turns += int(ending.facts.get("turns", 0))
        result.invalid += int(ending.facts.get("invalid", 0))
        result.refused += int(ending.facts.get("refused", 0))
        result.rating = ending.facts.get("rating", result.rating)
        if self._save_replays is not None and not _save(self._save_replays, ending, self._id, opponent, outcome):
            result.unsaved += 1


def user_id(name: str) -> str:
    """Return the id of a name on a server: its letters and digits, in lower case."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def lasting_id(name: str) -> str:
    """Return the id of a name that somebody has chosen; empty for a guest, whose name goes to the next one."""
    identity = user_id(name)[:NAME_LETTERS]
    return "" if re.fullmatch(r"guest\d+", identity) else identity


def opponent_of(log: str, own: str) -> str:
    """Return the other player's name in a battle's log, or "?" if there is none."""
    for line in log.split("\n"):
        if line.startswith("|player|"):
            name = line.split("|")[3:4]
            if name and name[0] and user_id(name[0]) != own:
                return name[0]
    return "?"


def is_first(log: str, own: str) -> bool:
    """Return whether the agent was the first player (p1) of a battle, by its log."""
    players = (line.split("|") for line in log.split("\n") if line.startswith("|player|"))
    return any(parts[2] == "p1" and user_id(parts[3]) == own for parts in players if len(parts) > 3)


def ratings_of(log: str, own: str) -> tuple[float, float]:
    """Return the ratings of the agent and of its opponent before a battle, by its log; NaN if it was not rated."""
    ratings = [math.nan, math.nan]
    for line in log.split("\n"):
        parts = line.split("|")
        if line.startswith("|player|") and len(parts) > 5 and parts[5].isdecimal() and len(parts[5]) <= RATING_DIGITS:
            ratings[user_id(parts[3]) != own] = float(parts[5])
    return ratings[0], ratings[1]


def _save(folder: Path, ending: Ending, own: str, opponent: str, outcome: str) -> bool:
    """Write the page of a battle and return whether that worked. The file's name has only letters and digits of the
    opponent's."""
    verb = {"wins": "won", "losses": "lost", "ties": "tied"}[outcome]
    name = f"{ending.match:06d}-{user_id(opponent)[:18] or 'nobody'}-{verb}.html"
    try:
        (folder / name).write_text(page(f"{own} vs. {opponent}", ending.log), encoding="utf-8")
    except OSError:
        return False
    return True
