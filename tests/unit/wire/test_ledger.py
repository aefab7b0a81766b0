from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from ludus.errors import ProtocolError
from ludus.spec import GameSpec, ObsSpec
from ludus.wire import frames
from ludus.wire.bodies import EndingHead, ErrorBody, Resumption
from ludus.wire.frames import HEADER_BYTES
from ludus.wire.ledger import Ledger, float_ranges

SPEC = GameSpec("g", 2, 3, ObsSpec.pack({"id": ("uint16", (2,)), "x": ("float32", (1,)), "y": ("float32", (1,))}), 1)


def came(
    rows: Sequence[int], matches: Sequence[int], opens: Sequence[bool], *, done: bool = True, **columns: Any
) -> bytes:  # Any: any column may be wrong on purpose
    n = len(rows)
    frame = frames.encode_arrivals(
        np.array(rows, np.int32),
        np.array(matches, np.uint32),
        columns.get("reward", np.zeros(n, np.float32)),
        np.array(opens, np.bool_),
        columns.get("legal", np.ones((n, SPEC.actions), np.bool_)),
        columns.get("obs", np.zeros((n, SPEC.obs.nbytes), np.uint8)),
        done,
    )
    return frame[HEADER_BYTES:]


def ended(slot: int, number: int, **fields: Any) -> bytes:  # Any: any field may be wrong on purpose
    head = EndingHead(
        slot, number, fields.get("score", [1.0, 0.0]), fields.get("reward", [0.0, 0.0]), False, fields.get("seed", 0)
    )
    head = msgspec.structs.replace(head, out=fields.get("out", []))
    return frames.encode_ending(head)[HEADER_BYTES:]


def opened() -> Ledger:
    """Two slots: match 0 waits for both seats, match 1 for its first."""
    ledger = Ledger(SPEC, 2)
    ledger.arrivals(came([0, 1, 2], [0, 0, 1], [True] * 3))
    return ledger


def rows(*values: int) -> np.ndarray[Any, np.dtype[np.intp]]:  # Any: the shape
    return np.array(values, np.intp)


def test_host_owes_its_opening_and_one_answer_for_each_actions_frame() -> None:
    ledger = Ledger(SPEC, 2)
    assert ledger.answers_due == 1
    ledger.arrivals(came([0], [0], [True], done=False))
    assert ledger.answers_due == 1
    ledger.arrivals(came([1, 2], [0, 1], [True, True]))
    assert (ledger.answers_due, ledger.waiting) == (0, 3)
    ledger.actions(rows(0))
    ledger.actions(rows(2))
    assert (ledger.answers_due, ledger.waiting) == (2, 1)
    ledger.arrivals(came([], [], []))
    assert ledger.answers_due == 1


def test_whole_match_passes() -> None:
    ledger = opened()
    ledger.actions(rows(0, 1))
    head, final_obs, lapsed = ledger.ending(ended(0, 0))
    assert (head.number, final_obs, lapsed) == (0, None, [])
    ledger.arrivals(came([0], [2], [True]))
    assert ledger.running() == [(0, 2), (1, 1)]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (came([4], [0], [True]), "row 4, expected 0 to 3"),
        (came([-1], [0], [True]), "row -1, expected 0 to 3"),
        (came([3, 3], [1, 1], [True, True]), "twice in one ARRIVALS frame"),
        (came([2], [1], [False]), "arrived again before it was answered"),
        (came([1], [5], [True]), "match 5 in slot 0 before match 0 ended"),
        (came([3], [1], [False]), "row 3 has the wrong `opens`"),
        (came([0], [0], [True]), "row 0 has the wrong `opens`"),
        (came([3], [1], [True], legal=np.zeros((1, 3), np.bool_)), "row 3 has an empty mask"),
        (
            came([3], [1], [True], reward=np.array([np.inf], np.float32)),
            "row 3 has a reward of inf, expected a finite number",
        ),
        (came([], [], [], done=False), "without rows that is not the last"),
    ],
)
def test_arrivals_at_the_wrong_time_or_with_impossible_contents_are_refused(frame: bytes, message: str) -> None:
    ledger = opened()
    ledger.actions(rows(0, 1))
    with pytest.raises(ProtocolError, match=message):
        ledger.arrivals(frame)


def test_opens_other_than_0_and_1_is_refused() -> None:
    frame = bytearray(came([0], [0], [True]))
    frame[32] = 2
    with pytest.raises(ProtocolError, match="wrong `opens`"):
        Ledger(SPEC, 2).arrivals(frame)


