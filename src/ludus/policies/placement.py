"""On which device policies play."""

from __future__ import annotations

from typing import NamedTuple

import torch

from ludus.config.settings import PolicyConfig
from ludus.errors import ConfigError

FEW_ROWS = 8  # a small net chooses for fewer on the CPU in the time that one launch takes
LONG_MINIBATCH = 4096  # decisions; a learner with larger ones keeps the device for milliseconds at a time


class Playing(NamedTuple):
    device: torch.device
    why: str  # in words: which one it is, or why `auto` is this one


def choose(config: PolicyConfig, net: str, *, rows: int, minibatch: int = 0) -> Playing:
    """The device for about so many rows; `minibatch`: of a learner that works on CUDA at the same time, 0: none does.

    `auto` is CUDA where there is one, but for nets that a CPU can bear (mlp, pointer) when rows are few, or when the
    learner would make each batch wait. For 32 rows an H200 took 0.12 (mlp) and 0.28 ms (pointer), beside a learner with
    minibatches of 512 it took 0.40 and 0.56, of 16,384 2.5; one thread next to it 1.2 and 0.8, for a transformer 160.
    Raises ConfigError for a device that is not here.
    """
    if config.device == "cpu":
        return Playing(torch.device("cpu"), "")
    if not torch.cuda.is_available():
        if config.device == "cuda":
            raise ConfigError("policy.device: there is no CUDA device here; accepted are auto and cpu")
        return Playing(torch.device("cpu"), "there is no CUDA device here")
    device = torch.device("cuda", torch.cuda.current_device())
    if config.device == "auto" and net != "transformer":
        if rows < FEW_ROWS:
            return Playing(torch.device("cpu"), f"{rows} rows are too few for a launch to pay")
        if minibatch >= LONG_MINIBATCH:
            return Playing(
                torch.device("cpu"), f"a learner with minibatches of {minibatch:,} would keep it waiting for the GPU"
            )
    return Playing(device, torch.cuda.get_device_name(device))


def describe(playing: Playing, config: PolicyConfig) -> str:
    """One line for the start of a run."""
    threads = "one thread" if config.threads == 1 else f"{config.threads} threads"
    how = "captured graphs" if playing.device.type == "cuda" else threads
    why = f" ({playing.why})" if playing.why else ""
    return f"playing on {playing.device.type}{why}: {how}, {config.precision}"
