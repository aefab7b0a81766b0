"""Copies matches of one or more datasets into another: `ludus data merge` and `ludus data filter`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ludus.data import rows
from ludus.data.dataset import Dataset, row_bytes, verify
from ludus.data.manifest import PolicyNote, RowsNote, ShardNote
from ludus.data.match_ledger import LedgerShard
from ludus.data.rows import Rows
from ludus.data.selecting import Selection
from ludus.errors import DatasetError


@dataclass(frozen=True, slots=True)
class CopyResult:
    """The result of `copy`."""

    dataset: Dataset
    repeated: int  # matches that were left out because the same one was copied before
    damage: list[str] = field(default_factory=list)  # one line for each shard that was left out because it is damaged


def copy(
    sources: Sequence[Dataset],
    out: Path,
    selections: Sequence[Selection],
    progress: Callable[[int, int], None] = lambda done, all: None,
) -> CopyResult:
    """Copy the matches in which a selected seat played, with their rows. `selections` has one for each source. Damaged
    shards are left out.

    Raises DatasetError if the datasets are of different games or options, if `out` holds a dataset, or if the disk is
    full.
    """
    first = sources[0].manifest
    for other in sources[1:]:
        _refuse_other_game(sources[0], other)
    specs = [source.manifest.rows_spec for source in sources if source.manifest.rows_spec is not None]
    rows_spec = specs[0] if specs else None
    fresh = msgspec.structs.replace(first, policies=[], plan=None, shards=[], voided={}, rows_spec=rows_spec)
    target = Dataset.create(out, fresh)
    damage: list[str] = []
    copied: set[bytes] = set()  # digests of the matches
    repeated, total, done = 0, sum(len(source.shards) for source in sources), 0
    for source, selection in zip(sources, selections, strict=True):
        places = _policy_places(target, source)
        later_of = {shard.name: later for shard, later in selection.over(source.shards)}
        for shard in source.shards:
            done += 1
            progress(done, total)
            if shard.name not in later_of:
                continue
            try:
                repeated += _copy_shard(source, shard, target, selection, later_of[shard.name], places, copied)
            except _DamageError as error:
                damage.append(str(error))
    return CopyResult(target, repeated, damage)


class _DamageError(Exception):
    """A shard of a source is damaged; other errors concern the target."""


def _copy_shard(
    source: Dataset,
    shard: ShardNote,
    target: Dataset,
    selection: Selection,
    later: int,
    places: NDArray[np.uint16],
    copied: set[bytes],
) -> int:
    """Copy the selected matches of a shard that were not `copied` before. Returns the number of repeated ones."""
    rows_spec = target.manifest.rows_spec
    has_rows = shard.rows is not None and rows_spec is not None and shard.rows.fingerprint == rows_spec.fingerprint
    mapped: Rows | None = None
    try:
        content = source.ledger(shard)
        if has_rows and shard.rows is not None and rows_spec is not None:
            verify(source.rows_path(shard), shard.rows.file)
            mapped = rows.read(source.rows_path(shard), row_bytes=row_bytes(rows_spec), actions=rows_spec.actions)
    except DatasetError as error:
        raise _DamageError(str(error)) from error
    candidates = np.flatnonzero(selection.seats(content.matches, later).any(axis=1))
    digests = [_digest(content, match, places) for match in candidates.tolist()]
    places_to_copy = candidates[[digest not in copied for digest in digests]] if digests else candidates
    repeated = len(candidates) - len(places_to_copy)
    copied.update(digests)
    if not len(places_to_copy):
        return repeated
    note = target.add(_renamed(content.take(places_to_copy), places), shard.ended_s)
    if mapped is not None and rows_spec is not None:
        subset = take_rows(mapped, content, places_to_copy)
        file = rows.write(target.rows_path(note), subset)
        target.set_rows(note, RowsNote(file, rows_spec.fingerprint, len(subset.match)))
    return repeated


def _digest(content: LedgerShard, match: int, places: NDArray[np.uint16]) -> bytes:
    """Return a digest that two matches share only if they have the same seed, policies and actions."""
    begin = int(content.first[match, 0])
    action = content.action[begin : begin + int(content.matches.count[match].sum())]
    digest = hashlib.blake2b(places[content.matches.policy[match]].tobytes() + action.tobytes(), digest_size=16)
    digest.update(int(content.matches.seed[match]).to_bytes(8, "little"))
    return digest.digest()


def take_rows(mapped: Rows, content: LedgerShard, matches: NDArray[np.intp]) -> Rows:
    """Return the rows of some matches of a shard of the ledger, numbered as in `content.take(matches)`."""
    count = content.matches.count.sum(axis=1)[mapped.match]
    stays = np.isin(mapped.match, matches)
    index = np.flatnonzero(np.repeat(stays, count))
    columns = ("obs", "legal", "action", "reward", "ends", "opens")
    arrays: dict[str, Any] = {name: getattr(mapped, name)[index] for name in columns}
    return Rows(**arrays, match=np.searchsorted(matches, mapped.match[stays]).astype(np.int32))


def _renamed(content: LedgerShard, places: NDArray[np.uint16]) -> LedgerShard:
    matches = content.matches
    return replace(content, matches=replace(matches, policy=places[matches.policy]))


def _policy_places(target: Dataset, source: Dataset) -> NDArray[np.uint16]:
    """Add the policies of `source` to `target`. Returns the new place of each."""
    policies = list(target.manifest.policies)
    places = []
    for policy in source.manifest.policies:
        same = (at for at, other in enumerate(policies) if _key(other) == _key(policy))
        place = next(same, None)
        if place is None:
            place = len(policies)
            policies.append(msgspec.structs.replace(policy, name=_free_name(policy.name, policies)))
        places.append(place)
    if policies != target.manifest.policies:
        target.update(policies=policies)
    return np.array(places, np.uint16)


def _key(policy: PolicyNote) -> tuple[str, float]:
    return (policy.sha256 or policy.source, policy.temperature)


def _free_name(name: str, policies: Sequence[PolicyNote]) -> str:
    names = {policy.name for policy in policies}
    return next(each for each in (name, *(f"{name}-{n}" for n in range(2, len(names) + 3))) if each not in names)


def _refuse_other_game(one: Dataset, other: Dataset) -> None:
    for name, ours, theirs in (
        ("game", one.manifest.game, other.manifest.game),
        ("options", one.manifest.options, other.manifest.options),
        ("number of seats", one.manifest.spec.seats, other.manifest.spec.seats),
        ("number of actions", one.manifest.spec.actions, other.manifest.spec.actions),
        ("kind (played again or on servers)", one.manifest.replayable, other.manifest.replayable),
    ):
        if ours != theirs:
            raise DatasetError(
                f"{one.folder} and {other.folder} cannot be merged: their {name} differ: {ours} and {theirs}"
            )
