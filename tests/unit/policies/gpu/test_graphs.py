"""The work around captured graphs: padding, parts, fallback, weights. The stream runs the function itself."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.unit.games.showdown.net.test_chooser import rows_of
from tests.unit.games.showdown.net.test_pointer import SHOWDOWN_NETS, showdown_spec
from tests.unit.policies.nets.test_transformer import SPEC as CARDS
from torch import Tensor

from ludus.config.settings import PolicyConfig, RecurrentConfig
from ludus.policies import launching
from ludus.policies.distributions import Categorical, Distribution
from ludus.policies.gpu import graphs
from ludus.policies.gpu.graphs import Engine, padded
from ludus.policies.gpu.streams import DirectStream, Run
from ludus.policies.gpu.transfer import TransferBuffer, leaves
from ludus.policies.nets import build
from ludus.policies.nets.heads import Heads
from ludus.policies.nets.net import forward_fused
from ludus.policies.nets.recurrence import Recall
from ludus.policies.network import NetPolicy
from ludus.policies.sampling import SampledBatch
from ludus.spec import GameSpec, ObsSpec
from ludus.types import Arrivals, Choices

LEAVES = {"id": ("uint16", (3,)), "flag": ("uint8", (2, 2)), "delta": ("int8", (4,)), "x": ("float32", (5,))}
SPEC = GameSpec("fake", 2, 6, ObsSpec.pack({name: (dtype, shape) for name, (dtype, shape) in LEAVES.items()}), 1)


class CountingStream(DirectStream):
    """Notes what was captured, and refuses to capture where it is told why."""

    def __init__(self, trouble: str = "") -> None:
        super().__init__()
        self.trouble = trouble
        self.captures = 0
        self.started = 0

    def capture(self, run: Run) -> Run:
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


DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("rows", [2, 300_000])  # the latter too many to be pulled
@pytest.mark.parametrize(
    ("send", "fetch"), [(TransferBuffer.send, TransferBuffer.fetch), (TransferBuffer.pull, TransferBuffer.push)]
)
def test_a_block_carries_fields_of_all_types_both_ways(
    send: Callable[[TransferBuffer], None], fetch: Callable[[TransferBuffer], None], rows: int, device: str
) -> None:
    block = TransferBuffer(
        {"a": ("uint8", (3, 2)), "b": ("float32", (rows, 5)), "c": ("bool", (7,)), "d": ("int64", (0, 4))},
        torch.device(device),
    )
    random = np.random.default_rng(0)
    for array in block.arrays.values():
        array[...] = random.integers(0, 2, array.shape)
    assert not block.tensors["b"].any()
    send(block)
    for name, array in block.arrays.items():
        np.testing.assert_array_equal(block.tensors[name].cpu().numpy(), array)
        assert torch.equal(block.seen[name], block.tensors[name])
    block.tensors["b"].mul_(3)
    fetch(block)
    tripled = block.tensors["b"].cpu().numpy()  # waits for what was fetched, too
    np.testing.assert_array_equal(block.arrays["b"], tripled)


def test_leaves_of_rows_on_a_device_are_those_of_the_spec() -> None:
    came = arrivals(9)
    for name, leaf in leaves(SPEC.obs, torch.from_numpy(came.obs)).items():
        np.testing.assert_array_equal(leaf.numpy(), SPEC.obs.leaf(came.obs, name))


def pair(
    config: PolicyConfig, prefers: str, stream: DirectStream, spec: GameSpec = SPEC
) -> tuple[NetPolicy, NetPolicy]:
    """The same net on a stream and without one, with the same numbers to draw by."""

    def player(stream: DirectStream | None) -> NetPolicy:
        return NetPolicy(
            build(spec, config, prefers, seed=3, game_nets=SHOWDOWN_NETS),
            spec,
            generator=torch.Generator().manual_seed(5),
            stream=stream,
        )

    return player(stream), player(None)


def assert_same(ours: Choices, theirs: Choices) -> None:
    np.testing.assert_array_equal(ours.action, theirs.action)
    for name in ("logp", "value"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_rows_remember_on_a_stream_what_they_remember_without_one(kind: str) -> None:
    recurrent = RecurrentConfig(kind=kind, width=8)  # type: ignore[arg-type]  # one of the words it takes
    stream = CountingStream()
    ours, theirs = pair(PolicyConfig(recurrent=recurrent), "mlp", stream)
    random = np.random.default_rng(1)
    for at in range(12):
        rows = np.sort(random.permutation(40 if at > 6 else 20)[: random.integers(1, 20)]).astype(np.int32)
        came = msgspec.structs.replace(arrivals(len(rows), seed=at), row=rows, opens=random.random(len(rows)) < 0.2)
        mine, other = ours.act(came), theirs.act(came)
        assert_same(mine, other)
        assert mine.hidden_state is not None
        assert other.hidden_state is not None
        np.testing.assert_allclose(mine.hidden_state, other.hidden_state, rtol=1e-4, atol=1e-5)
        if at % 3 == 2:  # matches that ended
            assert ours.states is not None
            assert theirs.states is not None
            ours.states.forget(rows[:1])
            theirs.states.forget(rows[:1])
    obs = arrivals(20).obs
    row = np.arange(20, dtype=np.int32)
    np.testing.assert_allclose(ours.values(obs, row), theirs.values(obs, row), rtol=1e-4, atol=1e-5)


def test_padding_changes_what_no_row_remembers() -> None:
    ours, _ = pair(PolicyConfig(recurrent=RecurrentConfig(kind="gru", width=8)), "mlp", CountingStream())
    assert ours.states is not None
    rows = np.arange(16, dtype=np.int32)
    for kept in (rows, np.arange(40, dtype=np.int32)):  # as a resumed run does
        remembered = np.random.default_rng(0).random((len(kept), 8), dtype=np.float32)
        ours.states.put(kept, remembered)
        ours.act(arrivals(5))
        np.testing.assert_array_equal(ours.states.take(kept[5:]), remembered[5:])
        assert not np.array_equal(ours.states.take(kept[:5]), remembered[:5])
    ours.act(msgspec.structs.replace(arrivals(3), row=np.array([50, 51, 99], np.int32)))
    np.testing.assert_array_equal(ours.states.take(kept[5:]), remembered[5:])
    assert not ours.states.take(np.arange(60, 99)).any()


def test_rows_past_the_room_for_states_make_more_and_graphs_are_captured_anew() -> None:
    stream = CountingStream()
    ours, theirs = pair(PolicyConfig(recurrent=RecurrentConfig(kind="lstm", width=8)), "mlp", stream)
    for first in (0, 0, 100, 100):
        came = arrivals(4)
        came = msgspec.structs.replace(came, row=came.row + np.int32(first))
        assert_same(ours.act(came), theirs.act(came))
    assert stream.captures == 2


@pytest.mark.parametrize("slots", [1, 2])
def test_a_pointer_net_plays_on_a_stream_as_it_does_without_one_also_with_other_weights(slots: int) -> None:
    spec, stream = showdown_spec(slots, 2), CountingStream()
    ours, theirs = pair(PolicyConfig(width=16, context=16), "pointer", stream, spec)
    for seed in (1, 2):
        came = showdown_arrivals(spec, 11, seed)
        assert_same(ours.act(came), theirs.act(came))
        other = torch.randn(ours.weights.vector.shape, generator=torch.Generator().manual_seed(seed)) * 0.1
        for player in (ours, theirs):
            player.adopt(other.numpy(), seed)
    came = showdown_arrivals(spec, 11, 3)
    assert_same(ours.act(came), theirs.act(came))
    assert stream.captures == 1


def showdown_arrivals(spec: GameSpec, n: int, seed: int) -> Arrivals:
    obs, legal = rows_of(spec, n, seed)
    zeros = np.zeros(n, np.int64)
    return Arrivals(zeros.astype(np.int32), zeros, obs, legal, zeros.astype(np.float32), zeros.astype(np.bool_))


@pytest.mark.parametrize("kind", ["none", "lstm"])
@pytest.mark.parametrize("net", ["mlp", "transformer", "pointer"])
def test_a_net_that_rounds_says_nearly_what_the_exact_one_says_and_follows_its_weights(net: str, kind: str) -> None:
    spec = {"mlp": SPEC, "transformer": CARDS, "pointer": showdown_spec(2, 2)}[net]
    recurrent = RecurrentConfig(kind=kind, width=8)  # type: ignore[arg-type]  # one of the words it takes
    config = PolicyConfig(net=net, recurrent=recurrent)
    rounding = NetPolicy(build(spec, config, "mlp", seed=3, game_nets=SHOWDOWN_NETS), spec, greedy=True, bf16=True)
    exact = NetPolicy(build(spec, config, "mlp", seed=3, game_nets=SHOWDOWN_NETS), spec, greedy=True)
    obs, random = np.zeros((30, spec.obs.nbytes), np.uint8), np.random.default_rng(0)
    for leaf in spec.obs.leaves:
        values = random.random((30, *leaf.shape)) * (4 if leaf.unit == 1 else 1 / leaf.unit)
        spec.obs.leaf(obs, leaf.name)[:] = values.astype(leaf.storage_dtype)
    row = np.arange(30, dtype=np.int32)
    before = rounding.values(obs, row)
    np.testing.assert_allclose(before, exact.values(obs, row), atol=0.05)
    assert (before != exact.values(obs, row)).any()
    rounding.adopt(exact.weights.numpy() * 0.5, 1)
    exact.adopt(exact.weights.numpy() * 0.5, 1)
    np.testing.assert_allclose(rounding.values(obs, row), exact.values(obs, row), atol=0.05)
    assert not np.allclose(rounding.values(obs, row), before, atol=1e-4)
    legal = np.ones((30, spec.actions), np.bool_)
    zeros = np.zeros(30, np.int64)
    came = Arrivals(row, zeros, obs, legal, zeros.astype(np.float32), zeros.astype(np.bool_))
    on_stream = NetPolicy(
        build(spec, config, "mlp", seed=3, game_nets=SHOWDOWN_NETS), spec, greedy=True, bf16=True, stream=DirectStream()
    )
    on_stream.adopt(exact.weights.numpy(), 1)
    np.testing.assert_array_equal(on_stream.act(came).action, rounding.act(came).action)


class SlowStream(DirectStream):
    """Notes when work began and when somebody waited."""

    def __init__(self, name: str, told: list[str]) -> None:
        super().__init__()
        self.name, self.told = name, told

    def start(self, run: Run) -> None:
        self.told.append(f"start {self.name}")
        super().start(run)

    def wait(self) -> None:
        self.told.append(f"wait {self.name}")


class Scripted:
    def __init__(self, told: list[str]) -> None:
        self.told = told

    def act(self, arrivals: Arrivals) -> Choices:
        self.told.append("scripted")
        n = len(arrivals)
        return Choices.scripted(np.full(n, 9, np.int32))


def test_all_policies_are_at_work_before_any_is_waited_for() -> None:
    told: list[str] = []
    players = [
        NetPolicy(build(SPEC, PolicyConfig(), "mlp"), SPEC, greedy=True, stream=SlowStream(name, told)) for name in "ab"
    ]
    alone = [player.act(arrivals(6)).action for player in players]
    told.clear()
    chosen = launching.act([(players[0], arrivals(6)), (Scripted(told), arrivals(2)), (players[1], arrivals(6))])
    assert told == ["start a", "start b", "scripted", "wait a", "wait b"]
    np.testing.assert_array_equal(chosen[0].action, alone[0])
    assert chosen[1].action.tolist() == [9, 9]
    np.testing.assert_array_equal(chosen[2].action, alone[1])
