"""Step environments without learning: collect.py WHO ENVIRONMENT NUMBER, for bench_stragglers.py.

All programs choose at random and hold observations, rewards and endings in one array after each step.
"""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from benchmarks.drivers.environments import ACTIONS, game_of, make
from benchmarks.drivers.lines import Answer, answer_requests

from ludus.config import load
from ludus.fleet.fleet import HostFleet
from ludus.games import registry
from ludus.games.toy.scripted import RandomPolicy

ROOT = Path(__file__).parents[2]
PAUSE_S = 1e6  # nobody may be taken for hung while the others are measured
QUICK_START = "fork"  # its default lets each of 64 processes import all anew, for minutes; steps are the same
WAITED_FOR = 4  # tianshou goes on with the first quarter that is ready

Advance = Callable[[], int]  # plays on once and returns how many steps that were


def ours(environment: str, number: int) -> Advance:
    data = {"game": game_of(environment), "n_envs": number, "fleet": {"reply_deadline_s": PAUSE_S}}
    config = load.build(data, options_of=lambda name: registry.load(name).options)
    game = registry.load(config.game)
    folder = tempfile.TemporaryDirectory(prefix="ludus-bench-")
    fleet = HostFleet(
        game.command(game.options(**config.options)),
        config.fleet,
        options=config.options,
        seed=1,
        log_dir=Path(folder.name),
    )
    atexit.register(folder.cleanup)
    atexit.register(fleet.close)
    policy = RandomPolicy(fleet.spec, 1)

    def advance() -> int:
        arrivals = fleet.recv(1.0)
        if len(arrivals):
            fleet.send(arrivals.row, policy.act(arrivals).action)
        return len(arrivals)

    return advance


def sb3(environment: str, number: int) -> Advance:
    from stable_baselines3.common.vec_env import SubprocVecEnv

    makers: list[Callable[[], Any]] = [partial(make, environment) for _ in range(number)]  # Any: Gymnasium's own
    return _lockstep(SubprocVecEnv(makers, start_method=QUICK_START), number)


def gymnasium_async(environment: str, number: int) -> Advance:
    from gymnasium.vector import AsyncVectorEnv

    return _lockstep(AsyncVectorEnv([partial(make, environment) for _ in range(number)]), number)


def _lockstep(vector: Any, number: int) -> Advance:  # Any: of Stable-Baselines3 or of Gymnasium
    generator = np.random.default_rng(1)
    atexit.register(vector.close)
    vector.reset()

    def advance() -> int:
        vector.step(generator.integers(0, ACTIONS, number))
        return number

    return advance


def tianshou(environment: str, number: int) -> Advance:
    from tianshou.env import ShmemVectorEnv

    makers = [partial(make, environment) for _ in range(number)]
    vector = ShmemVectorEnv(makers, wait_num=number // WAITED_FOR)
    atexit.register(vector.close)
    generator = np.random.default_rng(1)
    vector.reset()
    ready = np.arange(number)

    def advance() -> int:
        nonlocal ready
        _, _, terminated, truncated, info = vector.step(generator.integers(0, ACTIONS, len(ready)), ready)
        ready = np.array([each["env_id"] for each in info])
        over = ready[np.logical_or(terminated, truncated)]
        if len(over):
            vector.reset(over)
        return len(ready)

    return advance


WHO: dict[str, Callable[[str, int], Advance]] = {
    "ours": ours,
    "sb3": sb3,
    "gymnasium": gymnasium_async,
    "tianshou": tianshou,
}


def main(who: str, environment: str, number: str) -> None:
    os.environ["PYTHONPATH"] = str(ROOT)  # child processes, whoever starts them, find the environments
    advance = WHO[who](environment, int(number))

    def measure(seconds: float) -> Answer:
        begin, steps = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds:
            steps += advance()
        return {"decisions": steps, "seconds": time.perf_counter() - begin}

    answer_requests(measure)


if __name__ == "__main__":
    main(*sys.argv[1:])
