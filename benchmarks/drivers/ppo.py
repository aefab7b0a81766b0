"""End-to-end PPO: ppo.py WHO ENVIRONMENT NUMBER, for bench_stragglers.py and bench_cheap_envs.py.

All programs use the same settings (see the constants). `ours` is a whole training run with actor, learner and metrics,
without evaluations. It never pauses by itself, so the benchmark stops and continues it with signals.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch
from benchmarks.drivers.environments import game_of, make
from benchmarks.drivers.lines import Answer, answer_requests

ROOT = Path(__file__).parents[2]
DECISIONS, MINIBATCH, EPOCHS = 2048, 256, 4  # an update
HIDDEN = 64  # two layers of it
LR, GAMMA, LAMBDA, CLIP, ENTROPY, VALUE, GRAD_NORM = 2.5e-4, 0.99, 0.95, 0.2, 0.01, 0.5, 0.5
PAUSE_S = 1e6
QUICK_START = "fork"  # its default lets each of 64 processes import all anew, for minutes; steps are the same

Update = Callable[[], int]  # collects and learns once, and returns how many steps that were


def ours(environment: str, number: int) -> None:
    from benchmarks.drivers.train import Watcher

    from ludus import run
    from ludus.actors import supervised
    from ludus.actors.resolved import resolve
    from ludus.run import reporting

    reporting.PROGRESS_S = 0.05  # a user sees one report a second, which is coarse for a measurement of a few
    supervised.SILENCE_S = PAUSE_S
    data = {
        "game": game_of(environment),
        "n_envs": number,
        "device": "cpu",
        "fleet": {"reply_deadline_s": PAUSE_S},
        "policy": {"width": HIDDEN // 4},
        "rollout": {"segment": max(8, DECISIONS // number)},
        "learner": {
            "decisions": DECISIONS,
            "minibatch": MINIBATCH,
            "epochs": EPOCHS,
            "lr": LR,
            "lr_schedule": "constant",
            "gamma": GAMMA,
            "entropy_coef": ENTROPY,
            "value_coef": VALUE,
            "max_grad_norm": GRAD_NORM,
            "ppo": {"gae_lambda": LAMBDA, "clip": CLIP, "target_kl": 0.0},
        },
        "opponents": {"past": 0.0, "scripted": 0.0},
        "evaluation": {"every_updates": 1_000_000_000},
        "checkpoint": {"every_s": PAUSE_S},
        "budget": {"minutes": PAUSE_S},
    }
    watcher = Watcher()

    def answer_until_told_to_leave() -> None:
        watcher.wait_for_updates(2)
        answer_requests(watcher.measure)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=answer_until_told_to_leave, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="ludus-bench-") as folder:
        run.train(resolve(data), Path(folder) / "run", observer=watcher)


def sb3(environment: str, number: int, processes: bool) -> Update:
    """Train with Stable-Baselines3: slow environments run in processes, cheap ones in its own, as in its manual."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

    makers: list[Callable[[], Any]] = [partial(make, environment) for _ in range(number)]  # Any: Gymnasium's own
    vector = SubprocVecEnv(makers, start_method=QUICK_START) if processes else DummyVecEnv(makers)
    atexit.register(vector.close)
    model = PPO(
        "MlpPolicy",
        vector,
        learning_rate=LR,
        n_steps=DECISIONS // number,
        batch_size=MINIBATCH,
        n_epochs=EPOCHS,
        gamma=GAMMA,
        gae_lambda=LAMBDA,
        clip_range=CLIP,
        ent_coef=ENTROPY,
        vf_coef=VALUE,
        max_grad_norm=GRAD_NORM,
        policy_kwargs={"net_arch": [HIDDEN, HIDDEN]},
        device="cpu",
    )

    def update() -> int:
        model.learn(DECISIONS, reset_num_timesteps=False)
        return DECISIONS

    return update


def main(who: str, environment: str, number: str, vector: str = "") -> None:
    os.environ["PYTHONPATH"] = str(ROOT)  # child processes, whoever starts them, find the environments
    torch.set_num_threads(1)  # for all: more are slower with nets this small, and the cores are the environments'
    if who == "ours":
        ours(environment, int(number))
        return
    if who == "sb3":
        update = sb3(environment, int(number), processes=vector == "processes")
    else:
        from benchmarks.drivers.cleanrl import cleanrl

        update = cleanrl(environment, int(number))

    def measure(seconds: float) -> Answer:
        begin, steps = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds:
            steps += update()
        return {"decisions": steps, "seconds": time.perf_counter() - begin}

    answer_requests(measure)


if __name__ == "__main__":
    main(*sys.argv[1:])
