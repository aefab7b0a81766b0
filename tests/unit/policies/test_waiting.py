"""No net may wait for its device while it chooses, which no captured graph can. Watched on the CPU, where none does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from tests.unit.policies.gpu.test_cuda import CASES, arrivals, player
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from ludus.games.showdown.net import pointer
from ludus.policies.gpu.graphs import Engine
from ludus.policies.gpu.streams import WARM_UPS, DirectStream, Run
from ludus.policies.nets.trimming import Trimming

WAITING = ("nonzero", "_local_scalar_dense", "masked_select", "_unique", "is_nonzero", "equal", "bincount")


class NoWaiting(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves it untyped
    """Refuses operations whose result, or the size of it, the CPU has to know."""

    def __torch_dispatch__(
        self,
        func: Any,  # Any: torch's own
        types: Sequence[type],
        args: tuple[Any, ...] = (),  # Any: of any operation
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        name = func.overloadpacket.__name__
        chosen = args[1] if name in ("index", "index_put", "index_put_") else ()
        by_mask = any(isinstance(at, Tensor) and at.dtype == torch.bool for at in chosen)
        if name.startswith(WAITING) or by_mask:
            raise RuntimeError(f"{name} waits for the device")
        return func(*args, **(kwargs or {}))


class WatchedStream(DirectStream):
    def capture(self, run: Run, *, warm_ups: int = WARM_UPS) -> Run:
        with NoWaiting():  # type: ignore[no-untyped-call]  # torch leaves it untyped
            run()
        return run


def everywhere(device: torch.device) -> bool:
    """As on a GPU."""
    return True


@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("case", list(CASES))
def test_no_net_waits_for_the_device_while_it_chooses(
    case: str, bf16: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pointer, "scores_all", everywhere)
    monkeypatch.setattr(Trimming, "__call__", lambda self, inputs, legal: inputs)  # as on a GPU
    spec, config = CASES[case]
    policy = player(spec, config, WatchedStream(), bf16=bf16)
    policy.act(arrivals(spec, 5, seed=1))
    assert caplog.text == ""  # else it would say why it was not captured


@pytest.mark.parametrize("case", ["doubles", "doubles preview"])
def test_choices_are_the_same_whether_all_or_only_the_wanted_are_scored(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, config = CASES[case]
    wanted, all_of_them = (player(spec, config, DirectStream()) for _ in range(2))
    for seed in range(3):
        came = arrivals(spec, 20, seed=seed)
        theirs = wanted.act(came)
        with monkeypatch.context() as patched:
            patched.setattr(pointer, "scores_all", everywhere)
            ours = all_of_them.act(came)
        np.testing.assert_array_equal(ours.action, theirs.action)
        np.testing.assert_allclose(ours.logp, theirs.logp, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "looks", [lambda x: x[x > 0].sum(), lambda x: torch.tensor(float(x.sum())), lambda x: x.nonzero().float().sum()]
)
def test_what_waits_is_seen(looks: Callable[[Tensor], Tensor]) -> None:
    watching = NoWaiting()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    with pytest.raises(RuntimeError, match="waits for the device"), watching:
        looks(torch.ones(3))


def test_an_engine_says_why_a_net_that_waits_is_not_captured(caplog: pytest.LogCaptureFixture) -> None:
    spec, config = CASES["mlp"]
    policy = player(spec, config, DirectStream())

    def judge(obs: dict[str, Tensor], legal: Tensor, recall: object) -> Any:  # Any: a distribution and values
        assert legal.any()
        return policy.net(obs, legal)

    engine = Engine(judge, spec, WatchedStream(), greedy=True)
    engine.launch(arrivals(spec, 5, seed=1), None)
    engine.collect()
    assert "is_nonzero waits for the device" in caplog.text or "_local_scalar_dense waits" in caplog.text
