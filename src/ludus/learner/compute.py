"""Decides how the learner computes: precision, gradient accumulation, torch.compile, fused Adam, pinned copies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch

from ludus.config.settings import LearnerConfig
from ludus.errors import ConfigError
from ludus.learner.devices import DeviceChoice, multiplies_bf16

DTYPES = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of the learner's computation, such as torch.compile, and why it is on or off."""

    name: str
    on: bool
    why: str  # the setting that decides, or why the feature cannot be used


@dataclass(frozen=True, slots=True)
class ComputePlan:
    """The features that `Optimiser` and `Intake` use, each with the reason why it is on or off."""

    autocast: (
        torch.dtype | None
    )  # precision of forward passes (None: float32); weights, losses and Adam stay in float32
    scaled: bool  # losses are scaled up, so that small gradients do not underflow in fp16
    accumulate: int
    compiled: bool
    graphs: bool  # steps are captured as CUDA graphs
    fused: bool
    pinned: bool
    features: tuple[Feature, ...]


def plan(config: LearnerConfig, device: torch.device, *, remembers: bool = False) -> ComputePlan:
    """Return the plan for a configuration and a device. A feature that this device cannot use is off in the plan.

    `remembers` is True for recurrent nets. Raises ConfigError for settings that cannot work.
    """
    compute, kind = config.compute, device.type
    if compute.precision == "fp16" and kind == "cpu":
        raise ConfigError(
            "learner.compute.precision: fp16 does not work on a CPU; accepted there are fp32 and bf16, "
            "or set device to cuda or mps"
        )
    if config.minibatch % config.accumulate:
        raise ConfigError(
            f"learner.accumulate: {config.accumulate} does not divide learner.minibatch: {config.minibatch}; "
            f"accepted are {_listed(_divisors(config.minibatch))}"
        )
    precision = compute.precision
    if precision == "auto":
        precision = "bf16" if multiplies_bf16(device) else "fp32"
    features = tuple(_features(config, kind, precision, remembers))
    on = {feature.name: feature.on for feature in features}
    return ComputePlan(
        autocast=DTYPES[precision],
        scaled=on[SCALER],
        accumulate=config.accumulate,
        compiled=on[COMPILE],
        graphs=on[GRAPHS],
        fused=on[FUSED],
        pinned=on[PINNED],
        features=features,
    )


def describe(plan: ComputePlan, device_choice: DeviceChoice) -> list[str]:
    """Return lines for the start of a run: the device, the features that are on and off, and why."""
    used = ", ".join(f"{feature.name} ({feature.why})" for feature in plan.features if feature.on)
    idle = "; ".join(f"{feature.name}: {feature.why}" for feature in plan.features if not feature.on)
    return [
        f"learner on {device_choice.device}" + (f" ({device_choice.why})" if device_choice.why else ""),
        f"  on:  {used or 'none'}",
        f"  off: {idle or 'none'}",
    ]


AUTOCAST, SCALER, ACCUMULATION = "autocast", "loss scaling", "gradient accumulation"
COMPILE, GRAPHS, FUSED, PINNED = "torch.compile", "CUDA graphs", "fused optimiser", "pinned copies"


def _features(config: LearnerConfig, kind: str, precision: str, remembers: bool) -> Iterator[Feature]:
    compute = config.compute
    why = f"learner.compute.precision is {compute.precision}"
    if compute.precision == "auto":
        why += f", which is {precision} {'here' if precision == 'fp32' else 'on a CPU with instructions for it'}"
    yield Feature(AUTOCAST, precision != "fp32", why)
    scaled = precision == "fp16"
    yield Feature(SCALER, scaled, why if scaled else f"{precision} needs none")
    yield Feature(ACCUMULATION, config.accumulate > 1, f"learner.accumulate is {config.accumulate}")
    compiled = _compile(config, remembers)
    yield compiled
    yield _graphs(config, kind, precision, remembers)
    yield Feature(FUSED, compute.fused, f"learner.compute.fused is {_word(compute.fused)}")
    pinned = bool(compute.pinned) and kind == "cuda"
    why = f"learner.compute.pinned is {_word(compute.pinned)}"
    yield Feature(PINNED, pinned, why if pinned or not compute.pinned else f"{kind} has no use for them")


def _compile(config: LearnerConfig, remembers: bool) -> Feature:
    compile = config.compute.compile
    if compile and remembers:
        return Feature(COMPILE, False, "the inputs of a recurrent net have another shape in every minibatch")
    return Feature(COMPILE, compile, f"learner.compute.compile is {_word(compile)}")


def _graphs(config: LearnerConfig, kind: str, precision: str, remembers: bool) -> Feature:
    graphs = config.compute.graphs
    why = f"learner.compute.graphs is {_word(graphs)}"
    obstacle = ""
    if kind != "cuda":
        obstacle = f"{kind} has none"
    elif remembers:
        obstacle = "the inputs of a recurrent net have another shape in every minibatch"
    elif precision == "fp16":
        obstacle = "loss scaling in fp16 decides between kernels"
    elif not config.compute.fused:
        obstacle = "they need learner.compute.fused"
    on = bool(graphs) and not obstacle
    return Feature(GRAPHS, on, f"{why}: one launch a minibatch" if on else why if not graphs else obstacle)


def _word(value: bool | Literal["auto"]) -> str:
    if value == "auto":
        return value
    return "true" if value else "false"


def _divisors(number: int) -> list[int]:
    return [divisor for divisor in range(1, number + 1) if number % divisor == 0]


def _listed(numbers: list[int]) -> str:
    first = numbers if len(numbers) <= 8 else numbers[:8]
    return ", ".join(map(str, first)) + (" ..." if first is not numbers else "")
