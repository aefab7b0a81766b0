"""A recurrent policy keeps a state for every row, wherever it plays; the twin keeps whole histories instead."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.unit.games.showdown.net.test_pointer import SHOWDOWN_NETS, showdown_spec

from ludus.config.settings import PolicyConfig, RecurrentConfig
from ludus.policies.bank import PolicyBank
from ludus.policies.nets import build
from ludus.policies.network import NetPolicy
from ludus.spec import GameSpec, ObsSpec
from ludus.types import Arrivals, Ending, Pairing

SPEC = GameSpec("fake", 2, 4, ObsSpec.pack({"x": ("float32", (3,))}), 1)
ROWS = 6


def policy(kind: str = "lstm", *, spec: GameSpec = SPEC, net: str = "mlp", seed: int = 1) -> NetPolicy:
    recurrent = RecurrentConfig(kind="lstm" if kind == "lstm" else "gru", width=5)
    built = build(spec, PolicyConfig(width=8, context=8, recurrent=recurrent), net, seed=seed, game_nets=SHOWDOWN_NETS)
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.mul_(3)  # so that what is remembered shows
    return NetPolicy(built, spec, greedy=True)


class History:
    """What a policy should say: the whole match of a row, from its first decision on, through the net's own steps."""

    def __init__(self, player: NetPolicy, spec: GameSpec = SPEC) -> None:
        self._player, self._spec = player, spec
        self._seen: dict[int, list[tuple[NDArray[np.uint8], NDArray[np.bool_]]]] = {}

    def value(self, row: int, obs: NDArray[np.uint8], legal: NDArray[np.bool_], *, opens: bool) -> float:
        seen = self._seen.setdefault(row, [])
        if opens:
            seen.clear()
        seen.append((obs, legal))
        core = self._player.net.core
        assert core is not None
        state = torch.zeros(1, core.size)
        with torch.no_grad():
            for one, may in seen:
                leaves = {name: torch.from_numpy(leaf.copy()) for name, leaf in self._spec.obs.view(one[None]).items()}

                def step(context: torch.Tensor, before: torch.Tensor = state) -> torch.Tensor:
                    nonlocal state
                    assert core is not None
                    context, state = core.step(context, before)
                    return context

                _, value = self._player.net(leaves, torch.from_numpy(may[None]), step)
        return float(value[0])


def arrive(
    rows: list[int], opens: list[bool], random: np.random.Generator, *, spec: GameSpec = SPEC, match: int = 0
) -> Arrivals:
    n = len(rows)
    obs = np.zeros((n, spec.obs.nbytes), np.uint8)
    for leaf in spec.obs.leaves:
        shape = (n, *leaf.shape)
        drawn = random.uniform(-1, 1, shape) / leaf.unit if leaf.is_real else random.integers(0, 19, shape)
        spec.obs.leaf(obs, leaf.name)[:] = drawn.astype(leaf.storage_dtype)
    legal: NDArray[np.bool_] = np.ones((n, spec.actions), np.bool_)
    matches = np.full(n, match, np.int64)
    return Arrivals(np.array(rows, np.int32), matches, obs, legal, np.zeros(n, np.float32), np.array(opens))


@pytest.mark.parametrize(("kind", "net"), [("lstm", "mlp"), ("gru", "mlp"), ("lstm", "pointer"), ("gru", "pointer")])
def test_rows_that_come_in_any_order_are_judged_by_their_own_match_so_far(kind: str, net: str) -> None:
    spec = showdown_spec(1, 1) if net == "pointer" else SPEC
    player = policy(kind, spec=spec, net=net)
    history, random = History(player, spec), np.random.default_rng(3)
    for _ in range(12):
        rows = random.permutation(ROWS)[: random.integers(1, ROWS + 1)].tolist()
        opens = [bool(random.random() < 0.2) for _ in rows]
        came = arrive(rows, opens, random, spec=spec)
        value = player.act(came).value
        expected = [history.value(row, came.obs[at], came.legal[at], opens=opens[at]) for at, row in enumerate(rows)]
        np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)


