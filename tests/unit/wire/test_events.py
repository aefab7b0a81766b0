"""EVENT and DRAIN frames."""

from __future__ import annotations

import pytest

from ludus import limits
from ludus.errors import ProtocolError
from ludus.wire.frames import HEADER_BYTES, FrameKind, decode_event, encode_drain, encode_event
from ludus.wire.stream import FrameReader

NESTED = b'{"a":' + b"[" * 40 + b"]" * 40 + b"}"
ENDLESS = b'{"a":' * 100_000


def test_an_event_is_any_json_object_and_a_drain_is_empty() -> None:
    event = {"event": "back", "after_s": 1.5, "who": None, "rooms": ["a", "b"]}
    reader = FrameReader()
    reader.feed(encode_event(event) + encode_drain())
    (kind, body), drain = reader
    assert (kind, decode_event(body)) == (FrameKind.EVENT, event)
    assert (drain[0], len(drain[1])) == (FrameKind.DRAIN, 0)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"1",
        b'"text"',
        b"null",
        b"{",
        b'{"a":\xe9}',
        b'{"a":' * 100_000,
        b'{"a":' + b"[" * 40 + b"]" * 40 + b"}",
    ],
)
def test_an_event_that_is_no_object_or_nested_too_deep_is_a_protocol_error(body: bytes) -> None:
    with pytest.raises(ProtocolError, match=r"EVENT (is|cannot be decoded)"):
        decode_event(body)


def test_an_event_beyond_the_limit_is_neither_sent_nor_received() -> None:
    too_long = {"text": "x" * limits.EVENT_BYTES}
    with pytest.raises(ProtocolError, match="EVENT frame would have 65547 bytes, allowed are 65536"):
        encode_event(too_long)
    header = bytearray(encode_event({})[:HEADER_BYTES])
    header[4:8] = (limits.EVENT_BYTES + 1).to_bytes(4, "little")
    with pytest.raises(ProtocolError, match="EVENT frame announces 65537 bytes"):
        FrameReader().feed(header)
