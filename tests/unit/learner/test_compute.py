from __future__ import annotations

import pytest
import torch

from ludus.config.settings import ComputeConfig, LearnerConfig
from ludus.errors import ConfigError
from ludus.learner.compute import describe, plan
from ludus.learner.devices import DeviceChoice, choose

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
EVERYTHING = LearnerConfig(
    accumulate=4, compute=ComputeConfig(precision="fp16", compile=True, graphs=True, pinned=True)
)


def test_fp16_on_a_cpu_is_refused_with_its_place_and_what_would_be_accepted() -> None:
    with pytest.raises(ConfigError, match=r"learner\.compute\.precision: fp16 .* accepted there are fp32 and bf16"):
        plan(EVERYTHING, CPU)


def test_accumulation_that_does_not_divide_the_minibatch_is_refused_with_what_does() -> None:
    with pytest.raises(ConfigError, match=r"accumulate: 5 does .*minibatch: 12; accepted are 1, 2, 3, 4, 6, 12"):
        plan(LearnerConfig(minibatch=12, accumulate=5), CPU)


@pytest.mark.parametrize("name", ["nonsense", "cuda:99", "meta"])
def test_device_that_cannot_be_used_is_refused_with_those_that_can(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"device: '{name}' .*accepted are auto, cpu, cuda, cuda:N and mps"):
        choose(name)


def test_auto_takes_the_device_that_is_there() -> None:
    kinds = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    assert choose("auto").device.type == next(kind for kind, here in kinds.items() if here)
    assert choose("cpu").device == CPU


def test_everything_asked_for_is_on_where_the_device_has_it() -> None:
    chosen = plan(EVERYTHING, CUDA)
    assert chosen.autocast == torch.float16
    assert chosen.accumulate == 4
    assert all((chosen.scaled, chosen.compiled, chosen.fused, chosen.pinned))
    assert describe(chosen, DeviceChoice(CUDA, "a card"))[0] == "learner on cuda (a card)"
    assert describe(chosen, DeviceChoice(CUDA, ""))[2] == (
        "  off: CUDA graphs: loss scaling in fp16 decides between kernels"
    )


def test_start_says_what_is_off_and_why() -> None:
    asked = LearnerConfig(compute=ComputeConfig(graphs=True, compile=True, pinned=True))
    device, on, off = describe(plan(asked, CPU), DeviceChoice(CPU, "no other"))
    assert device == "learner on cpu (no other)"
    assert (
        on == "  on:  torch.compile (learner.compute.compile is true), fused optimiser (learner.compute.fused is true)"
    )
    assert "autocast: learner.compute.precision is fp32" in off
    assert "gradient accumulation: learner.accumulate is 1" in off
    assert "CUDA graphs: cpu has none" in off
    assert "pinned copies: cpu has no use for them" in off


def test_on_cuda_steps_are_captured_and_copies_pinned_unless_a_setting_forbids_it() -> None:
    chosen = plan(LearnerConfig(), CUDA)
    assert chosen.graphs
    assert chosen.pinned
    on = describe(chosen, DeviceChoice(CUDA, ""))[1]
    assert "CUDA graphs (learner.compute.graphs is auto: one launch a minibatch)" in on
    assert "pinned copies (learner.compute.pinned is auto)" in on
    for compute, why in (
        (ComputeConfig(graphs=False), "learner.compute.graphs is false"),
        (ComputeConfig(fused=False), "they need learner.compute.fused"),
    ):
        refused = plan(LearnerConfig(compute=compute), CUDA)
        assert not refused.graphs
        assert f"CUDA graphs: {why}" in describe(refused, DeviceChoice(CUDA, ""))[2]


@pytest.mark.parametrize("able", ["avx512_bf16", "amx_bf16", "avx512_f"])
def test_auto_is_bf16_on_a_cpu_with_instructions_for_it_and_fp32_elsewhere(
    able: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True, able: True})
    asked = LearnerConfig(compute=ComputeConfig(precision="auto"))
    chosen = plan(asked, CPU)
    _, on, off = describe(chosen, DeviceChoice(CPU, ""))
    if able == "avx512_f":
        assert chosen.autocast is None
        assert "autocast: learner.compute.precision is auto, which is fp32 here" in off
    else:
        assert chosen.autocast == torch.bfloat16
        assert "autocast (learner.compute.precision is auto, which is bf16 on a CPU with instructions for it)" in on
    assert plan(asked, CUDA).autocast is None


def test_losses_of_a_recurrent_net_are_not_compiled() -> None:
    chosen = plan(EVERYTHING, CUDA, remembers=True)
    assert not chosen.compiled
    assert not chosen.graphs
    assert "torch.compile: the inputs of a recurrent net have" in describe(chosen, DeviceChoice(CUDA, ""))[2]
