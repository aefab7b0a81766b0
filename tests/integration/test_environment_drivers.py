"""What the benchmarks of environments measure does what its name says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.drivers.environments import MEAN_S, SIGMA, Idle, make

DRIVER = Path(__file__).parents[2] / "benchmarks" / "drivers" / "collect.py"


@pytest.mark.parametrize("who", ["ours", "gymnasium"])
def test_a_collector_counts_steps_and_ends_quietly(who: str) -> None:
    command = [sys.executable, str(DRIVER), who, "straggler", "4"]
    asked = json.dumps({"seconds": 0.3}) + "\n"
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    ready, answer = (json.loads(line) for line in done.stdout.splitlines())
    assert ready == {"ready": True}
    assert answer["decisions"] > 0
    assert "Traceback" not in done.stderr


def test_stragglers_wait_as_long_as_they_say_on_average() -> None:
    draws = np.random.default_rng(1).lognormal(np.log(MEAN_S) - SIGMA**2 / 2, SIGMA, 1_000_000)
    assert draws.mean() == pytest.approx(MEAN_S, rel=0.02)


def test_episodes_of_the_idle_environment_end_after_about_a_hundred_steps() -> None:
    environment = make("idle")
    assert isinstance(environment, Idle)
    environment.reset(seed=1)
    steps = next(step for step in range(1, 200) if environment.step(3)[2])
    assert 90 <= steps <= 110
