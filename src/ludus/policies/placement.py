"""Chooses the device on which policies play (`policy.device`)."""

from __future__ import annotations

from typing import NamedTuple

import torch

from ludus.config.settings import PolicyConfig
from ludus.errors import ConfigError
from ludus.policies.nets.attention import ATTENDING

FEW_ROWS = 8  # for fewer rows, a small net is as fast on the CPU as one launch on the GPU
LONG_MINIBATCH = 4096  # decisions; a learner with minibatches of this size occupies the GPU for milliseconds at a time


class Playing(NamedTuple):
    """The device on which a policy plays, and why."""

    device: torch.device
    why: str  # the name of the GPU, or the reason why `auto` means the CPU; may be empty


def choose(config: PolicyConfig, net: str, *, rows: int, minibatch: int = 0) -> Playing:
    """Return the device for a policy that chooses for about `rows` rows at once.

    net: the name of the net. minibatch: the minibatch size of a learner that uses the GPU at the same time; 0 if none
    does. `policy.device: auto` means CUDA if there is a GPU, with two exceptions for nets without attention blocks:
    they play on the CPU if there are fewer than FEW_ROWS rows, or if `minibatch` is at least LONG_MINIBATCH, because
    each batch would then wait for the learner's kernels. Raises ConfigError if CUDA is configured and there is no GPU.
    """
    if config.device == "cpu":
        return Playing(torch.device("cpu"), "")
    if not torch.cuda.is_available():
        if config.device == "cuda":
            raise ConfigError("policy.device: there is no CUDA device here; accepted are auto and cpu")
        return Playing(torch.device("cpu"), "there is no CUDA device here")
    device = torch.device("cuda", torch.cuda.current_device())
    if config.device == "auto" and net not in ATTENDING:
        if rows < FEW_ROWS:
            return Playing(torch.device("cpu"), f"{rows} rows are too few to be faster on the GPU")
        if minibatch >= LONG_MINIBATCH:
            return Playing(
                torch.device("cpu"), f"on the GPU it would wait for the learner's minibatches of {minibatch:,}"
            )
    return Playing(device, torch.cuda.get_device_name(device))


def describe(playing: Playing, config: PolicyConfig) -> str:
    """Return the line that a run logs at its start."""
    threads = "one thread" if config.threads == 1 else f"{config.threads} threads"
    how = "captured graphs" if playing.device.type == "cuda" else threads
    why = f" ({playing.why})" if playing.why else ""
    return f"playing on {playing.device.type}{why}: {how}, {config.precision}"