def test_mask_with_bits_beyond_the_actions_only_is_empty() -> None:
    frame = bytearray(came([0], [0], [True]))
    frame[40] = 0b1000
    with pytest.raises(ProtocolError, match="empty mask"):
        Ledger(SPEC, 2).arrivals(frame)


@pytest.mark.parametrize("leaf", ["x", "y"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_observation_that_is_not_finite_is_refused_with_its_leaf(leaf: str, value: float) -> None:
    obs = np.zeros((1, SPEC.obs.nbytes), np.uint8)
    SPEC.obs.leaf(obs, leaf)[0] = value
    with pytest.raises(ProtocolError, match=f"not finite in leaf '{leaf}'"):
        Ledger(SPEC, 2).arrivals(came([0], [0], [True], obs=obs))


def test_integers_may_have_any_bits() -> None:
    obs = np.zeros((1, SPEC.obs.nbytes), np.uint8)
    SPEC.obs.leaf(obs, "id")[:] = 0xFFFF
    assert len(Ledger(SPEC, 2).arrivals(came([0], [0], [True], obs=obs)).row) == 1


@pytest.mark.parametrize("reward", [0.0, -0.0, 1e6, -1e6, 524288.0, 1e-40])
def test_rewards_within_the_limit_pass(reward: float) -> None:
    sent = np.array([reward], np.float32)
    assert Ledger(SPEC, 2).arrivals(came([0], [0], [True], reward=sent)).reward[0] == sent[0]


@pytest.mark.parametrize("reward", [1.1e6, -1.1e6, 3e38, 1e30, np.nan, -np.inf])
def test_reward_beyond_the_limit_is_refused(reward: float) -> None:
    sent = np.array([0.0, reward], np.float32)
    with pytest.raises(ProtocolError, match=r"row 1 has a reward of .*expected a finite number from -1e\+06 to 1e\+06"):
        Ledger(SPEC, 2).arrivals(came([0, 1], [0, 0], [True, True], reward=sent))


def test_number_that_stands_for_no_match_is_refused() -> None:
    with pytest.raises(ProtocolError, match="ARRIVALS has match 4294967295"):
        Ledger(SPEC, 2).arrivals(came([0], [2**32 - 1], [False]))


def test_rows_that_would_take_too_much_memory_are_refused_before_it_is_taken() -> None:
    huge = GameSpec("g", 4096, 2, SPEC.obs, 1)
    with pytest.raises(ProtocolError, match="1,024 matches of 4,096 seats 4,194,304 rows, allowed are 1,048,576"):
        Ledger(huge, 1024)
    wide = GameSpec("g", 2, 1 << 20, SPEC.obs, 1)
    with pytest.raises(ProtocolError, match="2,048 MiB, 1,024 MiB are allowed"):
        Ledger(wide, 1024)


def test_host_that_owes_nothing_must_be_silent() -> None:
    with pytest.raises(ProtocolError, match="ARRIVALS although all ACTIONS were answered"):
        opened().arrivals(came([3], [1], [True]))
    with pytest.raises(ProtocolError, match="ENDING although all ACTIONS were answered"):
        opened().ending(ended(0, 0))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (ended(2, 0), "slot 2, expected 0 to 1"),
        (ended(1, 0), "match 0 in slot 1, where match 1 runs"),
        (ended(0, 0, score=[2.0, 0.0]), "scores"),
        (ended(0, 0, reward=[1e300, 0.0]), "has a reward of 1e\\+300, expected a finite number from -1e\\+06"),
    ],
)
def test_ending_that_cannot_be_is_refused(frame: bytes, message: str) -> None:
    ledger = opened()
    ledger.actions(rows(0, 1))
    with pytest.raises(ProtocolError, match=message):
        ledger.ending(frame)


def test_match_ends_once() -> None:
    ledger = opened()
    ledger.actions(rows(0, 1))
    ledger.ending(ended(0, 0))
    with pytest.raises(ProtocolError, match="slot 0, where no match runs"):
        ledger.ending(ended(0, 0))


def test_match_that_ended_does_not_come_back() -> None:
    ledger = opened()
    ledger.actions(rows(0, 1))
    ledger.ending(ended(0, 0))
    with pytest.raises(ProtocolError, match="match number 0 came twice"):
        ledger.arrivals(came([0], [0], [True]))


def test_numbers_may_open_in_any_order() -> None:
    ledger = Ledger(SPEC, 2)
    ledger.arrivals(came([0, 2], [1, 0], [True, True]))
    assert ledger.running() == [(0, 1), (1, 0)]


