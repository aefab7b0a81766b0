"""Verifies every file of a dataset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ludus.data import rows
from ludus.data.dataset import Dataset, verify
from ludus.errors import DatasetError
from ludus.policies.checkpoints import checkpoint


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of `check`."""

    shards: int
    matches: int  # in undamaged shards
    decisions: int
    rows: int  # decisions in undamaged files of rows
    damage: list[str] = field(default_factory=list)  # one line for each damaged or missing file


def check(dataset: Dataset, progress: Callable[[int, int], None] = lambda done, all: None) -> CheckResult:
    """Read every file and compare it with its checksum. Never raises DatasetError: the result names damaged files."""
    damage: list[str] = []
    matches = decisions = row_count = 0
    for index, shard in enumerate(dataset.shards):
        progress(index, len(dataset.shards))
        try:
            content = dataset.ledger(shard)
            matches, decisions = matches + len(content.matches), decisions + content.decisions
        except DatasetError as error:
            damage.append(str(error))
        if shard.rows is None or dataset.manifest.rows_spec is None:
            continue
        path, spec = dataset.rows_path(shard), checkpoint.rebuild_game(dataset.manifest.rows_spec, {})
        try:
            verify(path, shard.rows.file)
            if shard.rows.fingerprint == dataset.manifest.rows_spec.fingerprint:
                row_count += rows.read(path, row_bytes=spec.obs.nbytes, actions=spec.actions).decisions
        except DatasetError as error:
            damage.append(str(error))
    progress(len(dataset.shards), len(dataset.shards))
    return CheckResult(len(dataset.shards), matches, decisions, row_count, damage)
