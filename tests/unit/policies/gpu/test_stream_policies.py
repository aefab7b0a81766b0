"""Policies on a stream of a device: they play as they do without one, and all work at once."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import pytest
import torch
from tests.unit.games.showdown.net.test_chooser import rows_of
from tests.unit.games.showdown.net.test_pointer import SHOWDOWN_NETS, showdown_spec
from tests.unit.policies.gpu.test_graphs import SPEC, CountingStream, arrivals
from tests.unit.policies.nets.test_lists import SPEC as DUEL
from tests.unit.policies.nets.test_transformer import SPEC as CARDS

from ludus.config.settings import PolicyConfig, RecurrentConfig
from ludus.policies import launching
from ludus.policies.gpu.streams import DirectStream, Run
from ludus.policies.gpu.transfer import TransferBuffer, leaves
from ludus.policies.nets import build
from ludus.policies.network import NetPolicy
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices

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
        assert torch.equal(block.mapped[name], block.tensors[name])
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
@pytest.mark.parametrize("net", ["mlp", "transformer", "entities", "pointer"])
def test_a_net_that_rounds_says_nearly_what_the_exact_one_says_and_follows_its_weights(net: str, kind: str) -> None:
    spec = {"mlp": SPEC, "transformer": CARDS, "entities": DUEL, "pointer": showdown_spec(2, 2)}[net]
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
