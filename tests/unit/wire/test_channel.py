from __future__ import annotations

import os

import numpy as np
import pytest

from ludus.errors import ProtocolError
from ludus.wire.channel import PipeChannel, memory_pair
from ludus.wire.frames import FrameKind, decode_actions, encode_actions, encode_stop

ACTIONS = encode_actions(np.array([1, 2], np.int32), np.array([3, 4], np.int32))


def test_memory_pair_carries_frames_both_ways_and_the_end() -> None:
    one, other = memory_pair()
    one.send(ACTIONS)
    other.send(encode_stop())
    one.close()
    received = other.receive()
    assert received is not None
    assert decode_actions(received[1])[1].tolist() == [3, 4]
    assert other.receive() is None
    answer = one.receive()
    assert answer is not None
    assert answer[0] == FrameKind.STOP


def test_memory_pair_does_not_wait_for_ever() -> None:
    one, _ = memory_pair(timeout_s=0.01)
    with pytest.raises(ProtocolError, match=r"nothing came within 0\.01 s"):
        one.receive()


def test_pipe_channel_carries_several_frames_of_one_write() -> None:
    read_fd, write_fd = os.pipe()
    try:
        channel = PipeChannel(read_fd, write_fd)
        channel.send(ACTIONS + encode_stop())
        kinds = [frame[0] for frame in (channel.receive(), channel.receive()) if frame is not None]
        assert kinds == [FrameKind.ACTIONS, FrameKind.STOP]
    finally:
        os.close(write_fd)
        os.close(read_fd)


def test_pipe_channel_reports_the_end_and_a_half_frame() -> None:
    for data, half in ((b"", False), (ACTIONS[:11], True)):
        read_fd, write_fd = os.pipe()
        os.write(write_fd, data)
        os.close(write_fd)
        channel = PipeChannel(read_fd, -1)
        if half:
            with pytest.raises(ProtocolError, match="stream ended within a frame"):
                channel.receive()
        else:
            assert channel.receive() is None
        os.close(read_fd)
