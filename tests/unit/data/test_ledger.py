"""Files of the ledger."""

from __future__ import annotations

import numpy as np
import pytest
from tests import datasets

from ludus.data import match_ledger
from ludus.data.match_ledger import LedgerShard
from ludus.errors import DatasetError

ACTIONS = 10


def assert_equal(one: LedgerShard, other: LedgerShard) -> None:
    for name, array in one.matches.arrays().items():
        np.testing.assert_array_equal(array, getattr(other.matches, name), err_msg=name)
    np.testing.assert_array_equal(one.action, other.action)
    assert (one.facts, one.logs) == (other.facts, other.logs)


@pytest.mark.parametrize("actions", [10, 256, 257, 65_536, 65_537])
def test_decoding_returns_the_encoded_matches_for_any_number_of_actions(actions: int) -> None:
    shard = datasets.shard(actions=actions)
    assert_equal(match_ledger.decode(match_ledger.encode(shard, actions), actions), shard)


def test_taking_matches_takes_their_actions_and_logs() -> None:
    shard = datasets.shard()
    taken = shard.take(np.array([3, 1]))
    for at, origin in enumerate((3, 1)):
        for seat in range(2):
            mine = slice(taken.first[at, seat], taken.first[at, seat] + taken.matches.count[at, seat])
            theirs = slice(shard.first[origin, seat], shard.first[origin, seat] + shard.matches.count[origin, seat])
            np.testing.assert_array_equal(taken.action[mine], shard.action[theirs])
    assert taken.logs.decode() == "log 3, é" * 3 + "log 1, é"


def test_joining_the_parts_of_a_shard_returns_the_shard() -> None:
    shard = datasets.shard()
    assert_equal(match_ledger.joined([shard.take(np.arange(0, 2)), shard.take(np.arange(2, 5))]), shard)


def test_joining_fills_facts_that_a_shard_lacks_with_nan() -> None:
    one, other = datasets.shard(2), datasets.shard(3)
    renamed = LedgerShard(other.matches, other.action, ("turns", "hits"), other.logs)
    both = match_ledger.joined([one, renamed])
    assert both.facts == ("turns", "refused", "hits")
    np.testing.assert_array_equal(np.isnan(both.matches.facts), [[0, 0, 1]] * 2 + [[0, 1, 0]] * 3)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"GIF89a" + data[6:], "it begins with"),
        (lambda data: data[:8] + b"\xff\xff\xff\xff" + data[12:], "its header has"),
        (lambda data: data[:-3], "holds other than"),
        (lambda data: data.replace(b'"seats":2', b'"seats":3'), "holds other than"),
        (lambda data: data.replace(b'"matches":5', b'"matches":9999999'), "it is no ledger"),
    ],
)
def test_damaged_ledgers_are_refused_with_a_reason(damage, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DatasetError, match=message):
        match_ledger.decode(damage(match_ledger.encode(datasets.shard(), ACTIONS)), ACTIONS)


def test_actions_that_the_game_does_not_have_are_refused() -> None:
    with pytest.raises(DatasetError, match="the game has 0 to 2"):
        match_ledger.decode(match_ledger.encode(datasets.shard(), ACTIONS), 3)
