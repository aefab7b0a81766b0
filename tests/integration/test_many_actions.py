"""Games with thousands of actions: PettingZoo's chess, and the largest action set that environments may have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import psutil
import pytest

from ludus.config.settings import FleetConfig
from ludus.fleet.fleet import HostFleet
from ludus.games import registry
from ludus.games.environments.actions import MAX_ACTIONS
from ludus.types import Ending

CHESS_ACTIONS = 4672
MATCHES = 8
PLIES = 60
TURN_S = 30.0

LARGEST = """
import gymnasium
import numpy as np


class LargestEnv(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 1, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete({actions})

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(4, np.float32), {{}}

    def step(self, action):
        self.steps += 1
        return np.zeros(4, np.float32), float(action == {actions} - 1), self.steps == 5, False, {{}}
"""


def fleet_of(name: str, options: dict[str, object], log_dir: Path) -> HostFleet:
    game = registry.load(name)
    return HostFleet(
        game.command(game.options(**options)),
        FleetConfig(hosts=1),
        options=options,
        seed=1,
        log_dir=log_dir,
        matches=4,
        schedule=[(number, number) for number in range(MATCHES)],
    )


def play(fleet: HostFleet) -> tuple[list[Ending], int]:
    """Play the schedule with random legal actions. Returns the endings and the largest action that was played."""
    generator = np.random.default_rng(0)
    endings: list[Ending] = []
    largest = 0
    while len(endings) < MATCHES:
        arrivals = fleet.recv(TURN_S)
        endings += arrivals.endings
        draws = generator.random(arrivals.legal.shape) * arrivals.legal
        actions = draws.argmax(axis=1).astype(np.int32)
        largest = max(largest, int(actions.max(initial=0)))
        fleet.send(arrivals.row, actions)
    return endings, largest


def test_chess_is_played_and_its_host_stays_small(tmp_path: Path) -> None:
    options: dict[str, object] = {"env": "chess_v6", "max_steps": PLIES, "stepping": "in turn"}
    with fleet_of("pettingzoo", options, tmp_path) as fleet:
        assert fleet.spec.actions == CHESS_ACTIONS
        endings, _ = play(fleet)
        memory_mib = max(psutil.Process(pid).memory_info().rss for pid in fleet.pids) / 2**20
    assert not any(ending.void for ending in endings)
    assert all(ending.facts["turns"] <= PLIES for ending in endings)
    assert any(ending.facts["turns"] == PLIES for ending in endings)
    assert memory_mib < 400


def test_the_largest_action_set_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "largest.py").write_text(LARGEST.format(actions=MAX_ACTIONS), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with fleet_of("gymnasium", {"env": "largest:LargestEnv", "stepping": "in turn"}, tmp_path) as fleet:
        assert fleet.spec.actions == MAX_ACTIONS
        endings, largest = play(fleet)
    assert not any(ending.void for ending in endings)
    assert largest > 4096
