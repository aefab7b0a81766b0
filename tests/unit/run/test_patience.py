from __future__ import annotations

import pytest

from ludus.run.patience import LAST_S, patiently


class World:
    """A clock that only sleeping moves, a disk that has room at some time, a signal that comes at another."""

    def __init__(self, *, room_s: float = 1e9, signal_s: float = 1e9) -> None:
        self.now_s = 0.0
        self.room_s, self.signal_s = room_s, signal_s
        self.attempts: list[float] = []

    def write(self) -> bool:
        self.attempts.append(round(self.now_s, 1))
        return self.now_s >= self.room_s

    def stopped(self) -> bool:
        return self.now_s >= self.signal_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def save(self) -> bool:
        return patiently(self.write, self.stopped, lambda: self.now_s, self.sleep)


def test_what_can_be_written_is_written_once_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    world = World(room_s=0)
    assert world.save()
    assert world.attempts == [0]
    assert caplog.text == ""


def test_it_is_tried_again_until_there_is_room(caplog: pytest.LogCaptureFixture) -> None:
    world = World(room_s=5)
    assert world.save()
    assert world.attempts == pytest.approx([0, 1, 3, 7], abs=0.5)
    assert "trying again for up to 60 s: free space on the disk; Ctrl-C exits at once" in caplog.text


def test_it_is_given_up_after_a_stated_while(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    assert not world.save()
    assert LAST_S <= world.now_s < LAST_S + 1
    assert world.attempts[-1] == pytest.approx(LAST_S, abs=0.5)
    assert "the last checkpoint could not be written for 60 s: giving up" in caplog.text


def test_a_signal_ends_the_waiting(caplog: pytest.LogCaptureFixture) -> None:
    world = World(signal_s=4)
    assert not world.save()
    assert world.now_s < 5
    assert "interrupted before the last checkpoint could be written" in caplog.text


def test_the_signal_that_ended_the_run_does_not_end_the_waiting() -> None:
    world = World(signal_s=0, room_s=20)
    assert world.save()
