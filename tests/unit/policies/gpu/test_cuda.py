"""Captured graphs on a CUDA device against the same operations launched one by one."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping

import msgspec
import numpy as np
import pytest
import torch
from tests.unit.games.showdown.net.test_chooser import rows_of
from tests.unit.games.showdown.net.test_pointer import SHOWDOWN_NETS, showdown_spec
from tests.unit.policies.nets.test_lists import SPEC as DUEL
from tests.unit.policies.nets.test_transformer import SPEC as CARDS
from torch import Tensor

from ludus.config.settings import PolicyConfig, RecurrentConfig
from ludus.policies import launching
from ludus.policies.distributions import Categorical
from ludus.policies.gpu.streams import WARM_UPS, CudaStream, Run, Stream
from ludus.policies.nets import build
from ludus.policies.nets.net import Net
from ludus.policies.nets.recurrence import Recall
from ludus.policies.network import NetPolicy
from ludus.spec import GameSpec, ObsSpec
from ludus.types import Arrivals, Choices

pytestmark = pytest.mark.cuda

LEAVES = {"id": ("uint16", (3,)), "flag": ("uint8", (2, 2)), "delta": ("int8", (4,)), "x": ("float32", (50,))}
SPEC = GameSpec("fake", 2, 6, ObsSpec.pack({name: (dtype, shape) for name, (dtype, shape) in LEAVES.items()}), 1)
LSTM = RecurrentConfig(kind="lstm", width=32)
CASES = {
    "mlp": (SPEC, PolicyConfig(net="mlp")),
    "lstm": (SPEC, PolicyConfig(net="mlp", recurrent=LSTM)),
    "gru": (SPEC, PolicyConfig(net="mlp", recurrent=RecurrentConfig(kind="gru", width=32))),
    "transformer": (CARDS, PolicyConfig(net="transformer")),
    "entities": (DUEL, PolicyConfig(net="entities")),
    "entities lstm": (DUEL, PolicyConfig(net="entities", recurrent=LSTM)),
    "transformer lstm": (CARDS, PolicyConfig(net="transformer", recurrent=LSTM)),
    "singles": (showdown_spec(1, 2), PolicyConfig(net="pointer")),
    "doubles": (showdown_spec(2, 2), PolicyConfig(net="pointer")),
    "doubles preview": (showdown_spec(2, 2, preview=90), PolicyConfig(net="pointer", recurrent=LSTM)),
}


class EagerStream(CudaStream):
    """Launches operation by operation."""

    fuses = False

    def capture(self, run: Run, *, warm_ups: int = WARM_UPS) -> Run:
        return run


class CountingStream(CudaStream):
    captures = 0

    def capture(self, run: Run, *, warm_ups: int = WARM_UPS) -> Run:
        self.captures += 1
        return super().capture(run)


def device() -> torch.device:
    return torch.device("cuda", torch.cuda.current_device())


def player(spec: GameSpec, config: PolicyConfig, stream: Stream | None, *, bf16: bool = False) -> NetPolicy:
    """With weights far from those it is born with, so that its choices differ."""
    policy = NetPolicy(
        build(spec, config, "mlp", seed=3, game_nets=SHOWDOWN_NETS),
        spec,
        generator=torch.Generator().manual_seed(5),
        stream=stream,
        bf16=bf16,
    )
    vector = policy.weights.numpy()
    policy.adopt(vector + np.random.default_rng(0).normal(scale=0.05, size=len(vector)).astype(np.float32), 1)
    return policy


def arrivals(spec: GameSpec, n: int, seed: int) -> Arrivals:
    random = np.random.default_rng(seed)
    if "move" in spec.tables:
        obs, legal = rows_of(spec, n, seed, preview="preview" in spec.tables and seed % 2 == 1)
    else:
        obs = np.zeros((n, spec.obs.nbytes), np.uint8)
        for leaf in spec.obs.leaves:
            values = random.random((n, *leaf.shape)) * (8 if leaf.unit == 1 else 1 / leaf.unit)
            spec.obs.leaf(obs, leaf.name)[:] = values.astype(leaf.storage_dtype)
        legal = random.random((n, spec.actions)) < 0.6
        legal[:, 1] = True
    rows = np.sort(random.permutation(2 * n)[:n]).astype(np.int32)
    opens = random.random(n) < 0.2
    return Arrivals(rows, np.zeros(n, np.int64), obs, legal, np.zeros(n, np.float32), opens)


def assert_same(ours: Choices, theirs: Choices, *, bf16: bool = False) -> None:
    """What is chosen, and all that is said of it. Kernels that add in another order may round a number to the next one
    of bfloat16, and so may what decides between two actions, once in a hundred times."""
    same = ours.action == theirs.action
    assert same.mean() >= 1 - len(same) // 50 / len(same) if bf16 else same.all()
    tolerance = 2e-2 if bf16 else 1e-5
    np.testing.assert_allclose(ours.logp[same], theirs.logp[same], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(ours.value, theirs.value, rtol=tolerance, atol=tolerance)
    assert (ours.hidden_state is None) == (theirs.hidden_state is None)
    if ours.hidden_state is not None and theirs.hidden_state is not None:
        np.testing.assert_allclose(ours.hidden_state, theirs.hidden_state, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("case", list(CASES))
def test_a_graph_chooses_what_its_operations_choose_one_by_one(
    case: str, bf16: bool, caplog: pytest.LogCaptureFixture
) -> None:
    spec, config = CASES[case]
    by_graph, one_by_one = (player(spec, config, stream(device()), bf16=bf16) for stream in (CudaStream, EagerStream))
    for at, n in enumerate((64, 5, 33, 64, 1, 7)):
        came = arrivals(spec, n, seed=at)
        ours, theirs = by_graph.act(came), one_by_one.act(came)
        assert came.legal[np.arange(n), ours.action].all()
        assert_same(ours, theirs, bf16=bf16)
    assert caplog.text == ""  # else it would say why it was not captured


@pytest.mark.parametrize("case", list(CASES))
def test_a_graph_chooses_what_the_cpu_chooses_for_the_same_numbers(case: str) -> None:
    spec, config = CASES[case]
    by_graph, on_cpu = player(spec, config, CudaStream(device())), player(spec, config, None)
    for at, n in enumerate((200, 17)):
        came = arrivals(spec, n, seed=at)
        ours, theirs = by_graph.act(came), on_cpu.act(came)
        same = ours.action == theirs.action
        assert same.mean() > 0.98  # a number may fall between two sums that round differently
        np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-2, atol=1e-2)
        np.testing.assert_allclose(ours.logp[same], theirs.logp[same], rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("case", ["mlp", "lstm", "singles", "transformer"])
def test_other_weights_are_played_with_without_a_capture(case: str, bf16: bool) -> None:
    spec, config = CASES[case]
    stream = CountingStream(device())
    by_graph, other = player(spec, config, stream, bf16=bf16), player(spec, config, EagerStream(device()), bf16=bf16)
    came = msgspec.structs.replace(arrivals(spec, 30, seed=1), opens=np.ones(30, np.bool_))
    before = by_graph.act(came)
    vector = other.weights.numpy() * 0.7
    for policy in (by_graph, other):
        policy.generator.manual_seed(9)
        policy.adopt(vector, 2)
    after, wanted = by_graph.act(came), other.act(came)
    assert stream.captures == 1
    assert after.version == 2
    assert not np.allclose(before.value, after.value, atol=1e-4)
    assert_same(after, wanted, bf16=bf16)


def test_policies_launched_together_choose_what_they_choose_alone() -> None:
    spec, config = CASES["lstm"]
    together, alone = ([player(spec, config, CudaStream(device())) for _ in range(4)] for _ in range(2))
    for policies in (together, alone):
        for at, policy in enumerate(policies):
            policy.adopt(policy.weights.numpy() * (1 + at / 4), at)
            policy.generator.manual_seed(at)
    for step in range(3):
        came = [arrivals(spec, 40 + at, seed=10 * step + at) for at in range(4)]
        found = launching.act(list(zip(together, came, strict=True)))
        for policy, rows, ours in zip(alone, came, found, strict=True):
            theirs = policy.act(rows)
            assert_same(ours, theirs)


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("actions", [2, 17, 300, 700])  # of the last, more than a kernel for the heads takes
def test_heads_and_draw_are_those_of_the_operations_for_any_number_of_actions(actions: int, greedy: bool) -> None:
    spec = GameSpec("fake", 2, actions, SPEC.obs, 1)
    by_graph, one_by_one = (
        NetPolicy(
            build(spec, PolicyConfig(width=9, layers=1), "mlp", seed=3), spec, greedy=greedy, stream=stream(device())
        )
        for stream in (CudaStream, EagerStream)
    )
    for policy in (by_graph, one_by_one):
        policy.adopt(policy.weights.numpy() * 3, 1)
    for n in (1, 40):
        came = arrivals(spec, n, seed=n)
        ours, theirs = by_graph.act(came), one_by_one.act(came)
        assert came.legal[np.arange(n), ours.action].all()
        assert_same(ours, theirs)


@pytest.mark.parametrize("tokens", [3, 40, 200])  # of the last, more than a kernel for attention takes
def test_attention_is_that_of_the_operations_for_any_number_of_tokens(
    tokens: int, caplog: pytest.LogCaptureFixture
) -> None:
    spec = GameSpec("fake", 2, 5, ObsSpec.pack({"each": ("float32", (tokens, 3)), "all": ("float32", (2,))}), 1)
    config = PolicyConfig(net="transformer", width=24, heads=2)
    by_graph, one_by_one = (player(spec, config, stream(device())) for stream in (CudaStream, EagerStream))
    came = arrivals(spec, 9, seed=1)
    spec.obs.leaf(came.obs, "each")[:, tokens // 2 :] = 0  # of which nothing is known
    assert_same(by_graph.act(came), one_by_one.act(came))
    assert caplog.text == ""


def test_graphs_are_captured_without_kernels_that_cannot_be_made_and_it_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.delitem(sys.modules, "ludus.policies.gpu.kernels.deciding", raising=False)
    monkeypatch.delattr("ludus.policies.gpu.kernels.deciding", raising=False)
    stream = CountingStream(device())
    without, one_by_one = player(SPEC, PolicyConfig(), stream), player(SPEC, PolicyConfig(), EagerStream(device()))
    for n in (4, 30, 4):
        came = arrivals(SPEC, n, seed=n)
        assert_same(without.act(came), one_by_one.act(came))
    assert stream.captures == 3  # the first without success
    (record,) = caplog.records
    assert "captured without fused kernels" in record.getMessage()
    assert "triton" in record.getMessage()


class Asking(Net):
    """A net that looks at a number while it computes, which no graph can."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = build(SPEC, PolicyConfig(), "mlp", seed=1)

    def outputs(
        self, inputs: Mapping[str, Tensor], legal: Tensor, recall: Recall | None = None
    ) -> tuple[Categorical, Tensor]:
        dist, value = self.inner(inputs, legal)
        assert isinstance(dist, Categorical)
        scale = 2.0 if float(value.sum()) > 0 else 1.0
        return Categorical(dist.log_probs * scale, legal), value


def test_a_net_that_cannot_be_captured_plays_all_the_same_and_it_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asking = NetPolicy(Asking(), SPEC, stream=CudaStream(device()), greedy=True)
    plain = NetPolicy(build(SPEC, PolicyConfig(), "mlp", seed=1), SPEC, greedy=True)
    with caplog.at_level(logging.WARNING):
        for n in (4, 9, 30):
            came = arrivals(SPEC, n, seed=n)
            np.testing.assert_array_equal(asking.act(came).action, plain.act(came).action)
    assert len(caplog.records) == 1
    assert "this net cannot be captured as a CUDA graph on cuda" in caplog.text
    after = player(SPEC, PolicyConfig(), CudaStream(device()))  # what failed there does no harm here
    one_by_one = player(SPEC, PolicyConfig(), EagerStream(device()))
    came = arrivals(SPEC, 20, seed=1)
    np.testing.assert_array_equal(after.act(came).action, one_by_one.act(came).action)
