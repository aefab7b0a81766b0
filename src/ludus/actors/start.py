"""Starts the actor of a run, from a checkpoint if there is one."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ludus.actors import in_flight
from ludus.actors.actor import open_actor
from ludus.actors.in_flight import ActorState, InFlight
from ludus.actors.resolved import ResolvedRun
from ludus.actors.sources import OverlappedSource, SerialSource
from ludus.errors import CheckpointError
from ludus.league.pool import Pool
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.policies.checkpoints import checkpoint, checksums
from ludus.policies.checkpoints.checkpoint import State
from ludus.policies.checkpoints.read_errors import reading

log = logging.getLogger(__name__)


@contextmanager
def open_source(run: ResolvedRun, run_dir: Path, metrics: Metrics) -> Iterator[SerialSource | OverlappedSource]:
    """Start the actor of a run, in this process or in one of its own, and yield the source of its batches."""
    pool = Pool(run_dir / "pool", run.config.opponents.pool)
    state, in_flight_file, in_flight_state = None, None, None
    if run.checkpoint is not None:
        saved = run.checkpoint.state
        in_flight_file = run.checkpoint.path / checkpoint.MATCHES
        if not begins_stage(saved) or checksums.holds(in_flight_file):
            in_flight_state = _in_flight(in_flight_file, run, metrics)
        with reading(run.checkpoint.path / checkpoint.STATE):
            state = None if saved.actor is None else msgspec.convert(saved.actor, ActorState)
        pool.retain(saved.pool)  # removes past selves that are newer than the checkpoint
    past = pool.versions()
    if run.config.mode == "overlapped":
        with OverlappedSource(
            run, run_dir, metrics, pool=past, state=state, matches=None if in_flight_state is None else in_flight_file
        ) as overlapped:
            yield overlapped
        return
    with open_actor(
        run, run_dir / "logs", pool, version=run.version, past=past, state=state, saved=in_flight_state
    ) as actor:
        yield SerialSource(actor, metrics)


def begins_stage(state: State) -> bool:
    """Return True if a state was saved between two stages, or before the first update of a stage."""
    return state.curriculum is not None and state.curriculum.get("updates") == state.version


def _in_flight(path: Path, run: ResolvedRun, metrics: Metrics) -> InFlight | None:
    """Read the matches that were in flight.

    If that fails, logs the reason, counts it and returns None: new matches begin.
    """
    try:
        return in_flight.read(path, run)
    except CheckpointError as error:
        metrics.add(names.BEGUN_ANEW)
        log.warning("%s; matches begin anew", error)
        return None
