"""Change the stage of a run with a curriculum: save a checkpoint, then leave the training loop."""

from __future__ import annotations

import logging
import math
import time

from ludus.actors import in_flight
from ludus.league.curriculum import Curriculum, StageProgress
from ludus.metrics import names
from ludus.run.context import RunContext
from ludus.run.saving import Saver

log = logging.getLogger(__name__)


class ChangedError(Exception):
    """Ends the learner's loop, so that another stage can begin."""


class Stages:
    """Changes the stage of a run by the rules of its curriculum. Does nothing in a run without one."""

    def __init__(self, parts: RunContext, saver: Saver) -> None:
        self._parts = parts
        self._saver = saver
        self._not_before_s = -math.inf
        if parts.course is not None:
            parts.metrics.set(names.STAGE, parts.course.index + 1)
            parts.metrics.set(names.STAGES_TOTAL, parts.course.stages)
            parts.metrics.set(names.STAGE_NAME, parts.course.state.stage)

    def change_where_due(self) -> None:
        """Raise ChangedError if the rules demand another stage. If the change cannot be saved, try again later."""
        course = self._parts.course
        if course is not None and time.monotonic() >= self._not_before_s:
            self._change(course)

    def _change(self, course: Curriculum) -> None:
        before, standing = course.state, self._standing()
        change = course.due(standing)
        if change is None:
            return
        course.enter(change, standing)
        self._parts.change = change
        if self._saver.save() is None:
            self._parts.change, course.state = None, before
            self._not_before_s = time.monotonic() + self._parts.config.checkpoint.every_s
            log.warning("stage %s goes on: the change to %s could not be saved", change.before, change.after)
            return
        log.info(
            "update %d: %s from %s to %s: %s", standing.updates, change.way, change.before, change.after, change.why
        )
        raise ChangedError

    def _standing(self) -> StageProgress:
        metrics = self._parts.metrics
        reward, rates = in_flight.standing([state for state in self._parts.source.states() if state is not None])
        return StageProgress(
            self._parts.learner.version,
            int(metrics.counter(names.LEARNED)),
            int(metrics.counter(names.MATCHES)),
            reward,
            rates,
            self._parts.scores,
            self._parts.learner.used,
        )
