"""Bytes that no host should send. Pure: the same seed gives the same bytes."""

from __future__ import annotations

import random

from ludus.wire.bodies import VERSION
from ludus.wire.frames import HEADER, MAGIC, FrameKind

RANDOM_BYTES = (1, 3000)
DEPTH = 20_000
DRIBBLE_BYTES = 1 << 20  # that the frame of a dribbling host promises
FLOOD_BYTES = 8 << 20


def among_frames(kind: str, seed: int) -> bytes:
    """What a fault of this kind writes into a host's stdout."""
    draw = random.Random(seed)
    match kind:
        case "host-random":
            return draw.randbytes(draw.randint(*RANDOM_BYTES))
        case "host-chatter":
            return b"Loading the game, please wait ...\n" * draw.randint(1, 20)
        case "host-latin1":
            return _frame(draw, b'{"kind":"match","message":"caf\xe9 ferm\xe9","slot":0}')
        case "host-nested":
            return _frame(draw, b'{"kind":' + b"[" * DEPTH + b"]" * DEPTH + b"}")
        case "host-huge":
            return HEADER.pack(MAGIC, VERSION, FrameKind.ARRIVALS, 0xFFFFFFF0)
        case "host-half":
            whole = HEADER.pack(MAGIC, VERSION, FrameKind.ARRIVALS, 4096) + draw.randbytes(4096)
            return whole[: draw.randint(1, len(whole) - 1)]
        case "host-dribble":
            return HEADER.pack(MAGIC, VERSION, FrameKind.ERROR, DRIBBLE_BYTES)
    raise ValueError(f"{kind} writes nothing")


def to_server(seed: int) -> bytes:
    """What a stranger sends to a server's port: noise, or the first part of a WebSocket handshake and noise."""
    draw = random.Random(seed)
    noise = draw.randbytes(draw.randint(1, 4096))
    if draw.random() < 0.5:
        return noise
    head = b"GET /showdown/websocket HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    return head + b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n" + noise


def flipped(data: bytes, seed: int) -> bytes:
    """The same bytes but for one bit."""
    draw, spoiled = random.Random(seed), bytearray(data)
    if spoiled:
        spoiled[draw.randrange(len(spoiled))] ^= 1 << draw.randrange(8)
    return bytes(spoiled)


def _frame(draw: random.Random, body: bytes) -> bytes:
    kind = draw.choice((FrameKind.ERROR, FrameKind.HELLO, FrameKind.ENDING, FrameKind.TIMES))
    return HEADER.pack(MAGIC, VERSION, kind, len(body)) + body
