"""A host that plays nothing: it asks for the same rows again as soon as they have actions. `echo.py ROWS ACTIONS`"""

from __future__ import annotations

import sys

import numpy as np

from ludus.spec import GameSpec, ObsSpec
from ludus.wire.channel import PipeChannel
from ludus.wire.frames import FrameKind, encode_arrivals, encode_hello

# 4 KiB, ids and floats mixed as in a Showdown observation
OBS = ObsSpec.pack(
    {"ids": ("uint16", (256,)), "state": ("float32", (704,)), "flags": ("uint8", (256,)), "field": ("float32", (128,))}
)


def main(rows: int, actions: int) -> None:
    channel = PipeChannel.take_stdio()
    channel.receive()
    channel.send(encode_hello(GameSpec("echo", 2, actions, OBS, 1)))
    row = np.arange(rows, dtype=np.int32)
    legal = np.random.default_rng(1).random((rows, actions)) < 0.5
    legal[:, 0] = True
    obs = np.zeros((rows, OBS.nbytes), np.uint8)
    opening, again = (
        encode_arrivals(
            row, (row // 2).astype(np.uint32), np.zeros(rows, np.float32), np.full(rows, opens), legal, obs, True
        )
        for opens in (True, False)
    )
    channel.send(opening)
    while (frame := channel.receive()) is not None and frame[0] is not FrameKind.STOP:
        channel.send(again)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
