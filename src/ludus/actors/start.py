"""Where the batches of a run come from: an actor here or in a process of its own, that goes on from a checkpoint."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ludus.actors import in_flight
from ludus.actors.actor import open_actor
from ludus.actors.in_flight import ActorState, Underway
from ludus.actors.sources import OverlappedSource, SerialSource
from ludus.config.settings import RunConfig
from ludus.errors import CheckpointError
from ludus.games.registry import Game
from ludus.league.pool import Pool
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.policies.checkpoints import checkpoint, checksums
from ludus.policies.checkpoints.checkpoint import State
from ludus.policies.checkpoints.files import reading

log = logging.getLogger(__name__)


@contextmanager
def open_source(
    config: RunConfig, run_dir: Path, game: Game, saved: Path | None, metrics: Metrics
) -> Iterator[SerialSource | OverlappedSource]:
    pool = Pool(run_dir / "pool", config.opponents.pool)
    version, state, found = 0, None, None
    if saved is not None:
        note = checkpoint.read_state(saved)
        if not begins_stage(note) or checksums.holds(saved / checkpoint.MATCHES):
            found = _under_way(saved / checkpoint.MATCHES, config, metrics)
        with reading(saved / checkpoint.STATE):
            version, state = note.version, None if note.actor is None else msgspec.convert(note.actor, ActorState)
        pool.retain(note.pool)  # what came after the checkpoint never was; what was thinned since is gone
    if config.mode == "overlapped":
        matches = None if saved is None or found is None else saved / checkpoint.MATCHES
        with OverlappedSource(
            config, run_dir, metrics, version=version, pool=pool.versions(), state=state, matches=matches
        ) as overlapped:
            yield overlapped
        return
    with open_actor(
        config, game, run_dir / "logs", pool, version=version, past=pool.versions(), state=state, found=found
    ) as actor:
        yield SerialSource(actor, metrics)


def begins_stage(state: State) -> bool:
    """Whether it was saved between two stages, or before the first update of one."""
    return state.curriculum is not None and state.curriculum.get("updates") == state.version


def _under_way(path: Path, config: RunConfig, metrics: Metrics) -> Underway | None:
    """None, counted and logged: the matches begin anew."""
    try:
        return in_flight.read(path, config)
    except CheckpointError as error:
        metrics.add(names.BEGUN_ANEW)
        log.warning("%s; matches begin anew", error)
        return None
