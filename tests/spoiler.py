"""A host that is any other host until it breaks: `python tests/spoiler.py FAULT AFTER -- COMMAND...`

Starts the command, passes its frames on, and spoils the first ARRIVALS frame after AFTER frames, or its HELLO.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Callable

HEADER = struct.Struct("<HBBI")
MAGIC, VERSION = 0x554C, 2
HELLO, ARRIVALS, ENDING, ERROR, TIMES = 2, 3, 5, 6, 8
FOREVER_S = 3600.0


def main(fault: str, after: int, command: list[str]) -> None:
    if fault == "refuse":
        os.read(0, 1 << 20)
        _write(_framed(ERROR, b'{"message": "connect ECONNREFUSED", "kind": "configuration"}'))
        os._exit(2)
    with subprocess.Popen(command, stdin=0, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        seats_actions = (0, 0)
        frames = 0
        while head := host.stdout.read(HEADER.size):
            kind, size = HEADER.unpack(head)[2:]
            body = host.stdout.read(size)
            if kind == HELLO:
                seats_actions = _described(body)
                if fault in HELLOS:
                    body = json.dumps({**json.loads(body), **HELLOS[fault]()}).encode()
                    head = HEADER.pack(MAGIC, VERSION, HELLO, len(body))
            frames += 1
            if kind == ARRIVALS and frames > after and body[:4] != bytes(4) and fault in SPOILED:
                host.kill()
                SPOILED[fault](head, body, seats_actions[1])
                return
            _write(head + body)
    os._exit(host.returncode)


def _framed(kind: int, body: bytes) -> bytes:
    return HEADER.pack(MAGIC, VERSION, kind, len(body)) + body


def _described(body: bytes) -> tuple[int, int]:
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


def _error(body: bytes) -> Callable[[bytes, bytes, int], None]:
    def spoiled(*_: object) -> None:
        _write(_framed(ERROR, body))
        _wait()

    return spoiled


def _large_reward(head: bytes, body: bytes, actions: int) -> None:
    n = struct.unpack_from("<I", body)[0]
    spoiled = bytearray(body)
    struct.pack_into("<f", spoiled, 8 + 2 * _padded(4 * n), 1e30)
    _write(head + bytes(spoiled))
    _wait()


def _fact_names(head: bytes, body: bytes, actions: int) -> None:
    """Ends the match of the first row, in a game of two seats."""
    n, row = struct.unpack_from("<I", body)[0], struct.unpack_from("<i", body, 8)[0]
    number = struct.unpack_from("<I", body, 8 + _padded(4 * n))[0]
    ending = {"slot": row // 2, "number": number, "score": [1, 0], "reward": [0, 0], "truncated": False, "seed": 1}
    text = json.dumps({**ending, "facts": {f"fact {index}": 1 for index in range(100_000)}}).encode()
    _write(head + body[:4] + b"\0" + body[5:])
    _write(_framed(ENDING, struct.pack("<II", len(text), 0) + text + bytes(_padded(len(text)) - len(text))))
    _wait()


def _chatter(pause_s: float) -> Callable[[bytes, bytes, int], None]:
    def spoiled(*_: object) -> None:
        for _frame in range(1_000_000):
            _write(_framed(TIMES, b'{"wall_ns": 1000, "stages": {}}'))
            if pause_s:
                threading.Event().wait(pause_s)

    return spoiled


def _trickle(head: bytes, body: bytes, actions: int) -> None:
    _write(head)
    for byte in body[:-1]:
        _write(bytes((byte,)))
        threading.Event().wait(0.05)
    _wait()


HELLOS: dict[str, Callable[[], dict[str, object]]] = {
    "hello actions": lambda: {"actions": 10**12},
    "hello seats": lambda: {"seats": 10**9},
    "hello rows": lambda: {"obs": [["x", "float32", [10**6, 10**6]]]},
    "hello leaves": lambda: {"obs": [[f"x{index}", "uint8", [1]] for index in range(100_000)]},
    "hello teams": lambda: {"layout": {"teams": [[0], {}]}},
    "hello table": lambda: {"tables": {"t": {"shape": [10**30], "data": "AAAA"}}},
    "hello depth": lambda: {"layout": {"x": _nested(400)}},
}


def _nested(levels: int) -> list[object]:
    inner: list[object] = []
    for _ in range(levels):
        inner = [inner]
    return inner


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
    "latin-1": _error(b'{"message": "caf\xe9", "kind": "internal"}'),
    "nested": _error(b'{"message": "", "kind": "internal", "more": ' + b"[" * 500_000),
    "long error": _error(b'{"message": "' + b"x" * 900_000 + b'", "kind": "internal"}'),
    "large reward": _large_reward,
    "fact names": _fact_names,
    "chatter": _chatter(0.05),
    "times flood": _chatter(0.0),
    "trickle": _trickle,
}

if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[4:])
