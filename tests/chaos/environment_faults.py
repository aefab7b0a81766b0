"""An environment that breaks on demand; tests copy it into the folder that hosts start in, as somebody's own module.

`fault` is what it does, `host` in which host (of LUDUS_HOST), `made` by which instance there (-1: by all).
"""

import os
import subprocess
import sys
import threading
import time

import gymnasium
import numpy as np

MADE = [0]
STEPS = 6
FAULT_AT = 3


class Faulty(gymnasium.Env):  # type: ignore[type-arg]  # as people write them
    observation_space = gymnasium.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(4)

    def __init__(self, fault="", host=0, made=-1):  # type: ignore[no-untyped-def]  # as above
        mine = os.environ.get("LUDUS_HOST") == str(host) and made in (-1, MADE[0])
        self.fault = fault if mine else ""
        MADE[0] += 1
        self.steps = 0

    def reset(self, *, seed=None, options=None):  # type: ignore[no-untyped-def]
        super().reset(seed=seed)
        self.steps = 0
        if self.fault == "raise in reset":
            raise RuntimeError("reset was told to fail")
        if self.fault == "noise":
            print("printed to stdout")
            os.write(1, b"written to descriptor 1")
            subprocess.run([sys.executable, "-c", "print('printed by a child')"], check=True)
            threading.Thread(target=time.sleep, args=(3600,), daemon=False).start()
        return np.zeros(3, np.float32), {}

    def step(self, action):  # type: ignore[no-untyped-def]
        self.steps += 1
        shown, info = np.full(3, 0.1 * self.steps, np.float32), {}
        if self.steps == FAULT_AT:
            if self.fault == "raise in step":
                raise ValueError("step was told to fail")
            if self.fault == "die":
                os._exit(3)
            if self.fault == "die twice" and _first_two():
                os._exit(3)
            if self.fault == "hang":
                time.sleep(3600)
            shown = {
                "wrong shape": np.zeros(5, np.float32),
                "NaN": np.array([0, np.nan, 0], np.float32),
                "huge observation": np.zeros(30_000_000, np.float32),
            }.get(self.fault, shown)
            masks = {"empty mask": [0, 0, 0, 0], "long mask": [1] * 9}
            info = {"action_mask": np.array(masks[self.fault])} if self.fault in masks else {}
        return shown, 1.0, self.steps >= STEPS, False, info


def _first_two() -> bool:
    for number in range(2):
        try:
            os.close(os.open(f"died-{number}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        return True
    return False
