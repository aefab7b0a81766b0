from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ludus.errors import ProtocolError
from ludus.spec import GameSpec, ObsSpec
from ludus.wire import bodies, frames
from ludus.wire.durations import Durations
from ludus.wire.frames import HEADER_BYTES, MAX_BODY
from ludus.wire.stream import FrameReader

SPEC = GameSpec(
    "chess",
    2,
    11,
    ObsSpec.pack({"board": ("uint8", (3,)), "clock": ("float32", (2,))}),
    4,
    {"columns": ["a", "b"]},
    {"worth": np.array([[1.0, 3.0], [5.0, 9.0]], np.float32)},
)
NBYTES = SPEC.obs.nbytes


def body_of(frame: bytes) -> memoryview:
    reader = FrameReader()
    reader.feed(frame)
    ((_, body),) = list(reader)
    return body


def arrivals(n: int, *, done: bool = True) -> bytes:
    random = np.random.default_rng(n)
    legal = random.random((n, SPEC.actions)) < 0.5
    obs = random.integers(0, 256, (n, NBYTES), np.uint8)
    row = np.arange(n, dtype=np.int32)
    reward = random.random(n, np.float32)
    return frames.encode_arrivals(row, row.astype(np.uint32) + 7, reward, row % 2 == 0, legal, obs, done)


def test_header_is_the_documented_eight_bytes() -> None:
    assert frames.encode_stop() == b"LU\x02\x07\x00\x00\x00\x00"


def test_configure_survives_the_wire() -> None:
    sent = bodies.Configure(4, {"format": "x", "deep": [1, {"a": None}]}, 2**53 - 1, [(3, 9)], True)
    assert frames.decode_configure(body_of(frames.encode_configure(sent))) == sent


def test_hello_becomes_the_same_spec() -> None:
    hello = frames.decode_hello(body_of(frames.encode_hello(SPEC, {"version": "1.2"})))
    assert hello.spec().fingerprint == SPEC.fingerprint
    assert hello.facts == {"version": "1.2"}
    np.testing.assert_array_equal(hello.spec().tables["worth"], SPEC.tables["worth"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"protocol": 1}, "protocol 1"),
        ({"seats": 0}, "0 seats"),
        ({"obs": [("a", "float64", [1])]}, "float64"),
        ({"obs": [("a", "uint8", [1]), ("a", "uint8", [1])]}, "twice"),
        ({"obs": [("a", "uint8", [-1])]}, "negative"),
        ({"tables": {"t": bodies.TableBody([3], b"1234")}}, "expected shape"),
        ({"tables": {"t": bodies.TableBody([1], struct.pack("<f", float("nan")))}}, "not finite"),
    ],
)
def test_hello_that_describes_no_game_is_refused(change: dict[str, object], message: str) -> None:
    fields: dict[str, object] = {"protocol": 2, "name": "g", "seats": 1, "actions": 2, "schema": 1, "obs": []}
    hello = bodies.Hello(**{**fields, **change})  # type: ignore[arg-type]  # one field is wrong on purpose
    with pytest.raises(ProtocolError, match=message):
        hello.spec()


@pytest.mark.parametrize("n", [0, 1, 3, 8, 33])
def test_arrivals_survive_the_wire(n: int) -> None:
    came = frames.decode_arrivals(body_of(arrivals(n)), SPEC.actions, NBYTES)
    random = np.random.default_rng(n)
    legal = random.random((n, SPEC.actions)) < 0.5
    np.testing.assert_array_equal(came.row, np.arange(n))
    np.testing.assert_array_equal(came.match, np.arange(n) + 7)
    np.testing.assert_array_equal(came.opens, np.arange(n) % 2 == 0)
    unpacked = np.unpackbits(came.legal, axis=1, count=SPEC.actions, bitorder="little")
    np.testing.assert_array_equal(unpacked, legal)
    np.testing.assert_array_equal(came.obs, random.integers(0, 256, (n, NBYTES), np.uint8))
    assert came.done


def test_columns_begin_at_multiples_of_eight() -> None:
    body = body_of(arrivals(3))
    assert struct.unpack_from("<3i", body, 8) == (0, 1, 2)
    assert struct.unpack_from("<3I", body, 24) == (7, 8, 9)
    assert bytes(body[56:59]) == b"\x01\x00\x01"
    assert len(body) == 64 + 8 + 3 * NBYTES


