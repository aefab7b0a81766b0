"""Whatever bytes a host sends: they are understood, or they are a ProtocolError (HostRefused for a refusal)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ludus.errors import HostRefused, ProtocolError
from ludus.fleet.host import Host
from ludus.fleet.session import Launch
from ludus.fleet.setup import Setup
from ludus.processes.command import HostCommand
from ludus.spec import GameSpec, ObsSpec
from ludus.wire import frames
from ludus.wire.bodies import VERSION, EndingHead, ErrorBody, TimesBody
from ludus.wire.durations import Durations
from ludus.wire.frames import HEADER, HEADER_BYTES, MAGIC, FrameKind
from ludus.wire.ledger import Ledger
from ludus.wire.stream import FrameReader

SPEC = GameSpec(
    "g",
    2,
    3,
    ObsSpec.pack({"id": ("uint16", (2,)), "x": ("float32", (1,))}),
    1,
    {"teams": [0, 1]},
    {"t": np.eye(2, dtype=np.float32)},
)
SETUP = Setup(HostCommand(("true",)), {}, 1, 1, 2, False, False, Path("nowhere"), times_s=0.5, events=True)
QUICK = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def arrivals(rows: list[int], matches: list[int], opens: list[bool], done: bool = True) -> bytes:
    n = len(rows)
    return frames.encode_arrivals(
        np.array(rows, np.int32),
        np.array(matches, np.uint32),
        np.zeros(n, np.float32),
        np.array(opens, np.bool_),
        np.ones((n, 3), np.bool_),
        np.zeros((n, SPEC.obs.nbytes), np.uint8),
        done,
    )


OPENING = arrivals([0, 1, 2, 3], [0, 0, 1, 1], [True] * 4, done=False)
VALID = (
    frames.encode_hello(SPEC, {"version": "1"}),
    OPENING,
    frames.encode_ending(EndingHead(0, 0, [1.0, 0.0], [0.5, 0.0], False, 7, {"turns": 3.0, "hits@1": 1.0}, "log é")),
    frames.encode_ending(EndingHead(1, 1, [1.0, 0.0], [0.5, 0.0], True, 7), np.zeros((2, SPEC.obs.nbytes), np.uint8)),
    frames.encode_error(ErrorBody("lost", "match", 1, 1)),
    frames.encode_error(ErrorBody("broken", "internal")),
    frames.encode_error(ErrorBody("no", "configuration")),
    frames.encode_times(TimesBody(1500.0, {"simulate": Durations.of([1000, 200])})),
    frames.encode_event({"event": "popup", "why": ["é", None, 1.5]}),
    frames.encode_drain(),
    frames.encode_stop(),
)


def host(*, greeted: bool) -> Host:
    """A host without a process: before its HELLO, or with its two matches open and an answer owed."""
    made = Host(0, SETUP, None)
    made.launch = Launch(0, lambda data: None, None, 0, 1, 0, None, None)
    if greeted:
        made.take(FrameKind.HELLO, memoryview(VALID[0])[HEADER_BYTES:])
        made.take(FrameKind.ARRIVALS, memoryview(OPENING)[HEADER_BYTES:])
    return made


def taken(made: Host, stream: bytes) -> None:
    """As a fleet takes it. Any other exception fails the test."""
    reader = FrameReader()
    with contextlib.suppress(ProtocolError):
        reader.feed(stream)
    for kind, body in reader:
        made.take(kind, body)


def survives(attempt: Callable[[], object]) -> None:
    with contextlib.suppress(ProtocolError, HostRefused):
        attempt()


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A valid frame with some bytes changed, cut out or put in, under a header that fits."""
    frame = draw(st.sampled_from(VALID))
    kind, body = frame[3], bytearray(frame[HEADER_BYTES:])
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(body)))
        change = draw(st.sampled_from(("set", "cut", "put", "digits", "nest")))
        if change == "set" and at < len(body):
            body[at] = draw(st.integers(0, 255))
        elif change == "cut":
            del body[at : at + draw(st.integers(1, 8))]
        elif change == "put":
            body[at:at] = draw(st.binary(max_size=8))
        elif change == "digits":
            body[at:at] = b"9" * draw(st.sampled_from((1, 19, 400, 5000)))
        elif change == "nest":
            body[at:at] = b"[" * draw(st.sampled_from((1, 40, 2000)))
    return HEADER.pack(MAGIC, VERSION, draw(st.sampled_from((kind, kind, kind, FrameKind.HELLO))), len(body)) + bytes(
        body
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
HUGE = st.sampled_from((0, -1, 1, 2, 10**9, 10**12, 2**31, 2**32 - 1, 2**53, 2**63, 2**64 - 1))


def encoded(kind: FrameKind, fields: dict[str, Any]) -> bytes:  # Any: any field may be anything
    body = msgspec.json.encode({name: value for name, value in fields.items() if value is not ...})
    if kind is FrameKind.ENDING:
        body = len(body).to_bytes(8, "little") + body + bytes(-len(body) % 8)
    return HEADER.pack(MAGIC, VERSION, kind, len(body)) + body


def odd(usual: object) -> st.SearchStrategy[Any]:  # Any: of any type
    return st.just(usual) | HUGE | JSON


HELLOS = st.fixed_dictionaries(
    {
        "protocol": st.just(2),
        "name": st.just("g") | st.text(max_size=300),
        "seats": st.just(2) | HUGE,
        "actions": st.just(3) | HUGE,
        "schema": st.just(1) | HUGE,
        "obs": st.just([["x", "float32", [1]]])
        | st.lists(
            st.tuples(
                st.text(max_size=3), st.sampled_from(("float32", "uint8", "fixed8", "O")), st.lists(HUGE, max_size=12)
            ),
            max_size=3,
        ),
        "layout": st.dictionaries(st.just("teams") | st.text(max_size=3), JSON, max_size=3),
        "tables": st.dictionaries(
            st.text(max_size=3),
            st.fixed_dictionaries({"shape": st.lists(HUGE, max_size=12), "data": st.just("AAAAAAAAAAA=")}),
            max_size=2,
        ),
        "facts": st.dictionaries(st.text(max_size=3), JSON, max_size=3),
        "memory": st.booleans(),
    }
)
ENDINGS = st.fixed_dictionaries(
    {
        "slot": odd(0),
        "number": odd(0),
        "score": st.just([1.0, 0.0]) | st.lists(HUGE | st.floats(-1, 2), max_size=3),
        "reward": st.just([1.0, 0.0]) | st.lists(HUGE | st.floats(allow_nan=False, allow_infinity=False), max_size=3),
        "truncated": st.booleans(),
        "seed": odd(7),
        "facts": st.just({}) | st.dictionaries(st.text(max_size=70), st.floats() | HUGE, max_size=4),
        "out": st.just([]) | st.lists(HUGE, max_size=5),
    }
)
ERRORS = st.fixed_dictionaries(
    {
        "message": st.text(max_size=300),
        "kind": st.sampled_from(("configuration", "match", "internal", "mood")),
        "slot": odd(0),
        "number": odd(0),
        "again": st.booleans(),
    }
)
TIMES = st.fixed_dictionaries(
    {
        "wall_ns": odd(1.0),
        "stages": st.dictionaries(
            st.sampled_from(("wait", "mask", "cook")),
            st.fixed_dictionaries(
                {
                    "total_ns": odd(1.0),
                    "passes": odd(1.0),
                    "buckets": st.dictionaries(st.integers(-3, 200).map(str), HUGE | st.floats(0, 9), max_size=3),
                }
            ),
            max_size=2,
        ),
    }
)
ODD = st.one_of(
    HELLOS.map(lambda fields: encoded(FrameKind.HELLO, fields)),
    ENDINGS.map(lambda fields: encoded(FrameKind.ENDING, fields)),
    ERRORS.map(lambda fields: encoded(FrameKind.ERROR, fields)),
    TIMES.map(lambda fields: encoded(FrameKind.TIMES, fields)),
    st.one_of(TIMES, HELLOS, ERRORS).map(lambda fields: encoded(FrameKind.EVENT, fields)),
)


@QUICK
@given(st.binary(max_size=200), st.sampled_from(list(FrameKind)), st.booleans())
def test_any_bytes_as_a_body_are_at_most_a_protocol_error(body: bytes, kind: FrameKind, greeted: bool) -> None:
    frame = HEADER.pack(MAGIC, VERSION, kind, len(body)) + body
    survives(lambda: taken(host(greeted=greeted), frame))


@QUICK
@given(st.binary(max_size=400))
def test_any_bytes_as_a_stream_are_at_most_a_protocol_error(stream: bytes) -> None:
    survives(lambda: taken(host(greeted=True), stream))
    survives(lambda: FrameReader().feed(stream))


@settings(QUICK, max_examples=200)
@given(st.lists(mutated(), min_size=1, max_size=3), st.booleans())
def test_valid_frames_with_some_bytes_changed_are_at_most_a_protocol_error(sent: list[bytes], greeted: bool) -> None:
    survives(lambda: taken(host(greeted=greeted), b"".join(sent)))


@settings(QUICK, max_examples=200)
@given(ODD, st.booleans())
def test_json_of_any_numbers_and_types_is_at_most_a_protocol_error(frame: bytes, greeted: bool) -> None:
    survives(lambda: taken(host(greeted=greeted), frame))


@QUICK
@given(HELLOS)
def test_a_hello_that_is_accepted_makes_a_game_within_the_limits(fields: dict[str, Any]) -> None:  # Any: any JSON
    try:
        spec = frames.decode_hello(msgspec.json.encode(fields)).spec()
        Ledger(spec, 2)
    except ProtocolError:
        return
    assert len(spec.teams) == spec.seats <= 4096
    assert len(spec.fingerprint) == 16
    assert 2 * spec.seats * (spec.obs.nbytes + spec.actions) <= 1 << 30
    rows = np.zeros((2, spec.obs.nbytes), np.uint8)
    assert set(spec.obs.view(rows)) == {leaf.name for leaf in spec.obs.leaves}


@settings(QUICK, max_examples=150)
@given(
    st.lists(st.tuples(st.integers(-2, 5), st.sampled_from((0, 1, 2, 2**32 - 1)), st.booleans()), max_size=5),
    st.booleans(),
    st.lists(st.floats(width=32), min_size=5, max_size=5),
)
def test_arrivals_in_any_order_leave_a_ledger_that_adds_up(
    asked: list[tuple[int, int, bool]], done: bool, reward: list[float]
) -> None:
    ledger = Ledger(SPEC, 2)
    n = len(asked)
    frame = frames.encode_arrivals(
        np.array([row for row, _, _ in asked], np.int32),
        np.array([match for _, match, _ in asked], np.uint32),
        np.array(reward[:n], np.float32),
        np.array([opens for _, _, opens in asked], np.bool_),
        np.ones((n, 3), np.bool_),
        np.zeros((n, SPEC.obs.nbytes), np.uint8),
        done,
    )
    try:
        came = ledger.arrivals(frame[HEADER_BYTES:])
    except ProtocolError:
        return
    assert ledger.waiting == len(ledger.waited_for()) == len(came.row)
    running = dict(ledger.running())
    assert all(running[row // 2] == match for row, match in zip(came.row.tolist(), came.match.tolist(), strict=True))
    assert (np.abs(came.reward) <= 1e6).all()


@pytest.mark.parametrize("kind", [FrameKind.HELLO, FrameKind.ERROR, FrameKind.TIMES, FrameKind.ENDING])
@pytest.mark.parametrize(
    "body",
    [
        b'{"message":"caf\xe9","kind":"match","name":"\xe9","stages":{"\xe9":1}}',
        b'{"layout":' + b"[" * 100_000,
        b'{"facts":' + b'{"a":' * 100_000,
        b'{"protocol":' + b"9" * 5000 + b"}",
        b'{"score":[1e999]}',
    ],
)
def test_latin_1_deep_nesting_and_endless_numbers_are_protocol_errors(kind: FrameKind, body: bytes) -> None:
    if kind is FrameKind.ENDING:
        body = len(body).to_bytes(8, "little") + body + bytes(-len(body) % 8)
    with pytest.raises(ProtocolError, match="cannot be decoded"):
        host(greeted=kind is not FrameKind.HELLO).take(kind, memoryview(body))