def test_ending_names_rows_that_need_no_answer_any_more() -> None:
    ledger = opened()
    ledger.actions(rows(0))
    _, _, lapsed = ledger.ending(ended(0, 0))
    assert lapsed == [1]
    assert ledger.waiting == 1
    assert ledger.waited_for().tolist() == [2]


def test_row_that_was_not_asked_cannot_be_answered() -> None:
    with pytest.raises(ValueError, match="did not arrive before"):
        opened().actions(rows(3))
    with pytest.raises(ValueError, match="answered twice"):
        opened().actions(rows(0, 0))


def test_lost_match_frees_its_slot() -> None:
    ledger = opened()
    ledger.actions(rows(0, 1))
    _, number, lapsed = ledger.lose(ErrorBody("bug", "match", 0))
    assert (number, lapsed) == (0, [])
    assert ledger.running() == [(1, 1)]


@pytest.mark.parametrize("slot", [None, -1, 2])
def test_lost_match_without_a_slot_is_refused(slot: int | None) -> None:
    with pytest.raises(ProtocolError, match=f"slot {slot}"):
        Ledger(SPEC, 2).lose(ErrorBody("bug", "match", slot))


def test_schedule_is_played_exactly() -> None:
    ledger = Ledger(SPEC, 2, [(10, 1), (20, 2), (30, 3)])
    ledger.arrivals(came([0, 2], [10, 20], [True, True]))
    assert ledger.unplayed == [(10, 1), (20, 2), (30, 3)]
    ledger.actions(rows(0, 2))
    ledger.ending(ended(0, 10, seed=1))
    assert ledger.unplayed == [(20, 2), (30, 3)]
    with pytest.raises(ProtocolError, match="match 10 is not in the schedule, or was played before"):
        ledger.arrivals(came([0], [10], [True]))


def test_scheduled_match_must_have_its_seed() -> None:
    ledger = Ledger(SPEC, 2, [(10, 1)])
    ledger.arrivals(came([0], [10], [True]))
    ledger.actions(rows(0))
    with pytest.raises(ProtocolError, match="seed 5, scheduled was 1"):
        ledger.ending(ended(0, 10, seed=5))


@pytest.mark.parametrize("number", [None, 10])
def test_scheduled_match_that_cannot_start_is_not_played_again(number: int | None) -> None:
    ledger = Ledger(SPEC, 2, [(10, 1), (20, 2)])
    assert ledger.lose(ErrorBody("bad team", "match", 0, number))[1] is None
    assert ledger.unplayed == [(20, 2)]


def test_scheduled_match_that_its_host_opens_again_stays_in_the_schedule() -> None:
    ledger = Ledger(SPEC, 2, [(10, 1), (20, 2)])
    assert ledger.lose(ErrorBody("the server is away", "match", 0, 10, again=True))[1] is None
    assert ledger.unplayed == [(10, 1), (20, 2)]
    ledger.arrivals(came([0], [10], [True]))
    ledger.actions(rows(0))
    assert ledger.lose(ErrorBody("the server is away", "match", 0, 10, again=True))[1] == 10
    assert sorted(ledger.unplayed) == [(10, 1), (20, 2)]
    ledger.arrivals(came([2], [10], [True]))
    ledger.actions(rows(2))
    ledger.lose(ErrorBody("bug", "match", 1, 10))
    assert ledger.unplayed == [(20, 2)]


def test_neighbouring_float_leaves_are_checked_together() -> None:
    assert float_ranges(SPEC.obs) == [(4, 12)]


def test_a_resumed_slot_opens_with_its_match_and_others_with_numbers_that_follow() -> None:
    ledger = Ledger(SPEC, 2, resume=Resumption([3, None], 5))
    ledger.arrivals(came([0, 2], [3, 5], [True] * 2))
    assert (ledger.running(), ledger.following) == ([(0, 3), (1, 5)], 6)
    with pytest.raises(ProtocolError, match="opened with match 4, expected match 3"):
        Ledger(SPEC, 1, resume=Resumption([3], 5)).arrivals(came([0], [4], [True]))
    with pytest.raises(ProtocolError, match="match number 2 came twice"):
        Ledger(SPEC, 1, resume=Resumption([None], 5)).arrivals(came([0], [2], [True]))


def test_seats_that_are_out_must_be_seats() -> None:
    ledger = opened()
    ledger.actions(rows(0, 1))
    with pytest.raises(ProtocolError, match=r"has seats \[2\] out, expected 0 to 1"):
        ledger.ending(ended(0, 0, out=[2]))
