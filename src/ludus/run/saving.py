"""Writes and restores the checkpoints of a run. A failed write is counted and logged, and training continues."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from ludus import files
from ludus.actors import start
from ludus.errors import CheckpointError, LudusError
from ludus.metrics import accounts, names, times
from ludus.metrics.times import RunTimes
from ludus.policies.checkpoints import checkpoint, checksums
from ludus.policies.checkpoints.archive import BEST, Checkpoints
from ludus.policies.checkpoints.checkpoint import SavedCheckpoint, State
from ludus.policies.checkpoints.read_errors import reading
from ludus.policies.weights import read_tensors
from ludus.run.context import RunContext
from ludus.run.patience import patiently

Written = TypeVar("Written")
log = logging.getLogger(__name__)


class Saver:
    """Saves checkpoints and past selves of a run, and restores the run from a checkpoint."""

    def __init__(self, parts: RunContext, opponents: Callable[[], Struct]) -> None:
        """`opponents` returns what the run knows of its opponents."""
        self._parts, self._opponents = parts, opponents
        self._checkpoints = Checkpoints(parts.run_dir, parts.config.checkpoint.keep)
        self._saved_at = time.monotonic()
        self._trouble = ""  # why the latest attempt failed
        self._write_failures = 0  # failed writes of checkpoint files, which may succeed once the disk has space

    def is_due(self) -> bool:
        """Return True if the last checkpoint is older than `checkpoint.every_s`."""
        return time.monotonic() - self._saved_at >= self._parts.config.checkpoint.every_s

    def latest(self) -> Path | None:
        """Return the latest checkpoint of the run, or None if there is none."""
        return self._checkpoints.latest()

    def save(self, *, leaving: bool = False) -> Path | None:
        """Write a checkpoint of the present weights, the running matches and the replay buffer.

        Returns its path, or None if it could not be written. With `leaving`, the run is about to end, and the matches
        get less time to be saved.
        """
        parts = self._parts
        self._saved_at = time.monotonic()
        with parts.metrics.activity(names.CHECKPOINT):
            model = {**checkpoint.net_tensors(parts.algorithm.result), **checkpoint.table_tensors(parts.spec)}
            optimiser = parts.algorithm.state()
            # before the state, because saving also brings the counters of the actor up to date
            matches = self._attempt(lambda: self._write_matches(leaving), "the matches under way")
            if matches is None:
                self._discard(checkpoint.MATCHES)
            elif parts.change is not None:
                matches.unlink()  # they belong to the stage that ends
                matches = None
            replay = self._attempt(self._write_replay, "the replay buffer")
            if replay is None:
                self._discard(checkpoint.REPLAY)
            path = self._attempt(
                lambda: self._checkpoints.save(
                    self._state(), model, optimiser, matches, replay, between=parts.change is not None
                ),
                "the checkpoint",
            )
        if path is not None:
            self._attempt(parts.pool.sweep, "the pool of past selves")
            self._attempt(self._write_times, times.ACTIVITIES_FILE, names.TELEMETRY_FAILURES)
        else:
            self._discard(checkpoint.MATCHES, checkpoint.REPLAY)
        return path

    def save_last(self, stopped: Callable[[], bool]) -> None:
        """Write the last checkpoint. If the disk is full, retry for up to a minute or until a signal (patience.py)."""
        patiently(lambda: self._save_whole(leaving=stopped()), stopped)

    def unsaved(self) -> str:
        """Return what is lost if the run ends now, as text. Returns "" if its latest update is saved."""
        version, latest = self._parts.learner.version, self.latest()
        if self._checkpoints.holds(version):
            return ""
        consequence = (
            "there is no checkpoint, so everything it learned is lost"
            if latest is None
            else f"{latest.name} stays the latest checkpoint, and what was learned after it is lost"
        )
        return f"update {version} could not be saved ({self._trouble}); {consequence}"

    def save_evaluated(self) -> None:
        """Write a checkpoint, and mark it as the best one if its mean score is the highest so far."""
        latest, scores, course = self.save(), self._parts.scores, self._parts.course
        if latest is not None:
            mean = sum(scores.values()) / len(scores)
            stage = 0 if course is None else course.index
            self._attempt(lambda: self._checkpoints.mark_best(latest, mean, stage), BEST)

    def keep_past_self(self) -> None:
        """Add a snapshot of the weights to the pool of past selves, the opponents of later matches."""
        self._attempt(self._snapshot, "a past self")

    def restore(self, saved: SavedCheckpoint) -> None:
        """Load the state of a checkpoint. Raises CheckpointError if it is damaged or does not fit this run."""
        parts, path, state = self._parts, saved.path, saved.state
        with checkpoint.offering_another(path):
            model, optimiser = (read_tensors(path / name) for name in (checkpoint.MODEL, checkpoint.OPTIMISER))
        checkpoint.check_fits(state, parts.spec, path, staged=parts.course is not None)
        checkpoint.load_net(parts.algorithm.net, model, path)
        with reading(path / checkpoint.OPTIMISER, "cannot go on with"):
            parts.algorithm.load_state(optimiser)
        with reading(path / checkpoint.STATE):
            checkpoint.restore_generator(parts.algorithm.generator, state.generators["minibatches"])
        anew = parts.metrics.counter(names.BEGUN_ANEW)  # counted when the source was opened
        run_times = times.read(parts.run_dir)
        parts.metrics.restore(state.counters, None if run_times is None else run_times.times)
        if anew:
            missing = accounts.under_way(parts.metrics.counters()) - parts.source.under_way
            accounts.void(parts.metrics, max(0, missing), accounts.ANEW)
        parts.learner.version, parts.learner.training_s = state.version, state.training_s
        parts.scores = dict(state.scores)
        if start.begins_stage(state) and not checksums.holds(path / checkpoint.REPLAY):
            return
        try:
            parts.learner.feed.restore(path / checkpoint.REPLAY)
        except CheckpointError as error:
            log.warning("%s; the replay buffer begins anew", error)

    def _attempt(
        self, write: Callable[[], Written], what: str, counted: str = names.CHECKPOINT_FAILURES
    ) -> Written | None:
        """Return the result of `write`. If it fails, count and log that `what` was not written, and return None."""
        try:
            return write()
        except (CheckpointError, OSError) as error:
            self._parts.metrics.add(counted)
            cause = error.__cause__ or error
            self._trouble = files.reason(cause)
            self._write_failures += isinstance(cause, OSError) and counted == names.CHECKPOINT_FAILURES
            log.warning("%s", f"{what} cannot be written: {self._trouble}" if isinstance(error, OSError) else error)
            return None

    def _save_whole(self, *, leaving: bool) -> bool:
        """Write a checkpoint. Returns False if a file of it could not be written, so that a retry may help."""
        failures = self._write_failures
        self.save(leaving=leaving)
        return self._write_failures == failures

    def _discard(self, *names: str) -> None:
        """Remove unfinished files of a checkpoint, which take up disk space."""
        for name in names:
            with suppress(OSError):
                self._checkpoints.staged(name).unlink(missing_ok=True)

    def _write_matches(self, leaving: bool) -> Path | None:
        """Write the running matches. Returns None if they cannot be saved: the checkpoint is then written without them,
        and a resumed run starts new matches."""
        if not self._parts.playing:
            return None
        path, trouble = self._checkpoints.staged(), "they were not reported"
        try:
            if self._parts.source.save(path, leaving=leaving):
                return path
        except LudusError as error:
            trouble = str(error)
        log.warning("update %d is saved without the matches under way: %s", self._parts.learner.version, trouble)
        return None

    def _write_replay(self) -> Path | None:
        """Write the replay buffer. Returns None without one, if this version is already saved, or if the stage ends."""
        if self._checkpoints.holds(self._parts.learner.version) or self._parts.change is not None:
            return None
        path = self._checkpoints.staged(checkpoint.REPLAY)
        return path if self._parts.learner.feed.save(path) else None

    def _write_times(self) -> None:
        run = self._parts.run
        run_times = RunTimes(self._parts.metrics.times(), run.hosts, run.cores, run.actors.actors)
        times.write(self._parts.run_dir, run_times)

    def _snapshot(self) -> None:
        parts = self._parts
        parts.pool.add(parts.learner.version, checkpoint.net_tensors(parts.algorithm.net))
        versions = parts.pool.versions()
        parts.source.set_past(versions)
        parts.metrics.set(names.POOL, len(versions))

    def _state(self) -> State:
        parts, config = self._parts, self._parts.config
        actors, counters, scores = parts.source.states(), parts.metrics.counters(), parts.scores
        if parts.change is not None:
            matches = accounts.under_way(counters)
            counted = names.PROMOTIONS if parts.change.way == "promoted" else names.FALLBACKS
            for name, value in ((counted, 1), (names.UNFINISHED, matches)):
                counters[name] = counters.get(name, 0) + value
            actors, scores = [None if actor is None else actor.forget() for actor in actors], {}
        notes = [None if actor is None else msgspec.to_builtins(actor) for actor in actors]
        return State(
            version=parts.learner.version,
            game=checkpoint.note_game(parts.spec),
            options=dict(config.options),
            net=parts.run.net,
            policy=config.policy,
            counters=counters,
            training_s=parts.learner.training_s,
            generators={"minibatches": checkpoint.encode_generator(parts.algorithm.generator)},
            pool=parts.pool.versions(),
            actor=notes[0],
            other_actors=notes[1:],
            sampler=parts.source.position,
            scores=scores,
            curriculum=None if parts.course is None else msgspec.to_builtins(parts.course.state),
            opponents=msgspec.to_builtins(self._opponents()),
        )
