"""manifest.json of a dataset: the game, who played, and every shard with its size and checksum.

<dataset>/manifest.json               replaced atomically after every shard; a file that it does not list is no part
                                      of the dataset
          ledger/000000.ledger        matches: seeds, actions, results (ledger.py)
          rows/000000.safetensors     decisions of the same matches: observations, masks, rewards (rows.py)
          lock                        the process that writes here
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from ludus import files, limits
from ludus.errors import DatasetError
from ludus.policies.checkpoints.checkpoint import GameNote
from ludus.policies.checkpoints.checksums import FileSum

MANIFEST = "manifest.json"
LARGEST = 256 << 20  # bytes of a manifest
MOST_SHARDS = 1_000_000
MOST_MATCHES = 1 << 20  # of a shard
MOST_DECISIONS = 1 << 24  # of a shard

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Count = Annotated[int, Meta(ge=0, le=2**53)]


class PolicyNote(Struct, frozen=True, forbid_unknown_fields=True):
    """A policy that played. Ledgers refer to it by its place in the manifest's list."""

    name: Name  # unique in the dataset
    source: str  # as it was given: scripted:NAME, the path of a checkpoint, or an address
    sha256: str = ""  # of the checkpoint's model, here or on its server; empty for other policies
    temperature: float = 1.0  # that actions were drawn with; 0: the most likely action
    think_ms: float = 0.0  # milliseconds of search before each decision; 0: none


class PlanNote(Struct, frozen=True, forbid_unknown_fields=True):
    """The matches that `ludus generate` plays into this dataset. `--resume` plays those that are missing."""

    a: Annotated[int, Meta(ge=0)]  # place of the policy in the manifest's list
    b: Annotated[int, Meta(ge=0)]  # the same as `a` for self-play
    matches: Annotated[int, Meta(ge=1, le=limits.MATCH_NUMBER)]
    seed: Count


class RowsNote(Struct, frozen=True, forbid_unknown_fields=True):
    """The file with the rows of a shard."""

    file: FileSum
    fingerprint: str  # of the GameSpec that describes its observations
    matches: Count  # with rows; the others diverged when they were played again


class ShardNote(Struct, frozen=True, forbid_unknown_fields=True):
    """One shard: some matches in a file of the ledger and, once they are rendered, in a file of rows."""

    name: Annotated[str, Meta(pattern=r"^[0-9]{6,9}$")]
    ledger: FileSum
    matches: Annotated[int, Meta(ge=1, le=MOST_MATCHES)]
    decisions: Annotated[int, Meta(ge=0, le=MOST_DECISIONS)]
    ended_s: float  # unix time at which its last match ended
    rows: RowsNote | None = None


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of manifest.json."""

    game: Name  # name in the registry
    spec: GameNote  # as the hosts described it when the matches were played
    options: Annotated[dict[str, Any], Meta(max_length=1000)]  # Any: the game's own struct checks them
    engine: dict[str, Any]  # Any: what the hosts said about themselves, such as versions
    ludus: str  # version
    policies: list[PolicyNote]
    replayable: bool  # True if the same seeds and actions give the same matches
    rows_spec: GameNote | None = None  # describes the rows that were rendered last; None without rows
    plan: PlanNote | None = None  # None for datasets that were merged or filtered
    shards: Annotated[list[ShardNote], Meta(max_length=MOST_SHARDS)] = []
    voided: dict[str, int] = {}  # lost matches by reason; each was played again
    format: Literal["ludus-dataset"] = "ludus-dataset"
    version: Annotated[int, Meta(ge=1, le=1)] = 1

    @property
    def matches(self) -> int:
        return sum(shard.matches for shard in self.shards)

    @property
    def decisions(self) -> int:
        return sum(shard.decisions for shard in self.shards)


def read(folder: Path) -> Manifest:
    """Read the manifest of a dataset. Raises DatasetError if there is none or it is damaged."""
    path = folder / MANIFEST
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError as error:
        raise DatasetError(f"{folder} is no dataset: there is no {MANIFEST} in it") from error
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {files.reason(error)}") from error
    if len(data) > LARGEST:
        raise DatasetError(f"{path} is larger than {LARGEST >> 20} MiB, which no manifest is")
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DatasetError(f"{path} is no manifest of a dataset: {error}") from error
    _check(manifest, path)
    return manifest


def write(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest atomically; it is on the disk on return. Raises OSError."""
    data = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    files.replace(folder / MANIFEST, data, durable=True)


def _check(manifest: Manifest, path: Path) -> None:
    names = [shard.name for shard in manifest.shards]
    if len(set(names)) != len(names):
        raise DatasetError(f"{path} lists a shard twice")
    for spec in (manifest.spec, manifest.rows_spec or manifest.spec):
        if not 1 <= spec.seats <= limits.SEATS or not 1 <= spec.actions <= limits.ACTIONS:
            raise DatasetError(f"{path} describes a game with {spec.seats} seats and {spec.actions} actions")
    plan = manifest.plan
    if plan is not None and max(plan.a, plan.b) >= len(manifest.policies):
        raise DatasetError(f"{path} plans matches of policy {max(plan.a, plan.b)} and lists {len(manifest.policies)}")
