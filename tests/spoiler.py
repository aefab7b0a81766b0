"""A host that is any other host until it breaks: `python tests/spoiler.py FAULT AFTER -- COMMAND...`

Starts the command, passes its frames on, and spoils the first ARRIVALS frame after AFTER frames.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import threading
from collections.abc import Callable

HEADER = struct.Struct("<HBBI")
HELLO, ARRIVALS = 2, 3
FOREVER_S = 3600.0


def main(fault: str, after: int, command: list[str]) -> None:
    with subprocess.Popen(command, stdin=0, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        seats_actions = (0, 0)
        frames = 0
        while head := host.stdout.read(HEADER.size):
            kind, size = HEADER.unpack(head)[2:]
            body = host.stdout.read(size)
            if kind == HELLO:
                seats_actions = _described(body)
            frames += 1
            if kind == ARRIVALS and frames > after and body[:4] != bytes(4):
                host.kill()
                SPOILED[fault](head, body, seats_actions[1])
                return
            _write(head + body)
    os._exit(host.returncode)


def _described(body: bytes) -> tuple[int, int]:
    import json

    hello = json.loads(body)
    return hello["seats"], hello["actions"]


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def _wait(*_: object) -> None:
    threading.Event().wait(FOREVER_S)


def _garbage(head: bytes, body: bytes, actions: int) -> None:
    _write(b"Loading the game ...\n" + head + body)
    _wait()


def _half(head: bytes, body: bytes, actions: int) -> None:
    _write((head + body)[: HEADER.size + len(body) // 2])


def _half_and_wait(head: bytes, body: bytes, actions: int) -> None:
    _half(head, body, actions)
    _wait()


def _huge(head: bytes, body: bytes, actions: int) -> None:
    _write(head[:4] + struct.pack("<I", 0xFFFFFFF0))
    _wait()


def _crash(head: bytes, body: bytes, actions: int) -> None:
    sys.stderr.write("out of mana\n")
    sys.stderr.flush()
    os._exit(3)


def _padded(size: int) -> int:
    return -(-size // 8) * 8


def _nan_reward(head: bytes, body: bytes, actions: int) -> None:
    n = struct.unpack_from("<I", body)[0]
    spoiled = bytearray(body)
    struct.pack_into("<f", spoiled, 8 + 2 * _padded(4 * n), float("nan"))
    _write(head + bytes(spoiled))
    _wait()


def _nan_obs(head: bytes, body: bytes, actions: int) -> None:
    n = struct.unpack_from("<I", body)[0]
    mask = -(-actions // 8)
    spoiled = bytearray(body)
    struct.pack_into("<f", spoiled, 8 + 3 * _padded(4 * n) + _padded(n) + _padded(n * mask), float("inf"))
    _write(head + bytes(spoiled))
    _wait()


def _empty_mask(head: bytes, body: bytes, actions: int) -> None:
    n = struct.unpack_from("<I", body)[0]
    mask, at = -(-actions // 8), 8 + 3 * _padded(4 * n) + _padded(n)
    spoiled = bytearray(body)
    spoiled[at : at + mask] = bytes(mask)
    _write(head + bytes(spoiled))
    _wait()


SPOILED: dict[str, Callable[[bytes, bytes, int], None]] = {
    "garbage": _garbage,
    "half": _half,
    "half and wait": _half_and_wait,
    "huge": _huge,
    "crash": _crash,
    "hang": _wait,
    "nan reward": _nan_reward,
    "nan obs": _nan_obs,
    "empty mask": _empty_mask,
}

if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[4:])
