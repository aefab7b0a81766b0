"""A minute of a seeded storm over a real training run; `scripts/storm.py --minutes 60` is the same for longer.

Faults that leave or kill the run itself take most of a minute for a few: the long storm has them. This one ends with
SIGTERM, --resume and a budget that is used up.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.storm import plan, scenarios
from tests.storm.storm import storm

SEED = 21
SECONDS = 30.0
SLOW = frozenset({"actor-stop"})  # an actor counts as hung after two minutes


@pytest.mark.timeout(300)
@pytest.mark.skipif(sys.platform != "linux", reason="faults are injected through /proc")
def test_a_minute_of_faults_loses_no_match_and_leaves_nothing(tmp_path: Path) -> None:
    restarts = {name for name, kind in plan.KINDS.items() if kind.restarts}
    outcome = storm(scenarios.TOY, tmp_path / "storm", seed=SEED, seconds=SECONDS, without=sorted(restarts | SLOW))
    assert outcome.problems == []
    assert outcome.faults >= 3
    assert outcome.account.begun > 0
    assert outcome.account.missing == 0
    assert outcome.reports == 2
