from __future__ import annotations

import numpy as np

from ludus.fleet.transcript import ROOM, Transcript


def test_choices_come_back_row_after_row() -> None:
    transcript = Transcript(3)
    transcript.note(np.array([2, 0]), np.array([7, 1], np.int32))
    transcript.note(np.array([2]), np.array([8], np.int32))
    count, choice = transcript.columns()
    assert (count.tolist(), choice.tolist()) == ([1, 0, 2], [1, 7, 8])


def test_a_match_that_is_over_is_forgotten() -> None:
    transcript = Transcript(4)
    transcript.note(np.arange(4), np.arange(4, dtype=np.int32))
    transcript.forget(slice(0, 2))
    transcript.note(np.array([1]), np.array([9], np.int32))
    count, choice = transcript.columns()
    assert (count.tolist(), choice.tolist()) == ([0, 1, 1, 1], [9, 2, 3])


def test_a_long_match_finds_room() -> None:
    transcript = Transcript(2)
    long = 5 * ROOM
    for at in range(long):
        transcript.note(np.array([1]), np.array([at], np.int32))
    count, choice = transcript.columns()
    assert (count.tolist(), choice.tolist()) == ([0, long], list(range(long)))
