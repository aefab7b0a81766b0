"""The work around captured graphs: padding, parts, fallback, weights. The stream runs the function itself."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludus.config.settings import PolicyConfig, RecurrentConfig
from ludus.policies.distributions import Categorical, Distribution
from ludus.policies.gpu import graphs
from ludus.policies.gpu.graphs import Engine, padded
from ludus.policies.gpu.streams import WARM_UPS, DirectStream, Run
from ludus.policies.nets import build
from ludus.policies.nets.heads import Heads
from ludus.policies.nets.net import forward_fused
from ludus.policies.nets.recurrence import Recall
from ludus.policies.sampling import SampledBatch
from ludus.spec import GameSpec, ObsSpec
from ludus.types import Arrivals

LEAVES = {"id": ("uint16", (3,)), "flag": ("uint8", (2, 2)), "delta": ("int8", (4,)), "x": ("float32", (5,))}
SPEC = GameSpec("fake", 2, 6, ObsSpec.pack({name: (dtype, shape) for name, (dtype, shape) in LEAVES.items()}), 1)


class CountingStream(DirectStream):
    """Notes what was captured, and refuses to capture where it is told why."""

    def __init__(self, trouble: str = "") -> None:
        super().__init__()
        self.trouble = trouble
        self.captures = 0
        self.started = 0

    def capture(self, run: Run, *, warm_ups: int = WARM_UPS) -> Run:
        self.captures += 1
        if self.trouble:
            raise RuntimeError(self.trouble)
        run()  # as a capture warms up
        return run

    def start(self, run: Run) -> None:
        self.started += 1
        super().start(run)


class Judging:
    """A net, and how many rows each call had."""

    def __init__(self, seed: int = 7) -> None:
        self.net = build(SPEC, PolicyConfig(), "mlp", seed=seed)
        with torch.no_grad():
            for parameter in self.net.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed)) * 0.2)
        self.rows: list[int] = []

    def __call__(
        self, obs: dict[str, Tensor], legal: Tensor, recall: Recall | None = None
    ) -> tuple[Distribution, Tensor]:
        self.rows.append(len(legal))
        return self.net(obs, legal)


def arrivals(n: int, seed: int = 0) -> Arrivals:
    random = np.random.default_rng(seed)
    obs = random.integers(0, 100, (n, SPEC.obs.nbytes)).astype(np.uint8)
    SPEC.obs.leaf(obs, "x")[:] = random.normal(size=(n, 5))
    legal = random.random((n, 6)) < 0.5
    legal[np.arange(n), random.integers(0, 6, n)] = True
    return Arrivals(
        np.arange(n, dtype=np.int32), np.zeros(n, np.int64), obs, legal, np.zeros(n, np.float32), np.zeros(n, np.bool_)
    )


def numbers(n: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).random((1, n), dtype=np.float32)


def chosen(engine: Engine, came: Arrivals, uniform: NDArray[np.float32] | None) -> SampledBatch:
    engine.launch(came, uniform)
    return engine.collect()


def expected(judging: Judging, came: Arrivals, uniform: NDArray[np.float32] | None) -> tuple[Tensor, Tensor, Tensor]:
    """Leaf by leaf, without padding."""
    obs = {name: torch.from_numpy(leaf.copy()) for name, leaf in SPEC.obs.view(came.obs).items()}
    with torch.no_grad():
        said, value = judging.net(obs, torch.from_numpy(came.legal))
        action = said.best() if uniform is None else said.draw(torch.from_numpy(uniform))
        return action, said.log_prob(action), value


def check(found: SampledBatch, wanted: tuple[Tensor, Tensor, Tensor]) -> None:
    np.testing.assert_array_equal(found.action, wanted[0].numpy())
    np.testing.assert_allclose(found.logp, wanted[1].numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found.value, wanted[2].numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("rows", "size"), [(0, 1), (1, 1), (2, 2), (3, 4), (64, 64), (65, 128), (8192, 8192)])
def test_rows_are_padded_to_the_next_power_of_two(rows: int, size: int) -> None:
    assert padded(rows) == size


@pytest.mark.parametrize("greedy", [False, True])
def test_choices_are_those_of_the_net_for_the_same_numbers_whatever_lay_in_the_buffers_before(greedy: bool) -> None:
    judging = Judging()
    engine = Engine(judging, SPEC, CountingStream(), greedy=greedy)
    for n in (5, 1, 130, 64, 65, 3, 7, 0):
        came, uniform = arrivals(n, seed=n), None if greedy else numbers(n, seed=n)
        check(chosen(engine, came, uniform), expected(judging, came, uniform))


def test_each_padded_size_is_captured_once_and_only_when_it_is_needed() -> None:
    stream, judging = CountingStream(), Judging()
    engine = Engine(judging, SPEC, stream)
    judging.rows.clear()
    for n in (3, 4, 3, 9, 16, 4):
        chosen(engine, arrivals(n), numbers(n))
    assert stream.captures == 2
    assert judging.rows == [4, 4, 4, 4, 16, 16, 16, 4]  # a capture runs once by itself


def test_more_rows_than_a_graph_takes_are_chosen_for_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "MAX_ROWS", 16)
    stream, judging = CountingStream(), Judging()
    engine = Engine(judging, SPEC, stream)
    for n in (16, 17, 32, 45):
        came, uniform = arrivals(n), numbers(n)
        check(chosen(engine, came, uniform), expected(judging, came, uniform))
    assert max(judging.rows) == 16


def test_other_weights_are_played_with_without_a_capture() -> None:
    stream, judging, other = CountingStream(), Judging(), Judging(seed=8)
    engine = Engine(judging, SPEC, stream)
    came, uniform = arrivals(20), numbers(20)
    before = chosen(engine, came, uniform)
    with torch.no_grad():
        for parameter, new in zip(judging.net.parameters(), other.net.parameters(), strict=True):
            parameter.copy_(new)
    after = chosen(engine, came, uniform)
    assert not np.allclose(before.value, after.value)
    check(after, expected(other, came, uniform))
    assert stream.captures == 1


def test_where_nothing_can_be_captured_it_is_said_once_and_choices_are_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    judging, stream = Judging(), CountingStream(trouble="operation not permitted when stream is capturing\nmore")
    engine = Engine(judging, SPEC, stream)
    with caplog.at_level(logging.WARNING):
        for n in (3, 9, 30):
            came, uniform = arrivals(n), numbers(n)
            check(chosen(engine, came, uniform), expected(judging, came, uniform))
    assert stream.captures == 1
    assert [record.message.rpartition(": ")[2] for record in caplog.records] == [
        "operation not permitted when stream is capturing"
    ]


class FusingStream(CountingStream):
    fuses = True


def test_graphs_are_of_the_operations_where_kernels_cannot_be_made_and_it_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fused(obs: dict[str, Tensor], legal: Tensor, recall: Recall | None) -> Heads:
        raise OSError("there is no compiler here\nmore")

    judging, stream = Judging(), FusingStream()
    engine = Engine(judging, SPEC, stream, fused=fused)
    with caplog.at_level(logging.WARNING):
        for n in (3, 9, 30, 3):
            came, uniform = arrivals(n), numbers(n)
            check(chosen(engine, came, uniform), expected(judging, came, uniform))
    assert stream.captures == 4  # the first in vain
    (record,) = caplog.records
    assert record.getMessage().startswith(
        "CUDA graphs are captured without fused kernels, so inference takes up to twice as long: "
    )
    assert "more" not in record.getMessage()


@pytest.mark.parametrize("kind", ["none", "lstm"])
def test_a_plain_net_that_stops_before_its_heads_says_what_it_would_have_said(kind: str) -> None:
    config = PolicyConfig(recurrent=RecurrentConfig(kind=kind, width=8))  # type: ignore[arg-type]  # a word it takes
    net, came = build(SPEC, config, "mlp", seed=3), arrivals(9)
    obs = {name: torch.from_numpy(leaf.copy()) for name, leaf in SPEC.obs.view(came.obs).items()}
    legal = torch.from_numpy(came.legal)
    with torch.inference_mode():
        stopped, (said, value) = forward_fused(net, obs, legal), net(obs, legal)
        assert isinstance(stopped, Heads)
        later, later_value = stopped.outputs(legal)
    assert isinstance(said, Categorical)
    torch.testing.assert_close(later.log_probs, said.log_probs)
    torch.testing.assert_close(later_value, value)


def test_nothing_is_done_on_memory_before_it_was_cleared() -> None:
    told: list[str] = []

    class TellingStream(CountingStream):
        def follow(self) -> None:
            told.append("follow")

        def start(self, run: Run) -> None:
            told.append("start")
            super().start(run)

    engine = Engine(Judging(), SPEC, TellingStream(trouble="no"))
    told.clear()
    for n in (3, 4, 9):
        chosen(engine, arrivals(n), numbers(n))
    assert told == ["follow", "start", "start", "follow", "start"]


def test_what_was_chosen_stays_when_other_rows_are_chosen_for() -> None:
    engine = Engine(Judging(), SPEC, DirectStream())
    first = chosen(engine, arrivals(8, seed=1), numbers(8))
    kept = [array.copy() for array in first[:3]]
    chosen(engine, arrivals(8, seed=2), numbers(8, seed=2))
    for array, before in zip(first[:3], kept, strict=True):
        np.testing.assert_array_equal(array, before)


def test_a_second_launch_before_the_first_is_collected_is_refused() -> None:
    engine = Engine(Judging(), SPEC, DirectStream())
    engine.launch(arrivals(2), numbers(2))
    with pytest.raises(RuntimeError, match="collect that batch first"):
        engine.launch(arrivals(2), numbers(2))
