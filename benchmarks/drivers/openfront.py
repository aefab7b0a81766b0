"""Play OpenFront without learning. Usage: openfront.py ours|net|sb3 OPTIONS HOSTS MATCHES.

ours   a fleet of HOSTS hosts with MATCHES matches each, and the scripted player `cautious`
net    the same with an untrained net
sb3    Stable-Baselines3's SubprocVecEnv of HOSTS x MATCHES environments, each with a host of one match in a process of
       its own, which SB3 steps together; the same player
"""

from __future__ import annotations

import atexit
import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import msgspec
import numpy as np
import psutil
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.drivers import fleet as fleet_driver
from benchmarks.drivers.lines import Answer, answer_requests

from ludus.config.settings import FleetConfig
from ludus.fleet.fleet import HostFleet
from ludus.games.openfront.scripted import listed_actions
from ludus.games.registry import load
from ludus.types import Arrivals

PAUSE_S = 1e6  # hosts wait this long for their turn to be measured
SEED = 1


def main(kind: str, options: str, hosts: str, matches: str) -> None:
    if kind == "sb3":
        answer_requests(sb3(json.loads(options), int(hosts) * int(matches)))
        return
    with started(json.loads(options), int(hosts), int(matches)) as fleet:
        game = load("openfront")
        net = fleet_driver._net(fleet.spec, game) if kind == "net" else game.scripted["cautious"](fleet.spec, SEED)
        answer_requests(fleet_driver.play(fleet, net))


def started(options: dict[str, Any], hosts: int, matches: int, seed: int = SEED) -> HostFleet:  # Any: the game's own
    game = load("openfront")
    checked = msgspec.convert(options, game.options)
    logs = tempfile.mkdtemp(prefix="ludus-bench-")
    return HostFleet(
        game.command(checked),
        FleetConfig(reply_deadline_s=PAUSE_S),
        options=msgspec.to_builtins(checked),
        seed=seed,
        log_dir=Path(logs),
        hosts=hosts,
        matches=matches,
    )


class HostEnv(gymnasium.Env[NDArray[np.uint8], int]):
    """One match in one host, as a Gymnasium environment. The mask is part of `info`."""

    def __init__(self, options: dict[str, Any], number: int) -> None:  # Any: the game's own
        self._fleet = started(options, 1, 1, seed=SEED + number)
        atexit.register(self._fleet.close)
        self._arrivals = self._wait()
        spec = self._fleet.spec
        self.observation_space = gymnasium.spaces.Box(0, 255, (spec.obs.nbytes,), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(spec.actions)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return self._arrivals.obs[0], {"legal": self._arrivals.legal[0]}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._fleet.send(self._arrivals.row, np.array([action], np.int32))
        self._arrivals = self._wait()
        reward = float(self._arrivals.reward[0])
        return self._arrivals.obs[0], reward, bool(self._arrivals.opens[0]), False, {"legal": self._arrivals.legal[0]}

    def _wait(self) -> Arrivals:
        while not len(arrivals := self._fleet.recv(30.0)):
            pass
        return arrivals


def sb3(options: dict[str, Any], number: int) -> Callable[[float], Answer]:  # Any: the game's own
    import time

    from stable_baselines3.common.vec_env import SubprocVecEnv

    makers: list[Callable[[], Any]] = [partial(HostEnv, options, i) for i in range(number)]  # Any: SB3 has no types
    vector = SubprocVecEnv(makers, start_method="forkserver")
    atexit.register(vector.close)
    vector.reset()
    legal = [info["legal"] for info in vector.reset_infos]
    modest = np.array([each["share"] <= 0.2 and each["kind"] != "noop" for each in _listed(options)])
    random = np.random.default_rng(SEED)

    def measure(seconds: float) -> Answer:
        nonlocal legal
        begin, cpu_s, decisions = time.perf_counter(), fleet_driver.used_cpu_s(), 0
        while time.perf_counter() - begin < seconds:
            masks = np.array(legal)
            draws = np.where(masks & modest, random.random(masks.shape), -1.0)
            actions = draws.argmax(1)
            actions[((random.random(number) < 0.8) | ~(masks & modest).any(1)) & masks[:, 0]] = 0
            *_, infos = vector.step(actions)
            legal = [info["legal"] for info in infos]
            decisions += number
        rss = [child.memory_info().rss / 2**20 for child in psutil.Process().children(recursive=True)]
        return {
            "decisions": decisions,
            "seconds": time.perf_counter() - begin,
            "cpu_s": fleet_driver.used_cpu_s() - cpu_s,
            "host_rss_mib": sum(rss),
        }

    return measure


def _listed(options: dict[str, Any]) -> list[dict[str, Any]]:  # Any: the game's own
    with started(options, 1, 1) as fleet:
        return listed_actions(fleet.spec)


if __name__ == "__main__":
    main(*sys.argv[1:])
