"""Renders rows: plays the matches of the ledger again, with the recorded actions, and keeps what their players saw."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from ludus.config.settings import FleetConfig
from ludus.data import match_ledger, rows
from ludus.data.dataset import Dataset
from ludus.data.manifest import RowsNote, ShardNote
from ludus.data.match_ledger import LedgerShard
from ludus.data.rows import Rows
from ludus.errors import DatasetError, FleetError
from ludus.fleet.fleet import HostFleet
from ludus.fleet.interface import Fleet
from ludus.games.registry import Game
from ludus.policies.checkpoints import checkpoint
from ludus.spec import GameSpec
from ludus.types import Arrivals, Ending

POLL_S = 1.0
GROUP_BYTES = 1 << 30  # rows that are rendered at the same time, by one fleet
SCORE_TOLERANCE = 1e-6
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RenderProgress:
    """Progress of `render`."""

    decisions: int  # rendered, including those of earlier calls
    planned: int
    diverged: int  # matches that were different when they were played again; they have no rows


def render(
    dataset: Dataset,
    game: Game,
    options: msgspec.Struct,
    spec: GameSpec,
    *,
    log_dir: Path,
    hosts: int,
    usable_cores: int | None = None,
    again: bool = False,
    stopped: Callable[[], bool] = lambda: False,
    progress: Callable[[RenderProgress], None] = lambda progress: None,
) -> bool:
    """Render the rows of all shards that have none for the present observations of the game (`spec`), or of all shards
    if `again`.

    Returns False if `stopped()` became true before the end; finished shards are kept. Damaged shards of the ledger are
    left out with a warning. Raises DatasetError if the disk is full, and FleetError if no host is left.
    """
    _begin(dataset, spec)
    waiting = [shard for shard in dataset.shards if again or not is_current(shard, spec)]
    planned = dataset.manifest.decisions
    rendered = planned - sum(shard.decisions for shard in waiting)
    diverged = 0
    for planned_group in _groups(waiting, spec):
        group, contents = _read(dataset, planned_group)
        if not group:
            continue
        replay = Replay(contents, spec)
        with HostFleet(
            game.command(options),
            FleetConfig(),
            options=msgspec.to_builtins(options),
            seed=0,
            log_dir=log_dir,
            hosts=hosts,
            schedule=replay.schedule,
            usable_cores=usable_cores,
        ) as fleet:
            while replay.unfinished:
                if stopped():
                    return False
                replay.step(fleet)
                progress(RenderProgress(rendered + replay.decisions, planned, diverged + replay.diverged))
        for shard, content in zip(group, replay.rows(), strict=True):
            file = rows.write(dataset.rows_path(shard), content)
            dataset.set_rows(shard, RowsNote(file, spec.fingerprint, len(content.match)))
        rendered, diverged = rendered + replay.decisions, diverged + replay.diverged
    return True


def is_current(shard: ShardNote, spec: GameSpec) -> bool:
    """Return whether a shard has rows with the observations that `spec` describes."""
    return shard.rows is not None and shard.rows.fingerprint == spec.fingerprint


def refuse_unreplayable(dataset: Dataset) -> None:
    """Raise DatasetError if the matches of a dataset cannot be played again."""
    if not dataset.manifest.replayable:
        raise DatasetError(
            f"{dataset.folder}: its matches were played on servers, which draw their own random numbers, so they "
            "cannot be played again; their rows are those that were recorded"
        )


def _begin(dataset: Dataset, spec: GameSpec) -> None:
    """Raise DatasetError if the matches cannot be played on this game, and note the spec of the rows to come."""
    refuse_unreplayable(dataset)
    recorded = dataset.manifest.spec
    if (spec.seats, spec.actions) != (recorded.seats, recorded.actions):
        raise DatasetError(
            f"{dataset.folder} was recorded with {recorded.seats} seats and {recorded.actions} actions, "
            f"{spec.name} has {spec.seats} and {spec.actions}; their actions have another meaning now"
        )
    dataset.update(rows_spec=checkpoint.note_game(spec))


def _groups(shards: Sequence[ShardNote], spec: GameSpec) -> Iterator[list[ShardNote]]:
    """Yield groups of shards whose rows fit into `GROUP_BYTES`, or single shards."""
    group: list[ShardNote] = []
    decisions = 0
    for shard in shards:
        if group and (decisions + shard.decisions) * (spec.obs.nbytes + spec.actions) > GROUP_BYTES:
            yield group
            group, decisions = [], 0
        group.append(shard)
        decisions += shard.decisions
    if group:
        yield group


def _read(dataset: Dataset, group: Sequence[ShardNote]) -> tuple[list[ShardNote], list[LedgerShard]]:
    """Return the shards of a group that are not damaged, and their contents."""
    notes, contents = [], []
    for shard in group:
        try:
            contents.append(dataset.ledger(shard))
            notes.append(shard)
        except DatasetError as error:
            log.warning("%s; it is left out", error)
    return notes, contents


class Replay:
    """Plays the matches of some shards again and holds their rows.

    Every decision has its place before the first match begins, so rows are written where they belong in any order.
    """

    def __init__(self, shards: Sequence[LedgerShard], spec: GameSpec) -> None:
        self._shards, self._spec = shards, spec
        content = match_ledger.joined(list(shards))
        self._matches = matches = content.matches
        decisions, seats = content.decisions, spec.seats
        self._action = content.action
        self._first, self._end = content.first.ravel(), content.first.ravel() + matches.count.ravel()
        self._next = self._first.copy()  # place of the next decision of each match and seat [M * S]
        self._going = np.ones(len(matches), np.bool_)
        self._agrees = np.ones(len(matches), np.bool_)
        self._obs = np.zeros((decisions, spec.obs.nbytes), np.uint8)
        self._legal = np.zeros((decisions, -(-spec.actions // 8)), np.uint8)
        self._reward = np.zeros(decisions, np.float32)
        self._seats = seats
        self.decisions = 0  # of finished matches

    @property
    def schedule(self) -> list[tuple[int, int]]:
        """Return the place and the seed of each match."""
        return list(enumerate(self._matches.seed.tolist()))

    @property
    def unfinished(self) -> int:
        return int(self._going.sum())

    @property
    def diverged(self) -> int:
        return int((~self._agrees).sum())

    def step(self, fleet: Fleet) -> None:
        """Receive rows, answer them with the recorded actions and keep them. Raises FleetError if matches are lost."""
        arrivals = fleet.recv(POLL_S)
        for ending in arrivals.endings:
            self._finish(ending)
        if len(arrivals):
            self._answer(fleet, arrivals)
        elif not arrivals.endings and self.unfinished and fleet.health.exhausted:
            raise FleetError(f"{self.unfinished} matches were given up by their hosts; render again to continue")

    def _answer(self, fleet: Fleet, arrivals: Arrivals) -> None:
        line = arrivals.match * self._seats + arrivals.row % self._seats
        if arrivals.opens.any():  # also of matches that were lost with their host and begin again
            self._next[line[arrivals.opens]] = self._first[line[arrivals.opens]]
        place = self._next[line]
        follows_record = place < self._end[line]
        recorded = (
            self._action[np.where(follows_record, place, 0)] if len(self._action) else np.zeros(len(line), np.int32)
        )
        follows_record &= arrivals.legal[np.arange(len(line)), recorded]
        if not follows_record.all():
            self._agrees[arrivals.match[~follows_record]] = False
            recorded = np.where(follows_record, recorded, arrivals.legal.argmax(axis=1).astype(np.int32))
        fleet.send(arrivals.row, recorded)
        if not follows_record.all():
            arrivals, line, place = (
                arrivals.take(np.flatnonzero(follows_record)),
                line[follows_record],
                place[follows_record],
            )
        self.keep(arrivals, place)
        self._next[line] += 1

    def keep(self, arrivals: Arrivals, place: NDArray[np.int64]) -> None:
        """Write rows into their places."""
        self._obs[place] = arrivals.obs
        self._legal[place] = np.packbits(arrivals.legal, axis=1, bitorder="little")
        follows = ~arrivals.opens
        self._reward[place[follows] - 1] = arrivals.reward[follows]

    def _finish(self, ending: Ending) -> None:
        """Compare a match with its record. One that is void is played again by the fleet."""
        if ending.void:
            return
        match = ending.match
        lines = slice(match * self._seats, (match + 1) * self._seats)
        last, count = self._next[lines] - 1, self._matches.count[match]
        self._reward[last[count > 0]] = ending.reward[count > 0]
        same = np.allclose(ending.score, self._matches.score[match], atol=SCORE_TOLERANCE)
        same &= bool((self._next[lines] == self._end[lines]).all())
        self._agrees[match] &= same and ending.truncated == bool(self._matches.truncated[match])
        self._going[match] = False
        self.decisions += int(count.sum())

    def rows(self) -> Iterator[Rows]:
        """Yield the rows of each shard. Matches that diverged are left out."""
        first_match = 0
        for shard in self._shards:
            last_match = first_match + len(shard.matches)
            places = np.flatnonzero(self._agrees[first_match:last_match])
            yield self._of(first_match + places, places)
            first_match = last_match

    def _of(self, matches: NDArray[np.intp], places: NDArray[np.intp]) -> Rows:
        count = self._matches.count[matches]
        at = match_ledger.spans(self._first.reshape(-1, self._seats)[matches], count)
        ends, opens = np.zeros(len(at), np.bool_), np.zeros(len(at), np.bool_)
        stops = np.cumsum(count.ravel()[count.ravel() > 0])
        ends[stops - 1] = True
        opens[np.concatenate(([0], stops[:-1])) if len(stops) else stops] = True
        index: slice | NDArray[np.int64] = at
        if len(at) and at[-1] - at[0] + 1 == len(at):
            index = slice(int(at[0]), int(at[-1]) + 1)  # a view, where no match is left out
        return Rows(
            self._obs[index],
            self._legal[index],
            self._action[index],
            self._reward[index],
            ends,
            opens,
            places.astype(np.int32),
        )