@pytest.mark.parametrize("size", [0, 7, 8, 100])
def test_arrivals_of_the_wrong_size_are_refused_with_both_sizes(size: int) -> None:
    body = struct.pack("<IB3x", 5, 1) + bytes(100)
    with pytest.raises(ProtocolError, match=f"{size} bytes, expected"):
        frames.decode_arrivals(body[:size], SPEC.actions, NBYTES)


def test_row_count_that_would_overflow_is_only_a_wrong_size() -> None:
    with pytest.raises(ProtocolError, match="4294967295 rows"):
        frames.decode_arrivals(struct.pack("<IB3x", 0xFFFFFFFF, 1), SPEC.actions, NBYTES)


def test_views_of_a_body_are_aligned() -> None:
    came = frames.decode_arrivals(body_of(arrivals(5)), SPEC.actions, NBYTES)
    assert came.reward.flags.aligned
    assert SPEC.obs.leaf(came.obs, "clock").flags.aligned


def test_actions_survive_the_wire() -> None:
    row, action = np.array([3, 1, 2], np.int32), np.array([9, 0, 4], np.int32)
    back = frames.decode_actions(body_of(frames.encode_actions(row, action)))
    np.testing.assert_array_equal(back, (row, action))


def test_actions_of_the_wrong_size_are_refused() -> None:
    with pytest.raises(ProtocolError, match="16 bytes, expected 24 for 2 rows"):
        frames.decode_actions(struct.pack("<IB3x", 2, 0) + bytes(8))


@pytest.mark.parametrize("truncated", [False, True])
def test_ending_survives_the_wire(truncated: bool) -> None:
    sent = bodies.EndingHead(3, 77, [1.0, 0.0], [0.5, -0.5], truncated, 99, {"turns": 12.0}, "log é")
    final = np.arange(2 * NBYTES, dtype=np.uint8).reshape(2, NBYTES) if truncated else None
    head, final_obs = frames.decode_ending(body_of(frames.encode_ending(sent, final)), 2, NBYTES)
    assert head == sent
    assert (final_obs is None) == (final is None)
    if final_obs is not None and final is not None:
        np.testing.assert_array_equal(final_obs, final)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{}", "missing required field"),
        (b'{"slot":0,"number":0,"score":[null,0],"reward":[0,0],"truncated":false,"seed":0}', r"score\[0\]"),
        (b'{"slot":0,"number":0,"score":[1],"reward":[0,0],"truncated":false,"seed":0}', "1 scores and 2 rewards"),
        (b'{"slot":0,"number":0,"score":[1,0],"reward":[0,0],"truncated":true,"seed":0}', "truncated=True"),
        (b"\xff\xfe", "ENDING cannot be decoded"),
    ],
)
def test_ending_that_makes_no_sense_is_refused(text: bytes, message: str) -> None:
    padded = text + bytes(-len(text) % 8)
    with pytest.raises(ProtocolError, match=message):
        frames.decode_ending(struct.pack("<IB3x", len(text), 0) + padded, 2, NBYTES)


def test_ending_whose_json_is_longer_than_its_body_is_refused() -> None:
    with pytest.raises(ProtocolError, match="expected at least 1008"):
        frames.decode_ending(struct.pack("<IB3x", 1000, 0) + bytes(8), 2, NBYTES)


def test_times_survive_the_wire() -> None:
    times = bodies.TimesBody(1500.0, {"simulate": Durations.of([1000, 200]), "wait": Durations.of([300])})
    assert frames.decode_times(body_of(frames.encode_times(times))) == times


@pytest.mark.parametrize(
    ("wall_ns", "activity", "found", "message"),
    [
        (1.0, "cook", Durations(), "activity 'cook', known are encode, mask"),
        (1.0, "mask", Durations(1, 1, {160: 1}), "bucket out of 0 to 159"),
        (1.0, "mask", Durations(-1, 1, {1: 1}), "negative or not finite"),
        (0.0, "mask", Durations(), "wall_ns 0"),
    ],
)
def test_times_that_make_no_sense_are_refused(wall_ns: float, activity: str, found: Durations, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        frames.decode_times(body_of(frames.encode_times(bodies.TimesBody(wall_ns, {activity: found}))))


def test_error_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ProtocolError, match="Invalid enum value 'mood'"):
        frames.decode_error(b'{"message": "no", "kind": "mood"}')