def test_what_was_remembered_before_a_decision_is_told_and_nothing_at_an_opening() -> None:
    player, random = policy("gru"), np.random.default_rng(0)
    first = player.act(arrive([0, 1], [True, True], random)).hidden_state
    assert first is not None
    assert not first.any()
    assert player.states is not None
    kept = player.states.take(np.array([1, 0]))
    assert kept.any(axis=1).all()
    second = player.act(arrive([1, 0], [False, True], random)).hidden_state
    assert second is not None
    np.testing.assert_array_equal(second[0], kept[0])
    assert not second[1].any()


def test_the_value_of_a_truncated_match_depends_on_it_and_changes_no_memory() -> None:
    player, random = policy(), np.random.default_rng(0)
    came = arrive([2, 4], [True, True], random)
    player.act(came)
    assert player.states is not None
    before = player.states.take(np.arange(5))
    last = arrive([0, 0], [False, False], random).obs
    values = player.values(last, np.array([4, 2], np.int32))
    np.testing.assert_array_equal(player.states.take(np.arange(5)), before)
    history = History(player)
    for at, row in enumerate([2, 4]):
        history.value(row, came.obs[at], came.legal[at], opens=True)
    every = np.ones(SPEC.actions, np.bool_)
    expected = [history.value(row, last[at], every, opens=False) for at, row in enumerate([4, 2])]
    np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-5)


class Guests:
    """The second seat of every match is a past self's."""

    def pair(self, match: int) -> Pairing:
        return Pairing(match, ("learner", "past:1"))

    def report(self, pairing: Pairing, ending: Ending) -> None: ...


def bank_of(learner: NetPolicy, past: NetPolicy) -> PolicyBank:
    bank = PolicyBank(learner, Guests(), rows=ROWS, seats=2)
    bank.enter("past:1", past)
    return bank


def ended(match: int, rows: list[int], void: str = "") -> Ending:
    zeros = np.zeros(2, np.float32)
    return Ending(match, np.array(rows, np.int32), zeros, zeros, truncated=False, seed=0, void=void)


@pytest.mark.parametrize("void", ["", "died"])
def test_learner_and_past_selves_each_remember_their_rows_until_the_match_ends(void: str) -> None:
    bank, random, matches = bank_of(policy(), policy(seed=2)), np.random.default_rng(0), count()
    told = bank.act(arrive([0, 1], [True, True], random, match=next(matches))).hidden_state
    assert told is not None
    assert told.shape == (2, 10)
    bank.act(arrive([2, 3], [True, True], random, match=next(matches)))
    states = bank.hidden_states()
    assert states is not None
    assert states.any(axis=1).tolist() == [True] * 4 + [False] * 2
    bank.end([ended(0, [0, 1], void)])
    states = bank.hidden_states()
    assert states is not None
    assert states.any(axis=1).tolist() == [False, False, True, True, False, False]


def test_another_bank_goes_on_with_what_was_remembered() -> None:
    first, second = (bank_of(policy(), policy(seed=2)) for _ in range(2))
    random = np.random.default_rng(0)
    for opens in (True, False):
        first.act(arrive([0, 1, 2], [opens] * 3, random))
    second.restore(first.state(), {"past:1": policy(seed=2)})
    states = first.hidden_states()
    assert states is not None
    second.restore_hidden_states(states)
    came = arrive([2, 1, 0], [False] * 3, random)
    np.testing.assert_array_equal(first.act(came).value, second.act(came).value)
    with pytest.raises(ValueError, match=r"shape \(5, 4\), expected \(5, 10\)"):
        second.restore_hidden_states(states[:, :4])
    with pytest.raises(ValueError, match="5 rows"):
        second.restore_hidden_states(states[:5])


def test_without_memory_nothing_is_remembered() -> None:
    player = NetPolicy(build(SPEC, PolicyConfig(width=8), "mlp"), SPEC)
    assert player.states is None
    assert player.act(arrive([0], [True], np.random.default_rng(0))).hidden_state is None
    assert bank_of(player, player).hidden_states() is None
