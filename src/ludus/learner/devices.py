"""Chooses the device on which the learner computes."""

from __future__ import annotations

from typing import NamedTuple

import torch

from ludus.errors import ConfigError

ACCEPTED = "accepted are auto, cpu, cuda, cuda:N and mps"


class DeviceChoice(NamedTuple):
    device: torch.device
    why: str  # for the log: the model of the device, or why `auto` chose it


def choose(name: str) -> DeviceChoice:
    """Return the device with this name; for `auto`, the first available of cuda, mps and cpu.

    Raises ConfigError if this machine does not have the device.
    """
    if name != "auto":
        return DeviceChoice(_existing(name), _model(torch.device(name)))
    if torch.cuda.is_available():
        device = torch.device("cuda")
        return DeviceChoice(device, _model(device))
    if torch.backends.mps.is_available():
        return DeviceChoice(torch.device("mps"), "")
    return DeviceChoice(torch.device("cpu"), "there is no cuda or mps device here")


def multiplies_bf16(device: torch.device) -> bool:
    """Return True for a CPU with bf16 instructions. Without them, bf16 is many times slower than float32."""
    if device.type != "cpu":
        return False
    able = torch.cpu.get_capabilities()
    return bool(able.get("avx512_bf16") or able.get("amx_bf16"))


def _existing(name: str) -> torch.device:
    try:
        device = torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ConfigError(f"device: {name!r} cannot be used here ({reason}); {ACCEPTED}") from error
    if device.type not in ("cpu", "cuda", "mps"):
        raise ConfigError(f"device: {name!r} cannot be used for training; {ACCEPTED}")
    return device


def _model(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else ""
