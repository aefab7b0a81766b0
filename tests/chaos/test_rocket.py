"""An arena that breaks among healthy ones: its match is lost and counted, its place has another, the others play on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("RocketSim", reason="needs the extra rocket")

from tests.playing import play, voided

from ludus.config.settings import FleetConfig
from ludus.fleet.fleet import HostFleet
from ludus.processes.command import HostCommand

PROGRAM = """
import sys
from ludus.games.rocket import host
from ludus.games.rocket.arena import Pitch
from ludus.sdk.serve import serve

fault, calls = sys.argv[1], 0
step = Pitch.step

def failing(self, *arguments):
    global calls
    calls += 1
    if calls == 50 and fault == "raise":
        raise RuntimeError("the arena is broken")
    step(self, *arguments)
    if calls == 50 and fault == "NaN":
        state = self.cars[0].get_state()
        state.boost = float("nan")
        self.cars[0].set_state(state)

Pitch.step = failing
sys.exit(serve(host.make_game))
"""


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("raise", "host: RuntimeError: the arena is broken"),
        ("NaN", "host: RuntimeError: !!DETECTED NaN VALUE IN CAR DATA!!"),
    ],
)
def test_a_fault_of_one_arena_loses_its_match_and_no_other(tmp_path: Path, fault: str, reason: str) -> None:
    program = tmp_path / "faulty_rocket.py"
    program.write_text(PROGRAM)
    command = HostCommand((sys.executable, str(program), fault))
    options = {"timeout_s": 2.0, "rewards": {"touch": 1.0}}
    config = FleetConfig(hosts=1, matches=4, backoff_s=0.01)
    with HostFleet(command, config, options=options, seed=1, log_dir=tmp_path / "logs") as fleet:
        played = play(fleet, lambda played: len(played.finished) >= 12)
        assert voided(fleet) == {reason: 1}
        assert fleet.health.restarts == 0
        assert {int(ending.rows[0]) // 2 for ending in played.finished} == {0, 1, 2, 3}