@given(st.lists(st.integers(0, 20), max_size=6), st.lists(st.integers(1, 700), min_size=1, max_size=30))
def test_frames_come_out_whole_however_the_stream_is_cut(sizes: list[int], cuts: list[int]) -> None:
    sent = [arrivals(n) for n in sizes] + [frames.encode_stop()]
    stream = b"".join(sent)
    reader, got, at = FrameReader(), [], 0
    for cut in [*cuts, len(stream)]:
        reader.feed(stream[at : at + cut])
        got += [(kind, bytes(body)) for kind, body in reader]
        at += cut
    assert [bytes(body) for _, body in got] == [frame[HEADER_BYTES:] for frame in sent]
    assert not reader.partial
    reader.close()


def test_bodies_are_aligned_and_stay_as_they_were_when_more_comes() -> None:
    odd = frames.encode_error(bodies.ErrorBody("odd", "internal"))
    odd += b" " * (len(odd) % 2 == 0)
    odd = odd[:4] + (len(odd) - HEADER_BYTES).to_bytes(4, "little") + odd[HEADER_BYTES:]
    reader, got = FrameReader(), []
    for n in (3, 20, 5000, 3):
        reader.feed(odd + arrivals(n))
        got += [(body, bytes(body)) for _, body in reader]
    assert [len(body) for body, _ in got[1::2]] == [len(arrivals(n)) - HEADER_BYTES for n in (3, 20, 5000, 3)]
    assert all(bytes(body) == was for body, was in got)
    assert all(np.frombuffer(body, np.uint8).ctypes.data % 8 == 0 for body, _ in got)


def test_one_space_takes_several_frames() -> None:
    reader = FrameReader()
    stream = arrivals(4) + arrivals(2) + frames.encode_stop()
    reader.space()[: len(stream)] = stream
    reader.filled(len(stream))
    assert [kind.name for kind, _ in reader] == ["ARRIVALS", "ARRIVALS", "STOP"]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"Hello, w", r"begins with b'Hello, w', expected b'LU'"),
        (b"LU\x01\x03\x00\x00\x00\x00", "version 1, expected 2"),
        (b"LU\x02\x0b\x00\x00\x00\x00", "unknown kind 11"),
        (b"LU\x02\x03\xff\xff\xff\xff", f"ARRIVALS frame announces 4294967295 bytes, allowed are {MAX_BODY}"),
    ],
)
def test_bad_header_is_refused_before_anything_is_allocated(header: bytes, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        FrameReader().feed(header)


@pytest.mark.parametrize(("keep", "message"), [(3, "3 of 8 header bytes"), (20, "12 of .* bytes of a ARRIVALS body")])
def test_stream_that_ends_within_a_frame_is_refused(keep: int, message: str) -> None:
    reader = FrameReader()
    reader.feed(arrivals(4)[:keep])
    assert reader.partial
    with pytest.raises(ProtocolError, match=message):
        reader.close()


def test_frame_that_would_be_too_big_is_not_sent() -> None:
    with pytest.raises(ProtocolError, match="allowed are"):
        frames.encode_error(bodies.ErrorBody("x" * MAX_BODY, "internal"))


def elsewhere(n: int) -> bytes:
    """A body of ARRIVALS whose rows lie in memory."""
    body = bytearray(body_of(arrivals(n)))
    body[5] = 1
    return bytes(body[: len(body) - n * NBYTES])


def test_rows_in_memory_are_asked_for_by_their_number() -> None:
    lie = np.arange(3 * NBYTES, dtype=np.uint8).reshape(3, NBYTES)
    came = frames.decode_arrivals(elsewhere(3), SPEC.actions, NBYTES, lambda count: lie[:count])
    sent = frames.decode_arrivals(body_of(arrivals(3)), SPEC.actions, NBYTES)
    np.testing.assert_array_equal(came.obs, lie)
    for one, other in zip(came[:5], sent[:5], strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_in_memory_that_nobody_lent_are_refused() -> None:
    with pytest.raises(ProtocolError, match="was given none"):
        frames.decode_arrivals(elsewhere(3), SPEC.actions, NBYTES)


def test_rows_that_are_both_in_memory_and_sent_are_refused() -> None:
    body = bytearray(body_of(arrivals(3)))
    body[5] = 1
    with pytest.raises(ProtocolError, match="3 rows of 16 bytes in memory"):
        frames.decode_arrivals(bytes(body), SPEC.actions, NBYTES, lambda count: np.zeros((count, NBYTES), np.uint8))


def test_actions_name_the_room_for_the_answer() -> None:
    row, action = np.array([4, 2], np.int32), np.array([1, 0], np.int32)
    body = body_of(frames.encode_actions(row, action, 3))
    assert struct.unpack_from("<II", body) == (2, 3)
    assert [column.tolist() for column in frames.decode_actions(body)] == [[4, 2], [1, 0]]
