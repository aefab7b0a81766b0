"""Rows that a host leaves in shared memory. The real host that does so: tests/integration/test_showdown_host.py."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest

from ludus.errors import ProtocolError
from ludus.fleet.shared_rows import MOST_BYTES, ROOMS, RowMemory
from ludus.wire.frames import room_bytes

ROWS, NBYTES = 600, 16  # a room is three pages, so it ends behind its rows

pytestmark = pytest.mark.skipif(not RowMemory.available, reason="files without a name are Linux's")


@pytest.fixture
def memory() -> Iterator[RowMemory]:
    memory = RowMemory()
    memory.divide(ROWS, NBYTES)
    memory.settle()  # the opening
    yield memory
    memory.close()


def leave(memory: RowMemory, room: int, first: int, count: int, value: int) -> None:
    """What a host does."""
    at = (room - 1) * room_bytes(ROWS, NBYTES) + first * NBYTES
    assert os.pwrite(memory.descriptor, bytes([value]) * (count * NBYTES), at) == count * NBYTES


def test_rows_of_an_answer_follow_each_other_in_the_room_it_was_lent(memory: RowMemory) -> None:
    one, other = memory.lend(), memory.lend()
    assert 0 < one != other > 0
    leave(memory, one, 0, 2, 7)
    leave(memory, one, 2, 1, 8)
    leave(memory, other, 0, 3, 9)
    assert memory.next_rows(2).tolist() == [[7] * NBYTES] * 2
    assert memory.next_rows(1).tolist() == [[8] * NBYTES]
    memory.settle()
    assert memory.next_rows(3).tolist() == [[9] * NBYTES] * 3


def test_a_room_is_not_lent_while_anybody_looks_at_its_rows(memory: RowMemory) -> None:
    looks = []
    for value in range(1, ROOMS + 1):
        room = memory.lend()
        leave(memory, room, 0, 4, value)
        rows = memory.next_rows(4)
        looks.append(np.ascontiguousarray(rows[1:]).view(np.uint64)[:, :1])  # a view of a view of a view
        del rows
        memory.settle()
    assert memory.lend() == 0
    memory.settle()
    assert [look[0, 0] for look in looks] == [int.from_bytes([value] * 8, "little") for value in range(1, ROOMS + 1)]
    del looks[2]
    assert memory.lend() == 3


def test_an_answer_without_a_room_has_its_rows_in_the_frame(memory: RowMemory) -> None:
    held = []
    for _ in range(ROOMS):
        memory.lend()
        held.append(memory.next_rows(1))
        memory.settle()
    assert memory.lend() == 0
    with pytest.raises(ProtocolError, match="named no room"):
        memory.next_rows(1)


def test_more_rows_than_a_host_has_are_refused(memory: RowMemory) -> None:
    memory.lend()
    memory.next_rows(ROWS - 1)
    with pytest.raises(ProtocolError, match=f"{ROWS + 1} rows are in a room for {ROWS}"):
        memory.next_rows(2)


def test_a_host_can_neither_shorten_the_file_nor_write_behind_it(memory: RowMemory) -> None:
    with pytest.raises(PermissionError):
        os.ftruncate(memory.descriptor, 0)
    with pytest.raises(PermissionError):
        os.pwrite(memory.descriptor, b"x", ROOMS * room_bytes(ROWS, NBYTES))


def test_rows_outlive_the_host_that_left_them() -> None:
    memory = RowMemory()
    memory.divide(ROWS, NBYTES)
    memory.settle()
    leave(memory, memory.lend(), 0, 1, 5)
    rows = memory.next_rows(1)
    memory.close()
    memory.close()
    assert rows.tolist() == [[5] * NBYTES]


def test_rows_too_large_to_share_are_sent() -> None:
    memory = RowMemory()
    memory.divide(ROWS, MOST_BYTES // ROWS)
    assert memory.lend() == 0
    memory.close()


def refused(*_: object) -> int:
    raise OSError(1, "not permitted")


def test_a_system_that_gives_no_memory_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "memfd_create", refused)
        assert RowMemory.offered() is None
    memory = RowMemory.offered()
    assert memory is not None
    with monkeypatch.context() as patched:
        patched.setattr(os, "ftruncate", refused)
        memory.divide(ROWS, NBYTES)
    assert memory.lend() == 0
    memory.close()
