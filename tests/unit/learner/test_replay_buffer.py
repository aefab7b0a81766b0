from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from ludus.errors import ConfigError
from ludus.learner.replay_buffer import ReplayBuffer, refuse_what_does_not_fit
from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec, ObsSpec
from ludus.types import SegmentBatch

SPEC = GameSpec("fake", 1, 2, ObsSpec.pack({"x": ("float32", (1,))}), 1)
LENGTH = 3


def batch(numbers: Sequence[int], version: int = 0) -> SegmentBatch:
    """Segments that can be told apart by every one of their arrays."""
    made = SegmentLayout(SPEC, len(numbers), LENGTH).allocate()
    number = np.array(numbers)
    for name in ("action", "logp", "value", "reward", "final_value"):
        getattr(made, name)[:] = number[:, None]
    SPEC.obs.leaf(made.obs, "x")[:] = number[:, None, None]
    made.next_value[:] = number
    made.version[:] = version
    return made


def numbers(drawn: SegmentBatch | None) -> list[int]:
    assert drawn is not None
    shown = SPEC.obs.leaf(drawn.obs, "x")[:, :, 0]
    assert (shown == drawn.action).all()
    assert (drawn.reward == drawn.action).all()
    assert (drawn.next_value == drawn.action[:, 0]).all()
    return [int(number) for number in drawn.action[:, 0]]


def test_no_segment_is_used_more_often_than_the_ratio_says() -> None:
    replay = ReplayBuffer(12, reuse=4, seed=1)
    uses: Counter[int] = Counter()
    for round in range(20):
        fresh = range(round * 4, round * 4 + 4)
        replay.add(batch(fresh))
        uses.update(fresh)
        while (drawn := replay.draw(4, oldest=0)) is not None:
            uses.update(numbers(drawn))
    assert max(uses.values()) == 4
    assert sum(uses.values()) / len(uses) > 3  # nor much less often, where the buffer has room


def test_a_draw_holds_each_segment_once_and_fails_when_there_are_too_few() -> None:
    replay = ReplayBuffer(8, reuse=2, seed=1)
    assert replay.draw(1, oldest=0) is None
    replay.add(batch(range(5)))
    assert sorted(numbers(replay.draw(5, oldest=0))) == [0, 1, 2, 3, 4]
    assert replay.draw(1, oldest=0) is None
    assert replay.decisions == 0


def test_the_oldest_make_room_for_newer_ones_and_the_size_is_bounded() -> None:
    replay = ReplayBuffer(5, reuse=9, seed=1)
    for begin in range(0, 12, 2):
        replay.add(batch(range(begin, begin + 2)))
        assert replay.decisions <= 5 * LENGTH
    assert sorted(numbers(replay.draw(5, oldest=0))) == [7, 8, 9, 10, 11]


def test_places_of_segments_that_are_used_up_are_taken_before_those_of_others() -> None:
    replay = ReplayBuffer(4, reuse=2, seed=1)
    replay.add(batch([1, 2]))
    replay.draw(2, oldest=0)
    replay.add(batch([3, 4, 5, 6]))
    assert sorted(numbers(replay.draw(4, oldest=0))) == [3, 4, 5, 6]


def test_segments_with_a_decision_that_is_too_old_leave() -> None:
    replay = ReplayBuffer(8, reuse=9, seed=1)
    replay.add(batch([1, 2], version=3))
    mixed = batch([3, 4], version=5)
    mixed.version[0, 0] = 4
    replay.add(mixed)
    assert sorted(numbers(replay.draw(3, oldest=4) or replay.draw(2, oldest=4))) == [3, 4]
    assert numbers(replay.draw(1, oldest=5)) == [4]
    assert replay.decisions == LENGTH


def test_what_was_drawn_does_not_change_when_its_place_is_taken() -> None:
    replay = ReplayBuffer(2, reuse=2, seed=1)
    replay.add(batch([1, 2]))
    drawn = replay.draw(2, oldest=0)
    replay.add(batch([8, 9]))
    assert sorted(numbers(drawn)) == [1, 2]


def test_a_restored_buffer_goes_on_with_the_same_draws() -> None:
    first, second = ReplayBuffer(20, reuse=3, seed=1), ReplayBuffer(20, reuse=3, seed=99)
    first.add(batch(range(12)))
    first.draw(6, oldest=0)
    first.draw(6, oldest=0)
    state = first.state()
    second.restore(state)
    assert second.decisions == first.decisions
    for replay in (first, second):
        replay.add(batch(range(20, 28), version=2))
    while (drawn := first.draw(4, oldest=1)) is not None:
        again = second.draw(4, oldest=1)
        assert numbers(again) == numbers(drawn)
        assert again is not None
        for name in SegmentBatch.columns():
            assert np.array_equal(getattr(again, name), getattr(drawn, name))
            assert getattr(again, name).dtype == getattr(drawn, name).dtype
    assert second.draw(4, oldest=1) is None


def test_an_empty_buffer_can_be_restored_and_one_of_another_size_is_refused() -> None:
    empty = ReplayBuffer(20, reuse=3, seed=1)
    ReplayBuffer(20, reuse=3, seed=2).restore(empty.state())
    with pytest.raises(ValueError, match="20 segments, not 21"):
        ReplayBuffer(21, reuse=3, seed=1).restore(empty.state())


def test_same_seed_same_draws() -> None:
    first, second, other = (ReplayBuffer(50, reuse=3, seed=seed) for seed in (1, 1, 2))
    for replay in (first, second, other):
        replay.add(batch(range(50)))
    drawn = [numbers(replay.draw(10, oldest=0)) for replay in (first, second, other)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_buffer_larger_than_the_memory_is_refused_with_what_would_fit() -> None:
    refuse_what_does_not_fit(100_000, 2000, 2**30)
    with pytest.raises(
        ConfigError, match=r"learner\.replay\.decisions: 100,000 .* 1,907 MiB, and 1,024 MiB .* 21,474 fit"
    ):
        refuse_what_does_not_fit(100_000, 20_000, 2**30)
