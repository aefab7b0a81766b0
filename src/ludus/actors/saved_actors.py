"""The file with the running matches of all actors of a run.

<checkpoint>/matches.safetensors   with one actor: its matches (actors/in_flight.py)
                                   with several: metadata `actors`: their number
                                   tensors actor-0, actor-1 ...: the file of each as bytes; missing if it did not save
                                   parts.*: parts that wait for the rest of their batch
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save

from ludus import files
from ludus.actors import division
from ludus.actors.in_flight import ACTORS, OF_ACTOR
from ludus.actors.port import ActorPort, wait_for_any
from ludus.actors.resolved import ResolvedRun
from ludus.errors import LudusError
from ludus.policies.checkpoints import checksums
from ludus.policies.checkpoints.read_errors import reading
from ludus.types import SegmentBatch

PARTS_HEADER = "parts_header"  # array: number of actions, number of parts
log = logging.getLogger(__name__)


def save_one(actor: ActorPort, path: Path, wait_s: float) -> bool:
    """Let the only actor write its matches to `path`.

    Returns False if it does not answer in time or cannot save its matches. Raises OSError if it cannot write,
    TrainingError if it does not play or dies meanwhile, and the error that it reports.
    """
    actor.begin_save(path)
    until_s = time.monotonic() + wait_s
    while actor.saving and (left_s := until_s - time.monotonic()) > 0:
        actor.poll(left_s)
    return actor.end_save()


def save_all(
    actors: Sequence[ActorPort], count: int, path: Path, wait_s: float, waiting: Sequence[SegmentBatch]
) -> bool:
    """Let several actors write their matches, all at the same time, and join their files into one at `path`.

    count: number of actors of the run, including those that were given up. waiting: parts that wait for the rest of
    their batch. Actors that do not save are logged and left out. Returns False if there is nothing to save. Raises
    OSError if a file cannot be written.
    """
    paths = {actor.index: path.with_name(f"{path.name}.{actor.index}") for actor in actors}
    try:
        saved = _saved(actors, paths, wait_s)
        if not saved and not waiting:
            return False
        arrays: dict[str, NDArray[Any]] = {  # Any: columns of several types
            OF_ACTOR.format(index): np.fromfile(paths[index], np.uint8) for index in saved
        }
        arrays |= _packed(waiting)
        files.write(path, save(arrays, {ACTORS: str(count)}), durable=True)
    finally:
        for each in paths.values():
            with suppress(OSError):
                each.unlink(missing_ok=True)
    return True


def read_waiting(path: Path, run: ResolvedRun) -> list[SegmentBatch]:
    """Return the parts in a file that wait for the rest of their batch; none in a file of one actor.

    Raises CheckpointError if they are damaged or of a run with other parts.
    """
    with reading(path), safe_open(checksums.verified(path), "np") as file:
        prefix = "parts."
        arrays = {name: file.get_tensor(name) for name in file.keys() if name.startswith(prefix)}  # noqa: SIM118  it is no mapping
        if not arrays:
            return []
        columns = {name.removeprefix(prefix): array for name, array in arrays.items()}
        actions, parts = (int(number) for number in file.get_tensor(PARTS_HEADER))
        each = division.segments_of(run.config) // run.actors.batch_parts
        shape = (parts * each, run.config.rollout.segment)
        if columns["action"].shape != shape or any(len(array) != shape[0] for array in columns.values()):
            raise ValueError(f"its parts have segments of shape {columns['action'].shape}, the run's {shape}")
        joined = SegmentBatch.unpack(columns, {"actions": actions})
        return [joined.take(slice(at * each, (at + 1) * each)) for at in range(parts)]


def _saved(actors: Sequence[ActorPort], paths: Mapping[int, Path], wait_s: float) -> list[int]:
    """Return the indices of the actors that have saved their matches.

    An actor that has saved is not polled any more, so that the metrics are those of the saved matches.
    """
    saved: list[int] = []
    pending = []
    for actor in actors:
        try:
            actor.begin_save(paths[actor.index])
            pending.append(actor)
        except LudusError as error:
            _warn(actor, str(error))
    until_s = time.monotonic() + wait_s
    while pending:
        for actor in list(pending):
            try:
                while actor.saving and actor.poll(0):
                    pass
                if actor.saving and time.monotonic() < until_s:
                    continue
                pending.remove(actor)
                if actor.end_save():
                    saved.append(actor.index)
                else:
                    _warn(actor, "it did not report them")
            except LudusError as error:
                if actor in pending:
                    pending.remove(actor)
                _warn(actor, str(error))
        if pending:
            wait_for_any(pending, max(0.0, until_s - time.monotonic()))
    return saved


def _warn(actor: ActorPort, why: str) -> None:
    log.warning("the matches of actor %d are not saved: %s", actor.index, why)


def _packed(parts: Sequence[SegmentBatch]) -> dict[str, NDArray[Any]]:
    """Return the arrays of parts as they are saved. Any: columns of several types."""
    if not parts:
        return {}
    joined = parts[0].empty_like(sum(len(part.action) for part in parts))
    at = 0
    for part in parts:
        joined.put_from(at, part, slice(None))
        at += len(part.action)
    arrays = {f"parts.{name}": array for name, array in joined.pack().items()}
    return {**arrays, PARTS_HEADER: np.array([joined.legal.shape[2], len(parts)])}
