"""When a measurement begins and ends, on reports of a run that did not happen."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from tests.clocks import Clock

from ludus.config.settings import RunConfig
from ludus.diagnostics.dimensions import Configuration
from ludus.diagnostics.training_trial import TrialMeasurement, TrialOrder, TrialProgress
from ludus.diagnostics.tuning import Due
from ludus.metrics import names
from ludus.metrics.core import Metrics

WARM_S, MEASURE_S = 2.0, 4.0


class Run:
    """Reports once a second; each update learns from 100 decisions and takes `update_s`."""

    def __init__(self, resources: ExitStack, update_s: float) -> None:
        self.phases: list[str] = []
        self.clock = Clock()
        order = TrialOrder(
            due=Due(0, 0, Configuration(())),
            settings=RunConfig(game="toy"),
            folder="",
            warm_s=WARM_S,
            measure_s=MEASURE_S,
        )
        self.measurement = TrialMeasurement(order, Metrics(), resources, self._note, lambda: self.clock.ns / 1e9)
        self._update_s = update_s

    def until_complete(self, first_update_s: float, limit_s: int = 100) -> None:
        for second in range(1, limit_s):
            self.clock.pass_s(1.0)
            updates = max(0, int((second - first_update_s) / self._update_s + 1)) if second >= first_update_s else 0
            self.measurement.on_progress(
                {
                    names.TRAINING_S: first_update_s + (updates - 1) * self._update_s if updates else 0.0,
                    names.LEARNED: 100 * updates,
                    names.UPDATES: updates,
                    names.LAG: 1.5,
                }
            )
            if self.measurement.is_complete():
                return
        raise AssertionError("the measurement did not end")

    def _note(self, progress: TrialProgress) -> None:
        self.phases.append(progress.phase)


@pytest.mark.parametrize("update_s", [0.25, 0.7, 1.3])
def test_the_rate_is_that_of_whole_updates_after_the_warm_up(update_s: float) -> None:
    with ExitStack() as resources:
        run = Run(resources, update_s)
        run.until_complete(first_update_s=5.0)
        trial = run.measurement.trial(2)
    assert trial.decisions_per_s == pytest.approx(100 / update_s)
    assert trial.updates_per_s == pytest.approx(1 / update_s)
    assert (trial.lag, trial.hosts) == (1.5, 2)
    assert run.phases[:5] == ["starting"] * 4 + ["warming up"]
    assert run.phases.count("warming up") == 2
    assert run.phases[-1] == "ending"


def test_few_updates_are_waited_for_and_very_slow_ones_not() -> None:
    with ExitStack() as resources:
        slow = Run(resources, 2.5)
        slow.until_complete(first_update_s=1.0)
        assert slow.measurement.trial(1).updates == 4
    with ExitStack() as resources:
        slower = Run(resources, 9.0)
        slower.until_complete(first_update_s=1.0)
        assert slower.measurement.trial(1).updates == 1
        assert slower.measurement.trial(1).updates_per_s == pytest.approx(1 / 9)
