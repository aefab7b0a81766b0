"""Updates of a run that plays and also learns from a dataset. All updates share one net and one optimiser."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ludus.learner.algorithms import AnyAlgorithm
from ludus.learner.cloning import BehaviourCloning
from ludus.metrics import names
from ludus.spec import GameSpec
from ludus.types import SegmentBatch


class MixedUpdater:
    """Learns from played batches with an algorithm, and from recorded ones by cloning. Implements `loop.Updater`.

    An algorithm for datasets (awr) learns from both kinds itself.
    """

    def __init__(self, algorithm: AnyAlgorithm, spec: GameSpec, *, is_recorded: Callable[[], bool]) -> None:
        """`is_recorded` returns whether the present batch comes from the dataset."""
        self.weights = algorithm.weights
        self._algorithm, self._is_recorded = algorithm, is_recorded
        self._cloning: AnyAlgorithm = algorithm
        if not algorithm.recorded:
            optimiser = algorithm.optimiser
            self._cloning = BehaviourCloning(
                algorithm.net, spec, algorithm.config, algorithm.generator, optimiser.device, optimiser=optimiser
            )

    def update(self, batch: SegmentBatch, lr: float) -> Mapping[str, float]:
        """Make one update and return the numbers to report. Recorded decisions do not count as `names.LEARNED`."""
        if not self._is_recorded():
            numbers = dict(self._algorithm.update(batch, lr))
            numbers.pop(names.AGREEMENT, None)  # with its own actions
            return numbers
        cloning = self._cloning.update(batch, lr)
        if names.SKIPPED in cloning:
            return cloning
        return {
            names.AGREEMENT: cloning[names.AGREEMENT],
            names.NON_FINITE: cloning[names.NON_FINITE],
            names.RECORDED: batch.decisions,
            names.LEARNED: 0.0,
        }
