from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ludus.config.settings import PolicyConfig
from ludus.policies.bank import PolicyBank
from ludus.policies.nets import build
from ludus.policies.network import NetPolicy
from ludus.spec import GameSpec, ObsSpec
from ludus.types import Arrivals, Choices, Ending, Pairing

SPEC = GameSpec("fake", 2, 4, ObsSpec.pack({"x": ("float32", (2,))}), 1)


class Constant:
    """Always the same action; remembers how many rows each call had."""

    def __init__(self, action: int) -> None:
        self.action = action
        self.calls: list[list[int]] = []

    def act(self, arrivals: Arrivals) -> Choices:
        self.calls.append(arrivals.row.tolist())
        n = len(arrivals)
        return Choices.scripted(np.full(n, self.action, np.int32))


class Fixed:
    """Pairs by a table; anything else is self-play."""

    def __init__(self, table: dict[int, tuple[str, str]]) -> None:
        self.table = table
        self.asked: list[int] = []
        self.reported: list[tuple[Pairing, Ending]] = []

    def pair(self, match: int) -> Pairing:
        self.asked.append(match)
        return Pairing(match, self.table.get(match, ("learner", "learner")))

    def report(self, pairing: Pairing, ending: Ending) -> None:
        self.reported.append((pairing, ending))


def learner() -> NetPolicy:
    return NetPolicy(build(SPEC, PolicyConfig(), "mlp"), SPEC, version=5, generator=torch.Generator().manual_seed(0))


def arrive(rows: list[int], matches: list[int], opens: bool) -> Arrivals:
    n = len(rows)
    legal: NDArray[np.bool_] = np.ones((n, 4), np.bool_)
    return Arrivals(
        np.array(rows, np.int32),
        np.array(matches, np.int64),
        np.zeros((n, SPEC.obs.nbytes), np.uint8),
        legal,
        np.zeros(n, np.float32),
        np.full(n, opens),
    )


def ended(match: int, rows: list[int]) -> Ending:
    return Ending(match, np.array(rows, np.int32), np.zeros(2, np.float32), np.zeros(2, np.float32), False, 0)


def test_each_policy_chooses_for_its_own_rows_in_one_call() -> None:
    table = {0: ("learner", "a"), 1: ("b", "learner"), 2: ("learner", "a")}
    league, a, b = Fixed(table), Constant(2), Constant(3)
    bank = PolicyBank(learner(), league, rows=6, seats=2)
    bank.enter("a", a)
    bank.enter("b", b)
    arrivals = arrive([5, 4, 3, 2, 1, 0], [2, 2, 1, 1, 0, 0], opens=True)
    choices = bank.act(arrivals)
    assert a.calls == [[5, 1]]
    assert b.calls == [[2]]
    assert choices.action[[0, 4]].tolist() == [2, 2]
    assert choices.action[3] == 3
    assert choices.version == 5
    learning = bank.learning(arrivals.row)
    assert learning is not None
    assert learning.tolist() == [False, True, True, False, False, True]
    assert (choices.logp[learning] < 0).all()


def test_matchmaker_is_asked_once_a_match_and_told_how_it_ended() -> None:
    league = Fixed({})
    bank = PolicyBank(learner(), league, rows=4, seats=2)
    bank.act(arrive([0, 2, 3], [10, 11, 11], opens=True))
    bank.act(arrive([1], [10], opens=True))
    bank.act(arrive([0, 1], [10, 10], opens=False))
    ending = ended(10, [0, 1])
    bank.end([ending, ended(99, [2, 3])])
    assert league.asked == [10, 11]
    assert league.reported == [(Pairing(10, ("learner", "learner")), ending)]


def test_all_rows_learn_again_when_the_last_guest_has_left() -> None:
    bank = PolicyBank(learner(), Fixed({0: ("a", "learner")}), rows=4, seats=2)
    bank.enter("a", Constant(1))
    bank.act(arrive([0, 1, 2, 3], [0, 0, 1, 1], opens=True))
    bank.end([ended(0, [0, 1])])
    assert bank.learning(np.arange(4, dtype=np.int32)) is None


def test_retired_policy_stays_while_it_plays_and_its_number_is_used_again() -> None:
    bank = PolicyBank(learner(), Fixed({0: ("old", "learner"), 1: ("learner", "new")}), rows=4, seats=2)
    old, new = Constant(1), Constant(2)
    bank.enter("old", old)
    bank.act(arrive([1], [0], opens=True))  # the guest has not been asked yet
    bank.retire(["old"])
    assert bank.act(arrive([0], [0], opens=True)).action.tolist() == [1]
    bank.end([ended(0, [0, 1])])
    bank.retire(["old", "learner"])
    assert bank.names == ("learner",)
    bank.enter("new", new)
    assert bank.act(arrive([2, 3], [1, 1], opens=True)).action[1] == 2


def test_another_bank_goes_on_with_the_running_matches_and_the_same_numbers() -> None:
    table = {0: ("c", "learner"), 1: ("learner", "a")}
    first = PolicyBank(learner(), Fixed(table), rows=4, seats=2)
    for name in ("a", "b", "c"):
        first.enter(name, Constant(1))
    first.retire(["b"])
    first.act(arrive([0, 2, 3], [0, 1, 1], opens=True))
    league, guests = Fixed({}), {"a": Constant(2), "c": Constant(3)}
    second = PolicyBank(learner(), league, rows=4, seats=2)
    second.restore(first.state(), guests)
    assert second.state() == first.state()
    assert second.state().policies == ["learner", "a", None, "c"]
    choices = second.act(arrive([0, 1, 2, 3], [0, 0, 1, 1], opens=False))
    assert choices.action[[0, 3]].tolist() == [3, 2]
    second.end([ended(0, [0, 1])])
    assert [pairing for pairing, _ in league.reported] == [Pairing(0, ("c", "learner"))]
    assert not league.asked
