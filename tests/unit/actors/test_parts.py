from __future__ import annotations

from ludus.actors.parts import PartJoiner
from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec, ObsSpec
from ludus.types import SegmentBatch

SPEC = GameSpec("fake", 1, 2, ObsSpec.pack({"x": ("float32", (2,))}), 1)


def part(number: int) -> SegmentBatch:
    batch = SegmentLayout(SPEC, 2, 3).allocate()
    batch.action[:] = number
    return batch


def test_parts_make_a_batch_in_the_order_in_which_they_come() -> None:
    joiner = PartJoiner(3)
    assert joiner.add(part(5)) is None
    again = part(7)
    assert joiner.add(again) is None
    again.action[:] = 9  # it was copied
    batch = joiner.add(part(2))
    assert batch is not None
    assert batch.action[:, 0].tolist() == [5, 5, 7, 7, 2, 2]
    assert joiner.waiting() == []


def test_parts_that_wait_for_the_rest_of_their_batch_can_be_saved() -> None:
    joiner = PartJoiner(3)
    assert joiner.waiting() == []
    for number in (1, 2, 3, 4, 5):
        joiner.add(part(number))
    assert joiner.missing == 1
    assert [int(each.action[0, 0]) for each in joiner.waiting()] == [4, 5]
