"""Where policies play, decided without the devices that are decided upon."""

from __future__ import annotations

import pytest
import torch

from ludus.config.settings import PolicyConfig
from ludus.errors import ConfigError
from ludus.policies.placement import LONG_MINIBATCH, choose, describe


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a GPU")


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_auto_is_the_cpu_and_cuda_is_refused() -> None:
    chosen = choose(PolicyConfig(), "mlp", rows=64)
    assert chosen.device.type == "cpu"
    assert describe(chosen, PolicyConfig()) == "playing on cpu (there is no CUDA device here): one thread, fp32"
    with pytest.raises(ConfigError, match=r"policy\.device: there is no CUDA device here; accepted are auto and cpu"):
        choose(PolicyConfig(device="cuda"), "mlp", rows=64)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(
    ("net", "rows", "minibatch", "device"),
    [
        ("mlp", 64, 0, "cuda"),
        ("mlp", 64, 512, "cuda"),
        ("pointer", 64, 512, "cuda"),
        ("pointer", 2, 0, "cpu"),
        ("mlp", 64, LONG_MINIBATCH, "cpu"),
        ("transformer", 2, LONG_MINIBATCH, "cuda"),
        ("entities", 2, LONG_MINIBATCH, "cuda"),
    ],
)
def test_auto_leaves_small_nets_on_the_cpu_where_a_gpu_would_make_them_wait(
    net: str, rows: int, minibatch: int, device: str
) -> None:
    assert choose(PolicyConfig(), net, rows=rows, minibatch=minibatch).device.type == device


@pytest.mark.usefixtures("gpu")
def test_a_device_that_is_asked_for_is_taken_and_named() -> None:
    asked = PolicyConfig(device="cuda", precision="bf16")
    assert describe(choose(asked, "mlp", rows=1), asked) == "playing on cuda (a GPU): captured graphs, bf16"
    assert choose(PolicyConfig(device="cpu"), "transformer", rows=64).device.type == "cpu"
